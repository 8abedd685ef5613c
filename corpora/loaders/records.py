"""Entries of published files: what of them is read, and branches made of what they say."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import first_problem, json_kind, read_json_array
from branchwise.corpora.questions import Answer, Branch


class PublishedRecord(BaseModel):
    """The fields in use; the data has others here and there."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PublishedEntry(PublishedRecord):
    """A question in a file that is one JSON array."""

    id: str
    question: str


_Model = TypeVar("_Model", bound=PublishedRecord)
_Entry = TypeVar("_Entry", bound=PublishedEntry)


def validated(model: type[_Model], record: Any, where: str) -> _Model:
    """The record in its form. Raises InputError."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise InputError(
            first_problem(error), where=where, remedy="compare with the published file"
        ) from None


def read_entries(path: Path, model: type[_Entry]) -> Iterator[tuple[str, _Entry]]:
    """Each entry behind its place in the file. Raises InputError for what is not one, and for an
    empty id or question."""
    for number, record in enumerate(read_json_array(path), start=1):
        where = f"{path}:entry {number}"
        if not isinstance(record, dict):
            raise InputError(f"expected a JSON object, found {json_kind(record)}", where=where)
        entry = validated(model, record, where)
        if not entry.id.strip() or not entry.question.strip():
            raise InputError("has an empty id or question", where=where, remedy="fill it in")
        yield where, entry


def answer_of(forms: Iterable[str], where: str) -> Answer:
    """One answer of its forms, the first of which is its text. Raises InputError without any."""
    stripped = (form.strip() for form in forms)
    text, *aliases = dict.fromkeys(form for form in stripped if form) or [""]
    if not text:
        raise InputError("an answer is empty", where=where, remedy="fill or remove it")
    return Answer(text=text, aliases=tuple(aliases))


def uniquely_named(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """Branches of the same name told apart by a number: "name (2)"."""
    seen: dict[str, int] = {}
    named = []
    for branch in branches:
        count = seen[branch.name] = seen.get(branch.name, 0) + 1
        name = branch.name if count == 1 else f"{branch.name} ({count})"
        named.append(branch.model_copy(update={"name": name}))
    return tuple(named)
