"""AmbigNQ: questions of NQ-open, each with one answer or with its readings and their answers.

Format: the JSON array of AmbigQA (nlp.cs.washington.edu/ambigqa), in its light form or in the full
one, whose other fields are not read. Each annotation is a gold set: the readings that an annotator
listed, each named by the question that it is, or a single answer under `default`. The first one is
the question's branches, others are alternatives, the same one once; AmbigQA's evaluation takes the
best of them, too. A question is ambiguous where all annotators listed readings.
`meta["annotators"]` says how many there were, where it was not one.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.loaders.records import (
    PublishedEntry,
    PublishedRecord,
    answer_of,
    entry_of,
    uniquely_named,
)
from branchwise.corpora.questions import DEFAULT_BRANCH, Branch, GoldSet, Question


class _Pair(PublishedRecord):
    question: str
    answer: tuple[str, ...]


class _Annotation(PublishedRecord):
    type: Literal["singleAnswer", "multipleQAs"]
    answer: tuple[str, ...] = ()
    qaPairs: tuple[_Pair, ...] = ()  # noqa: N815 (the file's name for it)


class _Entry(PublishedEntry):
    annotations: tuple[_Annotation, ...]


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    entry = entry_of(_Entry, record, at)
    return None if entry is None else at.attempt(lambda: _question(entry, at.where))


def _question(entry: _Entry, where: str) -> Question:
    if not entry.annotations:
        raise InputError(
            "has no annotations", where=where, remedy="compare with the published file"
        )
    count = len(entry.annotations)
    places = [f"{where}, annotator {n}" if count > 1 else where for n in range(1, count + 1)]
    first, *others = dict.fromkeys(map(_gold_set, entry.annotations, places))
    return Question(
        id=entry.id,
        question=one_line(entry.question),
        ambiguous=all(one.type == "multipleQAs" for one in entry.annotations),
        branches=first,
        alternatives=tuple(others),
        meta={"benchmark": "ambignq", **({"annotators": count} if count > 1 else {})},
    )


def _gold_set(annotation: _Annotation, where: str) -> GoldSet:
    if annotation.type == "multipleQAs":
        return _readings(annotation.qaPairs, where)
    return (Branch(name=DEFAULT_BRANCH, answers=(answer_of(annotation.answer, where),)),)


def _readings(pairs: Iterable[_Pair], where: str) -> GoldSet:
    named = []
    for number, pair in enumerate(pairs, start=1):
        place = f"{where}, reading {number}"
        name = one_line(pair.question)
        if not name:
            raise InputError("its question is empty", where=place, remedy="fill it in")
        named.append(Branch(name=name, answers=(answer_of(pair.answer, place),)))
    if not named:
        raise InputError("lists no readings", where=where, remedy="compare with the published file")
    return uniquely_named(named)
