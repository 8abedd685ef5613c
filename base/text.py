"""Text from outside made fit to be read, sent, stored and shown."""

import json
from collections.abc import Iterable
from typing import Any

import orjson

from branchwise.base.secrets import without_keys

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def parsed(body: bytes) -> Any:
    """The JSON value in `body`, which may hold half characters. Raises ValueError."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None


def whole_characters(text: str) -> str:
    """`text` with surrogates joined to characters, or replaced by U+FFFD where they are alone."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encodable(text: str) -> str:
    """`text` with a question mark for each half character, as old servers and indexes have it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def storable(text: str) -> str:
    """What a server, a model or a plug-in says, as it may be stored: whole characters, no keys."""
    return without_keys(whole_characters(text)) if text else text


def one_line(text: str) -> str:
    """`text` with its white space collapsed: line breaks of every kind become spaces."""
    return " ".join(text.split())


def unbroken(text: str) -> str:
    """`text` on one line. Printable text has no line breaks, and stays as it is."""
    return text if text.isprintable() else one_line(text)


def printable(text: str, instead: str = REPLACEMENT) -> str:
    """`text` with `instead` of what could steer a terminal: escapes, controls, directions."""
    return text if text.isprintable() else "".join(c if c.isprintable() else instead for c in text)


def cut(text: str, most: int) -> str:
    """`text`, or its first characters with an ellipsis: at most `most` together."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def cut_within(name: str, most: int) -> str:
    """Both ends of a name that is longer: systems often differ at its end."""
    if len(name) <= most:
        return name
    end = most // 2
    return f"{name[: most - 1 - end]}…{name[-end:]}"


def listed(words: Iterable[str]) -> str:
    """ "strict P, strict R and strict EM"; at least one."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """How many of something: "1 question", "2,003 questions"; `plural` where it takes no -s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
