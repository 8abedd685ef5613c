"""CAmbigNQ: ambiguous questions, each with a clarification question and its options' answers.

Format: the JSON arrays `cq_train.json` and `cq_dev.json` (github.com/DongryeolLee96/AskCQ). A
branch is an option, its only answer what `clarification_answers` says at its place, aliases
included. Where the clarification question is not of the form, it has no options
(`meta["format_error"]` says why), and branches are named by the questions in `dqs`. `meta` also
keeps `clarification_question`, `dqs` and, where they are known, the titles and queries of the
annotators. The files hold no passages.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from branchwise.base.errors import InputError
from branchwise.base.text import one_line
from branchwise.corpora.clarification import ClarificationFormatError, parse_clarification
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.loaders.records import (
    PublishedEntry,
    answer_of,
    entry_of,
    uniquely_named,
)
from branchwise.corpora.questions import Branch, Question


def _queries(given: Any) -> list[str]:
    """The annotators' queries, each a text or an object that has one; anything else is left out."""
    listed = given if isinstance(given, list) else []
    texts = [one.get("query") if isinstance(one, dict) else one for one in listed]
    return [text for text in texts if isinstance(text, str)]


class _Entry(PublishedEntry):
    dqs: tuple[str, ...] = ()
    clarification_answers: tuple[tuple[str, ...], ...]
    clarification_question: str
    viewed_doc_titles: tuple[str, ...] = ()
    used_queries: Annotated[tuple[str, ...], BeforeValidator(_queries)] = ()
    nq_doc_title: str | None = None


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    entry = entry_of(_Entry, record, at)
    return None if entry is None else at.attempt(lambda: _question(entry, at.where))


def _question(entry: _Entry, where: str) -> Question:
    told = {"dqs", "clarification_question", "viewed_doc_titles", "used_queries", "nq_doc_title"}
    meta = {
        "benchmark": "cambignq",
        **entry.model_dump(mode="json", include=told, exclude_defaults=True),
    }
    try:
        names: Sequence[str] = parse_clarification(entry.clarification_question).options
    except ClarificationFormatError as error:
        meta["format_error"] = str(error)
        names = [one_line(question) for question in entry.dqs]
    return Question(
        id=entry.id,
        question=one_line(entry.question),
        ambiguous=True,
        branches=_branches(names, entry.clarification_answers, where),
        meta=meta,
    )


def _branches(
    names: Sequence[str], answers: Sequence[Sequence[str]], where: str
) -> tuple[Branch, ...]:
    if not all(names) or not names or len(names) != len(answers):
        raise InputError(
            f"has {len(names)} options and answers to {len(answers)}",
            where=where,
            remedy="give each option its answers",
        )
    return uniquely_named(
        [
            Branch(name=name, answers=(answer_of(forms, f"{where}, option {number}"),))
            for number, (name, forms) in enumerate(zip(names, answers, strict=True), start=1)
        ]
    )
