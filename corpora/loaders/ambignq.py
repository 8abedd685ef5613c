"""Ambiguous questions of NQ-open: AmbigNQ, and ASQA and CAmbigNQ, which were made of it."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from branchwise.base.errors import InputError, Refuse
from branchwise.base.files import MAX_JSON_BYTES, json_kind, open_data
from branchwise.base.text import one_line
from branchwise.corpora.clarification import ClarificationFormatError, parse_clarification
from branchwise.corpora.json_rows import json_object
from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.published import (
    COMPARE,
    PublishedEntry,
    PublishedRecord,
    answer_of,
    entry_question,
    uniquely_named,
)
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.questions import DEFAULT_BRANCH, Branch, GoldSet, Question
from branchwise.corpora.rows import DataRow, read_rows

_NO_CONTEXT = "No context provided"
_SPLITS = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{')


class _Pair(PublishedRecord):
    question: str
    answer: tuple[str, ...]


class _Annotation(PublishedRecord):
    type: Literal["singleAnswer", "multipleQAs"]
    answer: tuple[str, ...] = ()
    qaPairs: tuple[_Pair, ...] = ()  # noqa: N815 (the file's name for it)


class _AmbigNqEntry(PublishedEntry):
    annotations: tuple[_Annotation, ...]


def ambignq_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry of AmbigNQ.

    Format: the JSON array of AmbigQA (nlp.cs.washington.edu/ambigqa), in its light form or in the
    full one, whose other fields are not read. Each annotation is a gold set: the readings that an
    annotator listed, each named by the question that it is, or a single answer under `default`. The
    first one is the question's branches, others are alternatives, the same one once; AmbigQA's
    evaluation takes the best of them, too. A question is ambiguous where all annotators listed
    readings. `meta["annotators"]` says how many there were, where it was not one.
    """
    return entry_question(_AmbigNqEntry, record, at, _ambignq_question)


def _ambignq_question(entry: _AmbigNqEntry, where: str) -> Question:
    if not entry.annotations:
        raise InputError("has no annotations", where=where, remedy=COMPARE)
    count = len(entry.annotations)
    places = [f"{where}, annotator {n}" if count > 1 else where for n in range(1, count + 1)]
    first, *others = dict.fromkeys(map(_gold_set, entry.annotations, places))
    return Question(
        id=entry.id,
        question=one_line(entry.question),
        ambiguous=all(annotation.type == "multipleQAs" for annotation in entry.annotations),
        branches=first,
        alternatives=tuple(others),
        meta={"benchmark": "ambignq", **({"annotators": count} if count > 1 else {})},
    )


def _gold_set(annotation: _Annotation, where: str) -> GoldSet:
    if annotation.type == "singleAnswer":
        return (Branch(name=DEFAULT_BRANCH, answers=(answer_of(annotation.answer, where),)),)
    readings = []
    for number, pair in enumerate(annotation.qaPairs, start=1):
        place = f"{where}, reading {number}"
        name = one_line(pair.question)
        if not name:
            raise InputError("its question is empty", where=place, remedy="fill it in")
        readings.append(Branch(name=name, answers=(answer_of(pair.answer, place),)))
    if not readings:
        raise InputError("lists no readings", where=where, remedy=COMPARE)
    return uniquely_named(readings)


def asqa_rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """The entries of all of ASQA's splits, each with its id and its split."""
    with open_data(path) as stream:
        has_splits = _SPLITS.match(stream.read(1_000).removeprefix(BOM_UTF8)) is not None
    if not has_splits:
        yield from read_rows(path, "json", refuse)
        return
    for split, entries in json_object(path, MAX_JSON_BYTES).items():
        if not isinstance(entries, dict):
            problem = f"split {split!r} is {json_kind(entries)}, not an object of entries by id"
            raise InputError(problem, where=str(path))
        for id, entry in entries.items():
            where = f"{path}:{split} {id}"
            if isinstance(entry, dict):
                yield DataRow(where, {"sample_id": id, "split": split, **entry})
            else:
                problem = f"expected a JSON object, found {json_kind(entry)}"
                refuse("not-an-object", InputError(problem, where=where))


