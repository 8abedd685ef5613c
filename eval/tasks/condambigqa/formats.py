"""CondAmbigQA's answers in sentences, with citations, and with or without a condition each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from branchwise.agents.prediction import (
    MAX_BRANCHES,
    MAX_ENTITIES,
    MAX_NAME,
    MAX_SENTENCES,
    AnswerFormat,
    FormatError,
    Prediction,
    distinct,
    first_text,
    flattened,
    is_exactly,
    reasoning_of,
    says_something,
    text_of,
    unwrapped,
)
from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.corpora.written_lists import members
from branchwise.eval.tasks.task import object_schema

_LISTS = ("conditions", "answers", "properties", "results")
_CONDITION = ("condition", "reading", "branch", "interpretation")
_ANSWER = ("answer", "answers", "groundtruth", "text")
_NO_ANSWER = (*_CONDITION, "citations")
_FRAGMENT = re.compile(
    r"\s*(?:\[\s*)?(?:(?:fragment|passage|source)\s*)?#?(\d{1,6})\b", re.IGNORECASE
)
_SEVERAL = re.compile(
    r"(?:\[?\s*(?:fragment\s*)?\d{1,6}\s*\]?\s*(?:[,;]|and)?\s*){2,}", re.IGNORECASE
)


class _Answer(BaseModel, extra="forbid", strict=True):
    answer: str
    citations: list[str] = []


class _Condition(_Answer):
    condition: str


class _Conditions(BaseModel, extra="forbid", strict=True):
    conditions: list[_Condition]


class _Answers(BaseModel, extra="forbid", strict=True):
    answers: list[_Answer]


def _schema(of: str, texts: Sequence[str]) -> dict[str, Any]:
    """A list of objects with these texts, and with citations where passages were seen."""
    citations = {"type": "array", "items": {"type": "string"}}
    parts = {name: {"type": "string"} for name in texts} | {"citations": citations}
    return object_schema({of: {"type": "array", "items": object_schema(parts, texts)}})


class ConditionsFormat(AnswerFormat):
    """Answers in sentences under conditions, with citations where passages were seen."""

    name: str = "conditions"
    cites: bool = True
    schema: ClassVar[dict[str, Any]] = _schema("conditions", ["condition", "answer"])

    def fits(self, data: object) -> bool:
        return is_exactly(_Conditions, data)

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """A condition becomes a branch, its answer the branch's entity, a citation the id of a
        passage: "Fragment k", "k" and "[k]" count `fragments` from 1. A citation that names no
        passage stays as it is written, so that it counts as a wrong one. A condition that comes
        twice is one branch where the answer is the same, and gets a number where it is not."""
        data = unwrapped(data, _LISTS, _CONDITION)
        answers: dict[str, tuple[str, ...]] = {}
        citations: dict[str, tuple[str, ...]] = {}
        for condition, texts, cited in _entries(data, fragments):
            name, number = condition, 1
            while name in answers and answers[name] != texts:
                number += 1
                name = f"{condition} ({number})"
            answers[name] = texts
            citations[name] = distinct([*citations.get(name, ()), *cited], MAX_ENTITIES)
        if not answers and says_something(_list_in(data), but=_NO_ANSWER):
            raise FormatError('no text was found under "answer"')
        return Prediction(
            reasoning=reasoning_of(data),
            answers=answers,
            citations={name: ids for name, ids in citations.items() if ids},
        )


def _entries(
    data: object, fragments: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """Condition, answers and cited passages of each entry."""
    for entry in _list_in(data)[:MAX_BRANCHES]:
        if not isinstance(entry, Mapping):
            if answer := text_of(entry, MAX_SENTENCES):
                yield DEFAULT_BRANCH, (answer,), []
        elif answers := _answers(entry):
            condition = first_text(entry, _CONDITION, MAX_NAME) or DEFAULT_BRANCH
            yield condition, answers, resolve_citations(entry.get("citations"), fragments)


def _list_in(data: object) -> list[Any]:
    if isinstance(data, list):
        are_whole = all(isinstance(entry, Mapping) and _is_whole(entry) for entry in data)
        return [part for entry in data for part in _list_in(entry)] if data and are_whole else data
    if not isinstance(data, Mapping):
        raise FormatError("the answer is no JSON object")
    for name in _LISTS:
        value = data.get(name)
        if isinstance(value, list):
            return value
        if isinstance(value, Mapping):
            # {condition: answer}, or one condition that is not in a list
            if "answer" in value:
                return [value]
            return [
                {**v, "condition": k} if isinstance(v, Mapping) else {"condition": k, "answer": v}
                for k, v in value.items()
            ]
    if "condition" in data or "answer" in data:
        return [data]
    raise FormatError('the answer has no list "conditions"')


def _is_whole(answer: Mapping[str, Any]) -> bool:
    """Whether an object holds conditions rather than being one."""
    if any(name in answer for name in _CONDITION):
        return False
    values = (answer.get(name) for name in _LISTS)
    first = (value[0] if isinstance(value, list) and value else value for value in values)
    return any(isinstance(value, Mapping) for value in first)


def _answers(entry: Mapping[str, Any]) -> tuple[str, ...]:
    value = next((entry[name] for name in _ANSWER if entry.get(name)), None)
    parts = [
        first_text(part, _ANSWER, MAX_SENTENCES) if isinstance(part, Mapping) else part
        for part in flattened(members(value))
    ]
    return distinct((text_of(part, MAX_SENTENCES) or "" for part in parts), MAX_ENTITIES)


def resolve_citations(value: Any, fragments: Sequence[str]) -> list[str]:
    """Passage ids of a citation list, of one citation, or of several in one text."""
    parts = value if isinstance(value, list) else [value]
    resolved: list[str] = []
    for part in parts[:MAX_ENTITIES]:
        if isinstance(part, Mapping):
            part = first_text(part, ("id", "title", "fragment", "citation"), MAX_NAME)
        text = text_of(part, MAX_NAME)
        if not text:
            continue
        several = fragments and text not in fragments and _SEVERAL.fullmatch(text)
        cited = re.findall(r"\d+", text) if several else [text]
        resolved.extend(_passage(name, fragments) for name in cited)
    return resolved


def _passage(text: str, fragments: Sequence[str]) -> str:
    bare = text.strip("[]() ")
    if bare in fragments:
        return bare
    number = _FRAGMENT.match(text)
    if fragments and number and 1 <= int(number[1]) <= len(fragments):
        return fragments[int(number[1]) - 1]
    return bare


class AnswersFormat(ConditionsFormat):
    """Answers in sentences that state no condition, each with its citations. They are read like
    those with conditions, which may be left out there."""

    name = "answers"
    schema: ClassVar[dict[str, Any]] = _schema("answers", ["answer"])

    def fits(self, data: object) -> bool:
        return is_exactly(_Answers, data)
