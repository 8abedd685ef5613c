"""Entries of published files: their forms, what is wrong with them in words, branches of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind
from branchwise.corpora.loaders.answers import folded_name
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.questions import Answer, Branch, Question

COMPARE = "compare with the published file"


class PublishedRecord(BaseModel):
    """The fields in use; the data has others here and there."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class PublishedEntry(PublishedRecord):
    """A question in a published file."""

    id: str
    question: str


_Model = TypeVar("_Model", bound=PublishedRecord)
_Entry = TypeVar("_Entry", bound=PublishedEntry)


def entry_question(
    model: type[_Entry],
    record: Mapping[str, Any],
    at: RowPlace,
    make: Callable[[_Entry, str], Question],
) -> Question | None:
    """What `make` makes of the entry and its place; None if something in it was refused."""
    try:
        entry = model.model_validate(record)
    except ValidationError as error:
        for problem in problems(error):
            at.refuse("form", problem, COMPARE)
        return None
    if not entry.id.strip() or not entry.question.strip():
        at.refuse("form", "has an empty id or question", "fill it in")
        return None
    return at.attempt(lambda: make(entry, at.where))


def validated(model: type[_Model], record: Any, where: str) -> _Model:
    """The record in its form."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise InputError(problems(error)[0], where=where, remedy=COMPARE) from None


_EXPECTED = {
    "string_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
}


def problems(error: ValidationError) -> list[str]:
    """What is wrong with a record, by the fields that were written: `lacks "answer"`."""
    lines = []
    for problem in error.errors(include_url=False):
        *outer, last = problem["loc"] or ("it",)
        place = "".join(f"[{n}]" if isinstance(n, int) else f".{n}" for n in outer)[1:]
        name = (
            f"{place}[{last}]" if isinstance(last, int) else ".".join(filter(None, (place, last)))
        )
        if problem["type"] == "missing":
            lines.append(f'{place} lacks "{last}"'.lstrip())
        elif expected := _EXPECTED.get(problem["type"]):
            lines.append(f'"{name}" is {json_kind(problem["input"])}, not {expected}')
        else:
            lines.append(f'"{name}": {problem["msg"]}')
    return lines


def answer_of(forms: Iterable[str], where: str) -> Answer:
    """One answer of its forms, the first of which is its text."""
    stripped = (form.strip() for form in forms)
    text, *aliases = dict.fromkeys(form for form in stripped if form) or [""]
    if not text:
        raise InputError("an answer is empty", where=where, remedy="fill or remove it")
    return Answer(text=text, aliases=tuple(aliases))


def uniquely_named(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """Branches of the same name, in any case, told apart by a number: "name (2)"."""
    counts: Counter[str] = Counter()
    named = []
    for branch in branches:
        folded = folded_name(branch.name)
        counts[folded] += 1
        number = counts[folded]
        name = f"{branch.name} ({number})"
        named.append(branch if number == 1 else replace(branch, name=name))
    return tuple(named)
