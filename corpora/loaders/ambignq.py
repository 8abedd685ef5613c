"""AmbigNQ: questions of NQ-open, each with one answer or with its readings and their answers.

Format: the JSON array of AmbigQA (nlp.cs.washington.edu/ambigqa), in its light form or in the full
one, whose other fields are not read. A question is ambiguous where all annotators listed readings,
as CAmbigNQ counts it. Its branches are then the readings of the first annotator, each named by the
question that it is; otherwise the only branch holds the single answers of all annotators, any of
which is right. `meta["annotators"]` says how many there were, where it was not one.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from branchwise.corpora.errors import InputError
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.loaders.records import (
    PublishedEntry,
    PublishedRecord,
    answer_of,
    entry_of,
    uniquely_named,
)
from branchwise.corpora.questions import DEFAULT_BRANCH, Branch, Question
from branchwise.corpora.text import one_line


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
    single = [one for one in entry.annotations if one.type == "singleAnswer"]
    count = len(entry.annotations)
    return Question(
        id=entry.id,
        question=one_line(entry.question),
        ambiguous=not single,
        branches=_only(single, where) if single else _readings(entry.annotations[0].qaPairs, where),
        meta={"benchmark": "ambignq", **({"annotators": count} if count > 1 else {})},
    )


def _only(annotations: Iterable[_Annotation], where: str) -> tuple[Branch, ...]:
    answer = answer_of((form for one in annotations for form in one.answer), where)
    return (Branch(name=DEFAULT_BRANCH, answers=(answer,)),)


def _readings(pairs: Iterable[_Pair], where: str) -> tuple[Branch, ...]:
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
