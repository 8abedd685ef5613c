"""Question sets from files of several formats."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson

from branchwise.corpora.errors import InputError, nearest
from branchwise.corpora.loaders import ambignq, cambignq, condambigqa, fanoutqa, mdcr, native
from branchwise.corpora.loaders.placed import PlacedQuestion
from branchwise.corpora.questions import Gold, Question, QuestionSet

_Loader = Callable[[Path], list[PlacedQuestion]]

FORMATS: dict[str, tuple[str, _Loader]] = {
    "ambignq": (ambignq.TASK, ambignq.load),
    "cambignq": (cambignq.TASK, cambignq.load),
    "condambigqa": (condambigqa.TASK, condambigqa.load),
    "fanoutqa": (fanoutqa.TASK, fanoutqa.load),
    "mdcr": (mdcr.TASK, mdcr.load),
}
"""The task and the loader of each format but the native one, by its prefix."""


def load_questions(
    source: str, *, require_gold: bool = True, gold_of: Callable[[str], Gold] = lambda _: "answers"
) -> QuestionSet:
    """Questions of `source`: a native JSONL file, or FORMAT:PATH (`condambigqa:dev.json`).

    Raises InputError, with file and line, for data that cannot be used: an unknown format, an
    empty set, duplicate ids, and (unless `require_gold` is False) a question without gold: of
    which kind, `gold_of` says for the format's task.
    """
    task, load, path = _resolve(source)
    placed = load(path)
    if not placed:
        raise InputError("holds no questions", where=str(path), remedy="write one per line")
    _check_ids(placed)
    if require_gold:
        _check_gold(placed, gold_of(task))
    questions = tuple(item.question for item in placed)
    return QuestionSet(source, task, questions, questions_digest(questions))


def questions_digest(questions: Sequence[Question]) -> str:
    """SHA-256 (hexadecimal) of the questions as JSON lines with sorted keys, in order.

    That a format's questions say which benchmark they are of changes nothing in what is asked.
    """
    digest = hashlib.sha256()
    for question in questions:
        record = question.model_dump(mode="json")
        if str(record["meta"].get("benchmark")) in FORMATS:
            del record["meta"]["benchmark"]
        line = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
        digest.update(line + b"\n")
    return digest.hexdigest()


def _resolve(source: str) -> tuple[str, _Loader, Path]:
    prefix, colon, rest = source.partition(":")
    if colon and prefix in FORMATS:
        task, load = FORMATS[prefix]
        return task, load, Path(rest)
    # A path may hold a colon itself; what exists as a file is a file.
    if colon and prefix.isidentifier() and len(prefix) > 1 and not Path(source).exists():
        known = ", ".join(f"{name}:PATH" for name in FORMATS)
        near = nearest(prefix, FORMATS)
        hint = f"did you mean {near[0]}:{rest}?" if near else f"known are {known}"
        raise InputError(
            f"unknown question format {prefix!r}",
            where=source,
            remedy=f"{hint} (native JSONL takes no prefix)",
        )
    return native.TASK, native.load, Path(source)


def _check_ids(placed: Sequence[PlacedQuestion]) -> None:
    first: dict[str, str] = {}
    for item in placed:
        if (earlier := first.setdefault(item.question.id, item.where)) != item.where:
            raise InputError(
                f"question id {item.question.id!r} is already used by {earlier}",
                where=item.where,
                remedy="give each question its own id",
            )


def _check_gold(placed: Sequence[PlacedQuestion], gold: Gold) -> None:
    for item in placed:
        if item.question.has_gold(gold):
            continue
        missing, remedy = _missing_gold(item.question, gold)
        what = f"question {item.question.id!r} has no {missing}"
        raise InputError(what, where=item.where, remedy=remedy)


def _missing_gold(question: Question, gold: Gold) -> tuple[str, str]:
    """What it lacks, and how to add it."""
    if gold == "label":
        return "gold label", 'add "ambiguous": true or false'
    if gold == "conditions":
        return "documents with conditions", "load it from mdcr:PATH"
    branches = (branch for gold in question.gold_sets for branch in gold)
    empty = next((branch.name for branch in branches if not branch.answers), None)
    of = f" in branch {empty!r}" if empty else ""
    return f"gold answers{of}", 'add "branches", or "answers": {"default": ["..."]}'
