"""The questions that every system of a study answers."""

from collections.abc import Sequence
from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import read_lines
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.experiment import Selection
from branchwise.eval.studies.paths import absolute, question_source
from branchwise.eval.studies.schema import LoadedStudy


def questions_of(loaded: LoadedStudy) -> QuestionSet:
    """The study's question set, as far as `ids` and `limit` choose of it.

    Raises InputError: what is wrong in the questions' file with its own file and line, what is
    wrong about the choice with the study's.
    """
    asked = loaded.study.questions
    source, file = question_source(asked.source, loaded.folder)
    try:
        found = load_questions(source)
    except InputError as error:
        if file is not None and error.where and error.where.startswith(str(file)):
            raise
        where = loaded.where("questions", "source")
        raise InputError(f"questions: {error.what}", where=where, remedy=error.remedy) from None
    _check_task(loaded, found.task)
    chosen = Selection(_ids(loaded), asked.limit)
    try:
        return chosen.of(found)
    except InputError as error:
        key = "ids" if asked.ids is not None else "limit"
        where = loaded.where("questions", key)
        raise InputError(error.what, where=where, remedy=f"correct {key}") from None


def _check_task(loaded: LoadedStudy, task: str) -> None:
    try:
        loaded.scoring.check_task(task)
    except InputError as error:
        key = "judge_entities" if loaded.scoring.matcher == "lexical" else "matcher"
        remedy = "leave out matcher, judge_entities and judge"
        raise InputError(error.what, where=loaded.where(key), remedy=remedy) from None


def _ids(loaded: LoadedStudy) -> Sequence[str] | None:
    """The chosen ids: those in the study, or those in a file, one a line."""
    ids = loaded.study.questions.ids
    if not isinstance(ids, str):
        return ids
    path: Path = absolute(ids, loaded.folder)
    found = []
    for number, line in read_lines(path):
        try:
            found.append(line.decode("utf-8").strip())
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", where=f"{path}:{number}") from None
    if not found:
        raise InputError("holds no ids", where=str(path), remedy="write one a line")
    return found
