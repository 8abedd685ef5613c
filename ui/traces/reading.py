"""One item of a run, read as a trace to walk through."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.corpora.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.errors.attribution import TASKS, examine
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.evidence import Evidence
from branchwise.eval.items import AnsweredItem
from branchwise.eval.store import Event, RunReader
from branchwise.ui.traces.answers import gold_names, judged_lines, open_lines
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.trace import BranchLines, Trace
from branchwise.ui.traces.tree import steps

DAMAGED = "damaged"
"""Kind of the one step of a trace that cannot be read."""


def trace_of(
    reader: RunReader,
    line: ItemLine,
    question: Question,
    outcome: Mapping[str, Any] | None = None,
    errors: ItemErrors | None = None,
) -> Trace:
    """The trace of item `line.number` of a run, of any status.

    `outcome`: how it ended, None where it has not. `errors`: where its answers were lost, as it was
    kept or worked out by the run's scorer; None: worked out here, by names alone. A trace with a
    damaged record has one step that says so.
    """
    events = _events(reader, line.number)
    answers = outcome.get("prediction", {}).get("answers", {}) if outcome else {}
    names = gold_names(question.branches) if reader.task in TASKS else []
    judged = outcome is not None and bool(names)
    if judged and errors is None:
        errors = examine(_item(line, question, outcome or {}), events).errors
    errors = errors if judged else None
    return Trace(
        line=line,
        events=events,
        steps=steps(events, names),
        branches=_branches(question, answers, errors, events),
        errors=errors,
        names=names,
        outcome=outcome,
    )


def _events(reader: RunReader, item: int) -> list[Event]:
    try:
        return list(reader.events(item))
    except InputError as error:
        return [Event(0, DAMAGED, 0.0, {"message": str(error)})]


def _branches(
    question: Question,
    answers: Mapping[str, Sequence[str]],
    errors: ItemErrors | None,
    events: Sequence[Event],
) -> list[BranchLines]:
    if errors is None:
        return open_lines(question.branches, answers)
    return judged_lines(question.branches, answers, errors, events)


def _item(line: ItemLine, question: Question, outcome: Mapping[str, Any]) -> AnsweredItem:
    item = AnsweredItem(
        question=question,
        prediction=Prediction.model_validate(outcome["prediction"]),
        epoch=line.epoch,
        evidence=Evidence(tuple(outcome["evidence"])),
        how=outcome["how"],
        error=outcome.get("error"),
    )
    return replace(item, item=line.number)
