"""What may come of an input: it is accepted, or refused in one line. Anything else is found."""

import re
from collections.abc import Iterable
from typing import Literal

Verdict = Literal["accepted", "refused"]

MOST_CHARACTERS = 3_000
"""Of a refusal: longer ones repeat the file to its author."""
_RAW = re.compile(
    r"Traceback \(most recent call last\)|validation errors? for |\[type=\w+, input|"
    r"errors\.pydantic\.dev|sqlite3\.\w+Error|database disk image is malformed|"
    r"file is not a database|exception was never retrieved|Exception (?:in|ignored)|"
    r"<class '|object at 0x[0-9a-f]+|\bKeyError\b|\bIndexError\b|\bAttributeError\b"
)


class FoundError(Exception):
    """The product did with an input what it must never do."""


def refused(message: str) -> Verdict:
    """The verdict on a refusal that says `message`. Raises FoundError."""
    if "\n" in message.strip("\n") or not message.strip():
        raise FoundError(f"not one line: {message[:2000]!r}")
    return plain(message, "refused")


def plain(said: str, verdict: Verdict) -> Verdict:
    """The verdict, unless what was said shows the insides of the program. Raises FoundError."""
    if raw := _RAW.search(said):
        at = max(0, raw.start() - 200)
        raise FoundError(f"shows the insides: {said[at : at + 3000]}")
    if longest := next((ln for ln in said.split("\n") if len(ln) > MOST_CHARACTERS), None):
        raise FoundError(f"a line of {len(longest)} characters: {longest[:300]!r}")
    return verdict


def ended(code: int, errors: str, *, lines: Iterable[str] = ()) -> Verdict:
    """The verdict on a command that exited with `code` and wrote `errors`."""
    if code == 0:
        # What a command says besides its result may repeat the user's own text, at any length.
        if "Traceback (most recent call last)" in errors:
            raise FoundError(f"a traceback with exit code 0: {errors[-3000:]}")
        return "accepted"
    allowed = ("branchwise: warning:", *lines)
    said = [line for line in errors.splitlines() if line.strip() and not line.startswith(allowed)]
    if code not in (1, 2) or not said:
        raise FoundError(f"exit code {code} and {errors[-2000:]!r}")
    if code == 2:
        if not said[0].startswith("branchwise: "):
            raise FoundError(f"not a complaint of ours: {errors[:2000]!r}")
        return refused("\n".join(said))
    return plain("\n".join(said), "refused")
