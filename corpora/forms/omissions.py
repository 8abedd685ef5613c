"""What a corpus is built without, counted and named."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from branchwise.base.text import one_line, printable

Omitted = Literal["empty", "double", "unreadable", "other", "link"]
_WORDS: dict[Omitted, tuple[str, str]] = {
    "empty": ("passage without a text", "passages without a text"),
    "double": ("passage that is there already", "passages that are there already"),
    "other": ("file of another kind", "files of other kinds"),
    "link": ("link, which is not followed", "links, which are not followed"),
}
MOST_NAMED = 1_000
"""Files that cannot be read, of those that are kept with their names."""
_MOST_SHOWN = 10


class UnreadFile(NamedTuple):
    """A file that is left out: its name, and why."""

    name: str
    problem: str


class Omissions:
    """What was left out. Memory does not grow with it."""

    def __init__(self) -> None:
        self._found: dict[Omitted, tuple[int, str]] = {}
        self.unread: list[UnreadFile] = []

    def add(self, kind: Omitted, where: str, problem: str = "") -> None:
        """One more, at this place."""
        count, first = self._found.get(kind, (0, where))
        self._found[kind] = count + 1, first
        if kind == "unreadable" and count < MOST_NAMED:
            self.unread.append(UnreadFile(_shown(where), problem))

    def count(self, kind: Omitted) -> int:
        return self._found.get(kind, (0, ""))[0]

    def lines(self) -> Iterator[str]:
        """A line for each kind with the first place, and one for each file that was not read."""
        for kind, (one, several) in _WORDS.items():
            count, first = self._found.get(kind, (0, ""))
            if count:
                named = one if count == 1 else f"{several}, the first"
                yield f"{count:,} {named}: {_shown(first)}"
        for file in self.unread[:_MOST_SHOWN]:
            yield f"{file.name}: {file.problem}"
        if (more := self.count("unreadable") - _MOST_SHOWN) > 0:
            yield f"{more:,} more {'file' if more == 1 else 'files'} that cannot be read"

    def as_json(self) -> dict[str, Any]:
        """Counts and first places by kind; of files that cannot be read, the first thousand."""
        found: dict[str, Any] = {
            kind: {"count": count, "first": _shown(first)}
            for kind, (count, first) in self._found.items()
        }
        if self.unread:
            found["unreadable"]["files"] = [file._asdict() for file in self.unread]
        return found


def _shown(place: str) -> str:
    return one_line(printable(place))
