"""What is raised where an answer does not have the shape that was asked for, and its bounds."""

from collections.abc import Iterable, Mapping
from typing import Any

MAX_BRANCHES = 200
MAX_ENTITIES = 1000
MAX_NAME = 500
MAX_ENTITY = 2_000
MAX_SENTENCES = 10_000
MAX_REASONING = 50_000


class FormatError(Exception):
    """The data holds no answer of the format; the message is one line for a model or a reader."""


def text_of(value: Any, limit: int) -> str | None:
    """A string or a number as text, stripped and bounded; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return str(value).strip()[:limit]
    except ValueError:  # an integer of more than 4,300 digits
        return None


def first_text(mapping: Mapping[str, Any], names: Iterable[str], limit: int) -> str | None:
    """The text under the first of `names` that has one."""
    texts = (text_of(mapping.get(name), limit) for name in names)
    return next((text for text in texts if text), None)


def distinct(texts: Iterable[str], limit: int) -> tuple[str, ...]:
    """The texts in their order, empty ones and exact repeats left out, at most `limit`."""
    return tuple(dict.fromkeys(text for text in texts if text))[:limit]
