"""Entries of published files: their forms, what is wrong with them in words, branches of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind
from branchwise.corpora.loaders.answers import folded_name
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import Answer, Branch

_COMPARE = "compare with the published file"


class PublishedRecord(BaseModel):
    """The fields in use; the data has others here and there."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class PublishedEntry(PublishedRecord):
    """A question in a published file."""

    id: str
    question: str


_Model = TypeVar("_Model", bound=PublishedRecord)
_Entry = TypeVar("_Entry", bound=PublishedEntry)


def entry_of(model: type[_Entry], record: Mapping[str, Any], at: RowPlace) -> _Entry | None:
    """The record in its form; None if something in it, or an empty id or question, was refused."""
    try:
        entry = model.model_validate(record)
    except ValidationError as error:
        for problem in problems(error):
            at.refuse("form", problem, _COMPARE)
        return None
    if not entry.id.strip() or not entry.question.strip():
        at.refuse("form", "has an empty id or question", "fill it in")
        return None
    return entry


def validated(model: type[_Model], record: Any, where: str) -> _Model:
    """The record in its form. Raises InputError."""
    try:
        return model.model_validate(record)
    except ValidationError as error:
        raise InputError(problems(error)[0], where=where, remedy=_COMPARE) from None


def problems(error: ValidationError) -> list[str]:
    """What is wrong with a record, by the fields that were written: `lacks "answer"`."""
    return [_in_words(one) for one in error.errors(include_url=False)]


_EXPECTED = {
    "string_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
}


def _in_words(problem: Mapping[str, Any]) -> str:
    *outer, last = problem["loc"] or ("it",)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in outer)[1:]
    whole = f"{place}[{last}]" if isinstance(last, int) else ".".join(filter(None, (place, last)))
    kind = str(problem["type"])
    if kind == "missing":
        return f'{place} lacks "{last}"'.lstrip()
    if kind in _EXPECTED:
        return f'"{whole}" is {json_kind(problem["input"])}, not {_EXPECTED[kind]}'
    return f'"{whole}": {problem["msg"]}'


def answer_of(forms: Iterable[str], where: str) -> Answer:
    """One answer of its forms, the first of which is its text. Raises InputError without any."""
    stripped = (form.strip() for form in forms)
    text, *aliases = dict.fromkeys(form for form in stripped if form) or [""]
    if not text:
        raise InputError("an answer is empty", where=where, remedy="fill or remove it")
    return Answer(text=text, aliases=tuple(aliases))


def uniquely_named(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """Branches of the same name, in any case, told apart by a number: "name (2)"."""
    seen: Counter[str] = Counter()
    named = []
    for branch in branches:
        folded = folded_name(branch.name)
        seen[folded] += 1
        count = seen[folded]
        name = f"{branch.name} ({count})"
        named.append(branch if count == 1 else replace(branch, name=name))
    return tuple(named)
