"""One item of a run read as a trace: its events, and gold answers beside predicted ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.base.numbers import number
from branchwise.corpora.questions import Branch, Question
from branchwise.eval.branch_scores import Answers, GoldBranches, branch_matches, gold_branches
from branchwise.eval.errors.attribution import examine
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer
from branchwise.eval.errors.labels import Label
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.eval.qualifiers import read_name
from branchwise.eval.tasks import TASKS, is_attributable
from branchwise.eval.tasks.task import Beside
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL, PROTOCOL
from branchwise.report.terminal.blocks import harmless
from branchwise.report.terminal.lost_answers import gold_set_words, why_missing, why_wrong
from branchwise.report.terminal.step_text import short
from branchwise.runs.store import DamagedError, RunReader
from branchwise.trace.events import AnswerRead, Error, Event, Model
from branchwise.trace.parts import Body
from branchwise.ui.steps.kinds.conversation import wrong_by_key
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.trace import AnswerLine, AnswerVerdict, BranchLines, Trace, steps

MAX_LINE = 1_000
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
    """The trace of item `line.number` of a run, whatever its status; a damaged one has one step
    that says so. `outcome`: how it ended, if it has. `errors`: as kept or worked out; None: by
    names alone, here or, without `judge`, by `judged` (seconds for long passages).
    `by_gold_set`: as `RunScores.by_gold_set`."""
    events, is_damaged = _events(reader, line.number)
    item, gold_set = _item(line, question, outcome), ""
    if item is not None:
        item = by_gold_set(item)
        question = item.question
        if item.gold_set is not None:
            words = gold_set_words(item.gold_set)
            gold_set = f"gold: {words} of {len(question.gold_sets)} gold sets"
    names = gold_names(question.branches) if is_attributable(reader.task) else []
    judging = item if names else None
    if judging is None:
        errors = None
    elif errors is None and (judge or is_damaged):
        errors = examine(judging, () if is_damaged else events).errors
    prediction, task = item.prediction if item else Prediction(), TASKS.get(reader.task)
    protocol = reader.system.get(PROTOCOL, DEFAULT_PROTOCOL)
    if errors is not None:
        branches = judged_lines(question.branches, prediction.answers, errors, events)
    elif task and (pairs := task.beside(question, prediction, protocol)) is not None:
        branches = _beside_lines(pairs)
    else:
        branches = open_lines(question.branches, prediction.answers)
    return Trace(
        line=line,
        events=events,
        steps=steps(events, names),
        branches=branches,
        errors=errors,
        names=names,
        outcome=outcome,
        unjudged=judging if errors is None else None,
        is_damaged=is_damaged,
        gold=question.branches,
        gold_set=gold_set,
    )


def judged(trace: Trace, errors: ItemErrors | None = None) -> Trace:
    """A trace with its errors: those given, else worked out by names alone, on any thread."""
    item = trace.unjudged
    if item is None:
        return trace
    errors = errors or examine(item, trace.events).errors
    branches = judged_lines(item.question.branches, item.prediction.answers, errors, trace.events)
    return replace(trace, branches=branches, errors=errors, unjudged=None)


def _events(reader: RunReader, item: int) -> tuple[list[Event], bool]:
    """The events, or where they are damaged one in their place that says so."""
    try:
        # A fork that has not begun will begin with what was copied for it.
        return list(reader.events(item)) or list(reader.opening()), False
    except DamagedError as error:
        problem = f"a record of the run is damaged: {error.damage}"
    except InputError as error:
        problem = error.what
    except AttributeError:
        problem = "a record of the run is damaged (it is not an object)"
    body = Error(kind=DAMAGED, message=problem)
    return [Event(0, body.KIND, 0.0, body.record())], True


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


def gold_names(branches: Sequence[Branch]) -> list[list[str]]:
    """For each gold answer its text and aliases, those of other branches included."""
    entities = gold_branches(branches).pooled.entities
    return [
        [*dict.fromkeys(text for answer in entity.answers for text in answer.forms if text.strip())]
        for entity in entities
    ]


def judged_lines(
    branches: Sequence[Branch], answers: Answers, errors: ItemErrors, events: Sequence[Event]
) -> list[BranchLines]:
    """Gold and predicted answers with their verdicts, as they were scored."""
    gold = gold_branches(branches)
    # The last answer, the last error and the last model turn that is not a repair.
    ends: dict[type[Body], int] = {
        type(event.body): event.seq
        for event in events
        if isinstance(event.body, AnswerRead | Error)
        or (isinstance(event.body, Model) and not event.body.is_repair)
    }
    keys = {branch.name: branch.keys for branch in errors.branches}
    missing = {(lost.branch, lost.text): lost for lost in errors.missing}
    written = _Written(gold, answers, errors, ends.get(AnswerRead))
    shown = []
    for index, (name, entities) in enumerate(zip(gold.names, gold.sets, strict=True)):
        texts, own = [entity.name for entity in entities.entities], keys.get(name, ())
        lines = [_gold_line(text, missing.get((name, text)), errors, ends) for text in texts]
        branch = BranchLines(one_line(name), _short(own), tuple(lines), written.lines(own, index))
        shown.append(branch)
    taken = {key for own in keys.values() for key in own}
    alone = [key for key in answers if key not in taken]
    return shown + [BranchLines(None, _short([k]), (), written.lines([k], None)) for k in alone]


def open_lines(branches: Sequence[Branch], answers: Answers) -> list[BranchLines]:
    """Gold and predicted answers without verdicts, branches of the same name side by side."""
    left = dict(answers)
    shown = []
    for branch in branches:
        own = _short([branch.name] if branch.name in left else [])
        predicted = _open(left.pop(branch.name, ()))
        gold = _open(answer.text for answer in branch.answers)
        shown.append(BranchLines(one_line(branch.name), own, gold, predicted))
    return shown + [BranchLines(None, _short([k]), (), _open(texts)) for k, texts in left.items()]


def _beside_lines(pairs: Iterable[Beside]) -> list[BranchLines]:
    """A task's own alignment: a predicted answer says how far it agrees with the gold one."""
    shown = []
    for pair in pairs:
        why = ", ".join(f"{name} {number(score)}" for name, score in pair.scores)
        name, gold = (one_line(pair.gold[0]), _open(pair.gold[1])) if pair.gold else (None, ())
        keys = _short(pair.predicted[:1]) if pair.predicted else ()
        predicted = _open(pair.predicted[1], why) if pair.predicted else ()
        shown.append(BranchLines(name, keys, gold, predicted))
    return shown