def asqa_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry of ASQA: short answers under each reading, and long answers.

    Format: the published JSON object of splits ("train", "dev"), each an object of entries by id
    (github.com/google-research/language, language/asqa), or the array that ALCE made of its
    development set. A pair of `qa_pairs` becomes a branch, named by its question; its short answers
    are the forms of one answer. `meta` has the split, and what else the file says: the long answers
    (`annotations`), the Wikipedia pages, and the contexts of the pairs by branch.
    """
    reader = GoldReader(at)
    name = "ambiguous_question" if "ambiguous_question" in record else "question"
    branches, contexts = [], []
    for number, pair in enumerate(reader.entries(record.get("qa_pairs"), "qa_pairs"), start=1):
        place = f"reading {number}"
        if not isinstance(pair, dict):
            reader.refuse("form", f"{place} is {json_kind(pair)}", "it is an object")
            continue
        reading = one_line(reader.question_text(pair.get("question"), f"the question of {place}"))
        answer = reader.one_of(pair.get("short_answers"), f"short_answers of {place}")
        if reading and answer:
            branches.append(Branch(name=reading, answers=(answer,)))
            contexts.append(pair.get("context"))
    named = uniquely_named(branches)
    pairs = zip(named, contexts, strict=True)
    texts = {branch.name: text for branch, text in pairs if text and text != _NO_CONTEXT}
    return reader.made(
        id=reader.id(record.get("sample_id")),
        question=one_line(reader.question_text(record.get(name), f'"{name}"')),
        branches=named,
        meta={"benchmark": "asqa", **({"contexts": texts} if texts else {})},
    )


def _queries(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else []
    texts = [query.get("query") if isinstance(query, dict) else query for query in listed]
    return [text for text in texts if isinstance(text, str)]


class _CambigNqEntry(PublishedEntry):
    dqs: tuple[str, ...] = ()
    clarification_answers: tuple[tuple[str, ...], ...]
    clarification_question: str
    viewed_doc_titles: tuple[str, ...] = ()
    used_queries: Annotated[tuple[str, ...], BeforeValidator(_queries)] = ()
    nq_doc_title: str | None = None


def cambignq_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry of CAmbigNQ, with its clarification question.

    Format: the JSON arrays `cq_train.json` and `cq_dev.json` (github.com/DongryeolLee96/AskCQ),
    without passages. A branch is an option, its only answer what `clarification_answers` says at
    its place, aliases included. Where the clarification question is not of the form, it has no
    options (`meta["format_error"]` says why), and branches are named by the questions in `dqs`.
    `meta` also keeps `clarification_question`, `dqs` and the titles and queries of the annotators.
    A question with other numbers of answers and options is left out, with a warning.
    """
    return entry_question(_CambigNqEntry, record, at, lambda e, _: _cambignq_question(e, at))


def _cambignq_question(entry: _CambigNqEntry, at: RowPlace) -> Question | None:
    kept = {"dqs", "clarification_question", "viewed_doc_titles", "used_queries", "nq_doc_title"}
    known = entry.model_dump(mode="json", include=kept, exclude_defaults=True)
    meta = {"benchmark": "cambignq", **known}
    try:
        names: Sequence[str] = parse_clarification(entry.clarification_question).options
    except ClarificationFormatError as error:
        meta["format_error"] = str(error)
        names = [one_line(question) for question in entry.dqs]
    answers = entry.clarification_answers
    if not all(names) or not names or len(names) != len(answers):
        problem = f"has {len(names)} options and answers to {len(answers)}"
        at.mend("unmatched-options", problem, "give each option its answers")
        return None
    branches = [
        Branch(name=name, answers=(answer_of(forms, f"{at.where}, option {number}"),))
        for number, (name, forms) in enumerate(zip(names, answers, strict=True), start=1)
    ]
    return Question(
        id=entry.id,
        question=one_line(entry.question),
        ambiguous=True,
        branches=uniquely_named(branches),
        meta=meta,
    )
