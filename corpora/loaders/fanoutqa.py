"""FanOutQA: questions that ask something of each of several things, with nested answers.

Format: the JSON array `fanout-final-dev.json` (github.com/zhudotexe/fanoutqa; Zhu et al. 2024). How
an answer becomes branches: a dictionary has a branch for each key, named by it, with the value as
its answers; a list has its members, a single value itself, under `default`. A dictionary within a
dictionary has a branch for each of its keys, "outer: inner"; other lists within lists are one. A
value that stands twice in a branch is one answer. Numbers are written as JSON has them, true and
false as yes and no. Branches are things that are asked about, not readings: no question is
ambiguous. `meta` has the published fields and the titles of the `pages` that the decomposition
names as evidence. The test set has no answers.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind
from branchwise.base.text import one_line
from branchwise.corpora.loaders.records import (
    PublishedEntry,
    PublishedRecord,
    entry_question,
    uniquely_named,
)
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, Question

_MOST_NESTED = 5


class _Page(PublishedRecord):
    title: str


class _Step(PublishedRecord):
    evidence: _Page | None = None
    decomposition: "tuple[_Step, ...]" = ()


class _Entry(PublishedEntry):
    answer: Any = None
    decomposition: tuple[_Step, ...] = ()


def fanoutqa_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    return entry_question(_Entry, record, at, _question)


def _question(entry: _Entry, where: str) -> Question:
    named: dict[str, dict[str, Answer]] = {}
    if "answer" in entry.model_fields_set:
        for name, answer in _flat(entry.answer, "", where):
            named.setdefault(name or DEFAULT_BRANCH, {}).setdefault(answer.text, answer)
        if not named:
            raise InputError("its answer is empty", where=where, remedy="fill it in, or remove it")
    branches = [Branch(name=name, answers=tuple(texts.values())) for name, texts in named.items()]
    pages = list(dict.fromkeys(_pages(entry.decomposition)))
    return Question(
        id=entry.id,
        question=one_line(entry.question),
        ambiguous=False,
        branches=uniquely_named(branches),
        meta={"benchmark": "fanoutqa", **({"pages": pages} if pages else {})},
    )


def _flat(value: Any, name: str, where: str, depth: int = 0) -> Iterator[tuple[str, Answer]]:
    """Each single answer with the name of its branch; empty where no dictionary names one."""
    if depth > _MOST_NESTED:
        raise InputError("its answer is nested too deeply", where=where, remedy="flatten it")
    if isinstance(value, dict):
        for key, own in value.items():
            if not (inner := one_line(key)):
                raise InputError("its answer has an empty key", where=where, remedy="fill it in")
            yield from _flat(own, f"{name}: {inner}" if name else inner, where, depth + 1)
    elif isinstance(value, list):
        for own in value:
            yield from _flat(own, name, where, depth + 1)
    else:
        yield name, _single(value, where)


def _single(value: Any, where: str) -> Answer:
    if isinstance(value, bool):
        text, alias = ("yes", "true") if value else ("no", "false")
        return Answer(text=text, aliases=(alias,))
    if isinstance(value, float) and value.is_integer():
        return Answer(text=str(value), aliases=(str(int(value)),))
    if isinstance(value, str | int | float) and (text := str(value).strip()):
        return Answer(text=text)
    what = "an answer is empty" if isinstance(value, str) else f"an answer is {json_kind(value)}"
    raise InputError(what, where=where, remedy="write a text or a number")


def _pages(steps: Iterable[_Step]) -> Iterator[str]:
    for step in steps:
        if step.evidence:
            yield step.evidence.title
        yield from _pages(step.decomposition)