def _open(texts: Iterable[str], why: str = "") -> tuple[AnswerLine, ...]:
    return tuple(AnswerLine(one_line(text), "open", why) for text in texts)


def _short(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(one_line, texts))


def _gold_line(
    text: str, lost: MissingAnswer | None, errors: ItemErrors, ends: Mapping[type[Body], int]
) -> AnswerLine:
    if lost is None:
        return AnswerLine(one_line(text), "right")
    why = why_missing(lost) if lost.label else ""
    places = _shown_first(lost.places or lost.elsewhere)
    if lost.under is not None:
        # It was lost where the answer was written, not where it was read.
        return AnswerLine(one_line(text), "wrong_branch", one_line(why), (), ends.get(AnswerRead))
    if errors.error is not None:
        return AnswerLine(one_line(text), "missing", "the question failed", places, ends.get(Error))
    step = places[0].step if places else None
    if lost.lost_at in ("repair", "merge"):
        places, step = (), ends.get(Model if lost.lost_at == "repair" else AnswerRead)
    elif lost.lost_step is not None:
        step = lost.lost_step
    elif step is None and errors.format_error is not None:
        step = errors.format_error.step
    return AnswerLine(one_line(text), "missing", one_line(why), places, step, lost.in_corpus)


class _Written:
    """The predicted texts of an item, each with its verdict; they were read at step `read_at`."""

    def __init__(
        self, gold: GoldBranches, answers: Answers, errors: ItemErrors, read_at: int | None
    ) -> None:
        self._gold, self._answers, self._read_at = gold, answers, read_at
        self._wrong = wrong_by_key(errors)
        index = {name: number for number, name in enumerate(gold.names)}
        stands_for = {key: index[b.name] for b in errors.branches for key in b.keys}
        alignment = {key: stands_for.get(key) for key in answers}
        self._right = {}
        for right in branch_matches(gold, answers, alignment).right:
            entity = gold.sets[right.pair.branch].entities[right.pair.entity]
            self._right[right.branch, read_name(right.text).key] = entity

    def lines(self, keys: Iterable[str], branch: int | None) -> tuple[AnswerLine, ...]:
        """The texts under these keys, which stand for a gold branch, or for none."""
        texts = ((key, text) for key in keys for text in self._answers.get(key, ()))
        return tuple(self._line(key, text, branch) for key, text in texts)

    def _line(self, key: str, text: str, branch: int | None) -> AnswerLine:
        compared, shown = read_name(text), one_line(text)
        wrong = self._wrong.get((key[:MAX_CHARACTERS], compared.key))
        if wrong is not None:
            is_moved = wrong.label is Label.WRONG_BRANCH
            verdict: AnswerVerdict = "wrong_branch" if is_moved else "wrong"
            places = _shown_first(wrong.places)
            step = places[0].step if places else self._read_at
            return AnswerLine(shown, verdict, one_line(why_wrong(wrong)), places, step)
        if not text.strip():
            return AnswerLine("(empty)", "open", "counts nothing")
        entity = self._right.get((key, compared.key))
        if entity is not None:
            same = read_name(entity.name).key == compared.key
            return AnswerLine(shown, "right", "" if same else one_line(f"for {entity.name!r}"))
        again = branch is not None and bool(self._gold.sets[branch].matches(compared))
        why = "counted already" if again else "accepted by the judge"
        return AnswerLine(shown, "right", why)


def _shown_first(places: Iterable[EvidencePlace]) -> tuple[EvidencePlace, ...]:
    """The places, the one that the reason names first."""
    return tuple(sorted(places, key=lambda place: not place.shown))


def one_line(text: str) -> str:
    """Text from outside on one line, at most 1,000 characters of it."""
    return short(harmless(text), MAX_LINE)
