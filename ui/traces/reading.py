"""One item of a run, read as a trace to walk through."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.errors.attribution import examine
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.eval.tasks import TASKS, is_attributable
from branchwise.report.terminal.lost_answers import gold_set_words
from branchwise.runs.store import DamagedError, RunReader
from branchwise.trace.events import Error, Event
from branchwise.ui.traces.answers import beside_lines, gold_names, judged_lines, open_lines
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.trace import BranchLines, Trace
from branchwise.ui.traces.tree import steps

DAMAGED = "damaged"
"""Kind of the error that is the one step of a trace that cannot be read."""


def trace_of(
    reader: RunReader,
    line: ItemLine,
    question: Question,
    outcome: Mapping[str, Any] | None = None,
    errors: ItemErrors | None = None,
    *,
    judge: bool = True,
    by_gold_set: Callable[[AnsweredItem], AnsweredItem] = lambda item: item,
) -> Trace:
    """The trace of item `line.number` of a run, whatever its status.

    `outcome`: how it ended, None where it has not. `errors`: where its answers were lost, as it was
    kept or worked out by the run's scorer; None: worked out here, by names alone, or without
    `judge` left to `judged`: for long passages it takes seconds. `by_gold_set`: says against which
    of its question's gold sets the item is scored (`RunScores.by_gold_set`). A trace with a damaged
    record has one step that says so; where its answers were lost is then unknown.
    """
    events, damage = _events(reader, line.number)
    item = _item(line, question, outcome)
    if item is not None:
        item = by_gold_set(item)
        question = item.question
    names = gold_names(question.branches) if is_attributable(reader.task) else []
    judging = item if names else None
    if judging is None:
        errors = None
    elif errors is None and (judge or damage):
        errors = examine(judging, events).errors
    shown = [*events, *damage]
    return Trace(
        line=line,
        events=shown,
        steps=steps(shown, names),
        branches=_branches(reader.task, question, item, errors, shown),
        errors=errors,
        names=names,
        outcome=outcome,
        unjudged=judging if errors is None else None,
        is_damaged=bool(damage),
        gold=question.branches,
        gold_set=_gold_set_words(item),
    )


def judged(trace: Trace, errors: ItemErrors | None = None) -> Trace:
    """A trace with its errors: those given, else worked out of its events by names alone.

    May be called on any thread: nothing is read. A trace that is judged is returned as it is.
    """
    item = trace.unjudged
    if item is None:
        return trace
    errors = errors or examine(item, trace.events).errors
    branches = judged_lines(item.question.branches, item.prediction.answers, errors, trace.events)
    return replace(trace, branches=branches, errors=errors, unjudged=None)


def _events(reader: RunReader, item: int) -> tuple[list[Event], list[Event]]:
    """The events, or in their place one that says why they cannot be read."""
    try:
        # A fork that has not begun will begin with what was copied for it.
        return list(reader.events(item)) or list(reader.opening()), []
    except DamagedError as error:
        problem = f"a record of the run is damaged: {error.damage}"
    except InputError as error:
        problem = error.what
    except AttributeError:
        problem = "a record of the run is damaged (it is not an object)"
    body = Error(kind=DAMAGED, message=problem)
    return [], [Event(0, body.KIND, 0.0, body.record())]


def _branches(
    task: str,
    question: Question,
    item: AnsweredItem | None,
    errors: ItemErrors | None,
    events: Sequence[Event],
) -> list[BranchLines]:
    prediction = item.prediction if item else Prediction()
    if errors is not None:
        return judged_lines(question.branches, prediction.answers, errors, events)
    known = TASKS.get(task)
    if known and (found := known.beside(question, prediction)) is not None:
        return beside_lines(found)
    return open_lines(question.branches, prediction.answers)


def _gold_set_words(item: AnsweredItem | None) -> str:
    if item is None or item.gold_set is None:
        return ""
    return f"gold: {gold_set_words(item.gold_set)} of {len(item.question.gold_sets)} gold sets"


def _item(
    line: ItemLine, question: Question, outcome: Mapping[str, Any] | None
) -> AnsweredItem | None:
    """As scorers read it; None where it has not ended, or its final record is damaged."""
    ended = outcome or {}
    try:
        return AnsweredItem(
            question=question,
            prediction=Prediction.model_validate(ended["prediction"]),
            epoch=line.epoch,
            evidence=Evidence(tuple(ended.get("evidence", ()))),
            how=str(ended.get("how")),
            error=ended.get("error"),
            item=line.number,
        )
    except (KeyError, TypeError, ValueError):
        return None
