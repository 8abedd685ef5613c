"""Reading what a question says of itself: texts, lists, other fields, and what is wrong."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from branchwise.base.files import json_kind
from branchwise.corpora.loaders.format_fields import misspelt
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import Branch, Question


class RecordReader:
    """Reads a record; what is wrong goes to its place.

    `refused`: how many mistakes leave it out. `part`: the part of it that is being read, for
    messages, where it has several like that. `extra`: fields that the format does not have, to
    be kept in `meta`; those of answers, branches and passages by the name of what they are of.
    """

    def __init__(self, at: RowPlace) -> None:
        self.at = at
        self.refused = 0
        self.part = ""
        self.extra: dict[str, Any] = {}

    def refuse(self, kind: str, what: str, remedy: str | None = None) -> None:
        """Take a mistake that leaves the question out."""
        self.refused += 1
        self.at.refuse(kind, what, remedy, self.part)

    def mend(self, kind: str, what: str, remedy: str) -> None:
        """Take a mistake that the caller then mends."""
        self.at.mend(kind, what, remedy, self.part)

    def unknown(
        self, record: Mapping[str, Any], fields: frozenset[str], what: str, prefix: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """The fields that the format does not have, by the names that they get in `meta`.

        Those that look misspelt are refused. `what`: the thing that has them, for messages.
        """
        absent: frozenset[str] | None = None
        for name, value in record.items():
            if name in fields:
                continue
            absent = fields.difference(record) if absent is None else absent
            if near := misspelt(name, absent):
                found = f"{what} has {name!r}" if what else f"has a field {name!r}"
                self.refuse("misspelt-field", found, f"did you mean {near!r}?")
            elif value is not None:
                yield f"{prefix}{name}", value

    def keep(
        self, record: Mapping[str, Any], fields: frozenset[str], what: str, prefix: str, key: str
    ) -> None:
        """Keep such fields of an answer, branch or passage under its name, `key`."""
        if not fields.issuperset(record):
            for name, value in self.unknown(record, fields, what, prefix):
                kept = self.extra.setdefault(name, {})
                kept[_free(kept, key, value)] = value

    def text(self, value: Any) -> str | None:
        """A text, or a number as text; None if it is neither."""
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = str(value)
            return None if "e" in written else written
        return None

    def texts(self, value: Any, what: str, kind: str) -> tuple[str, ...]:
        """A list of texts; one text is a list of one, null is none."""
        if value is None:
            return ()
        members = value if isinstance(value, list) else [value]
        found = [self.text(member) for member in members]
        for number, (member, text) in enumerate(zip(members, found, strict=True), start=1):
            if text is None:
                place = f"entry {number} of {what}" if isinstance(value, list) else what
                self.refuse(kind, f"{place} is {json_kind(member)}", "write a list of texts")
        return tuple(text for text in found if text is not None)

    def optional_text(self, value: Any, what: str) -> str | None:
        """A text, or None for null."""
        if value is None or isinstance(value, str):
            return value
        self.refuse("not-a-text", f"{what} is {json_kind(value)}", "write a text")
        return None

    def entries(self, value: Any, name: str) -> list[Any]:
        """The members of a list; none of null. `name`: of the field."""
        if value is None or isinstance(value, list):
            return value or []
        self.refuse("form", f'"{name}" is {json_kind(value)}', "it is a list")
        return []

    def id(self, value: Any) -> str:
        """A question's id; without one it gets its row's number."""
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None:
            if self.at.loading.source.form.is_own:
                self.mend("no-id", 'lacks "id"', "number the questions")
            return str(self.at.number)
        found = "has an empty id" if isinstance(value, str) else f"has {json_kind(value)} as id"
        self.refuse("id", found, "write a text or a whole number")
        return ""

    def question_text(self, value: Any, name: str | None = None) -> str:
        """What is asked; `name`: what says it, for messages."""
        if isinstance(value, str) and value.strip():
            return value
        name = name or f'"{self.at.column("question")}"'
        found = "is empty" if isinstance(value, str) else f"is {json_kind(value)}"
        self.refuse(
            "question",
            f"lacks {name}" if value is None else f"{name} {found}",
            "write what is asked",
        )
        return ""

    def made(self, *, branches: tuple[Branch, ...], **fields: Any) -> Question | None:
        """The question, if nothing was refused. It is ambiguous if it has several branches."""
        if self.refused:
            return None
        if branches:
            fields |= {"branches": branches, "ambiguous": len(branches) > 1}
        return Question(**fields)


def _free(kept: Mapping[str, Any], key: str, value: Any) -> str:
    """The key, with a number if something else is kept under it."""
    numbered = (key if number == 1 else f"{key} ({number})" for number in count(1))
    return next(name for name in numbered if name not in kept or kept[name] == value)
