"""Predictions of any agent: a JSONL file with one answered question a line, read into items."""

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.agents.prediction import FormatError, Prediction
from branchwise.base.errors import InputError, warn
from branchwise.base.files import json_kind, parse_object, read_lines
from branchwise.corpora.loaders.format_fields import misspelt
from branchwise.corpora.loaders.published import problems
from branchwise.corpora.questions import DEFAULT_BRANCH, Question, QuestionSet
from branchwise.corpora.written_lists import joined, members
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.eval.tasks import Task, get_task

MISSING = "missing"
"""`AnsweredItem.how` of a question that the file does not answer."""

_KEY = re.compile(rb'"\s*:')
_SHAPE = 'write {"id": "...", "answers": {"branch name": ["entity", ...]}}'
_OUTCOME = ("turns", "calls", "tokens", "usage", "seconds", "events")
_EXPORTED = frozenset(("question", "status", "gold", "problem", *_OUTCOME))
"""What `branchwise export` writes besides, for other readers."""


class _Line(BaseModel):
    """The fields that are read from a line."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: str
    answers: Mapping[str, tuple[str, ...]]
    reasoning: str = ""
    citations: Mapping[str, tuple[str, ...]] = {}
    task_output: Any = None
    epoch: int = Field(0, ge=0)
    evidence: tuple[str, ...] | None = None
    how: str = "strict"
    error: str | None = None


def read_predictions(path: Path, questions: QuestionSet) -> list[AnsweredItem]:
    """One item for each line, and an empty one (`how` is `MISSING`) for each question without.

    A line has "id" and "answers", and may have "reasoning", "citations", "epoch" (for several
    samples a question), "evidence" (passage ids in the order shown; by default what the task gives
    every agent without tools), "how" and "error", as `branchwise export` writes them. A warning
    counts other fields. `"answers": ["..."]` is read as the branch `default`, a text or a number in
    the place of a list as a list of one, and a text that is a written list as that list. What
    stands under a repeated key is joined. A line with "task_output" needs no answers.

    Raises InputError, with file and line, for bad JSON, a wrong shape, a misspelt field, an output
    that the task cannot score, an unknown id, and a repeated id.
    """
    by_id = {question.id: question for question in questions.questions}
    first: dict[tuple[str, int], str] = {}
    items: list[AnsweredItem] = []
    unread: Counter[str] = Counter()
    for number, text in read_lines(path):
        where = f"{path}:{number}"
        text = text.removeprefix(BOM_UTF8)
        record = parse_object(text, where)
        # More keys than were read of it, or what only looks so.
        if len(_KEY.findall(text)) > _keys(record):
            record = json.loads(text, object_pairs_hook=joined)
        absent = frozenset(_Line.model_fields.keys() - record)
        for name in record.keys() - _Line.model_fields - _EXPORTED:
            if near := misspelt(name, absent):
                problem, remedy = f"has a field {name!r}", f"did you mean {near!r}?"
                raise InputError(problem, where=where, remedy=remedy)
            unread[name] += 1
        line = _parse(record, where)
        if line.id not in by_id:
            problem = f"no question has the id {line.id!r}"
            remedy = f"compare the ids with {questions.source}"
            raise InputError(problem, where=where, remedy=remedy)
        if (earlier := first.setdefault((line.id, line.epoch), where)) != where:
            problem = f"question {line.id!r} was answered already by {earlier}"
            remedy = 'keep one line, or number the samples with "epoch"'
            raise InputError(problem, where=where, remedy=remedy)
        items.append(_item(line, by_id[line.id], get_task(questions.task), where))
    if unread:
        counted = ", ".join(f"{name} ({count:,})" for name, count in unread.items())
        warn(f"{path}: fields that are not read: {counted}")
    answered = {item.question.id for item in items}
    missing = [question for id, question in by_id.items() if id not in answered]
    return items + [AnsweredItem(question, Prediction(), how=MISSING) for question in missing]


def _keys(value: Any) -> int:
    """How many keys a JSON value has, those of inner ones counted."""
    inner = value.values() if isinstance(value, dict) else value
    own = len(value) if isinstance(value, dict) else 0
    return own + sum(map(_keys, inner)) if isinstance(value, dict | list) else 0


def _parse(record: dict[str, Any], where: str) -> _Line:
    answers = record.get("answers")
    if answers is None and record.get("task_output") is not None:
        answers = {}
    if isinstance(answers, list | str | int | float):
        answers = {DEFAULT_BRANCH: answers}
    if not isinstance(answers, dict):
        wrong = (
            "is missing" if answers is None else f"must be an object, found {json_kind(answers)}"
        )
        raise InputError(f'"answers" {wrong}', where=where, remedy=_SHAPE)
    for name, value in answers.items():
        if not isinstance(value, list | str | int | float):
            type_of = json_kind(value)
            problem = f"answers under {name[:80]!r} must be a list of texts, found {type_of}"
            raise InputError(problem, where=where, remedy=_SHAPE)
    record = record | {"answers": {name: members(value) for name, value in answers.items()}}
    if isinstance(citations := record.get("citations"), list):
        record["citations"] = {DEFAULT_BRANCH: citations}
    try:
        return _Line.model_validate(record)
    except ValidationError as error:
        raise InputError(problems(error)[0], where=where, remedy=_SHAPE) from None


def _item(line: _Line, question: Question, task: Task, where: str) -> AnsweredItem:
    evidence = line.evidence
    if evidence is None:
        evidence = tuple(p.id for p in task.brief(question, has_tools=False).passages)
    output = None
    if line.task_output is not None:
        try:
            output = task.read_output(line.task_output)
        except FormatError as error:
            remedy = f"compare with what `branchwise export` writes of the task {task.name}"
            raise InputError(f'"task_output": {error}', where=where, remedy=remedy) from None
    prediction = Prediction(
        reasoning=line.reasoning, answers=line.answers, citations=line.citations, task_output=output
    )
    return AnsweredItem(
        question,
        prediction,
        epoch=line.epoch,
        evidence=Evidence(evidence),
        how=line.how,
        error=line.error or None,
    )
