"""What `branchwise.run`, `ask`, `score` and `compare` return: a few lines in a shell (`print` shows
all), tables in a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from branchwise.base.arguments import typed_arguments
from branchwise.base.errors import InputError, StoppedWarning, warn
from branchwise.base.frames import frame_of
from branchwise.base.numbers import number
from branchwise.base.text import counted, printable
from branchwise.corpora.questions import Question
from branchwise.eval.errors.labels import label_words
from branchwise.eval.scores import Scores
from branchwise.graphs.outcome import Outcome
from branchwise.report.table import Table, TableColumn
from branchwise.report.tables.results import scores_table, shown_metrics
from branchwise.report.terminal.report_table import drawn
from branchwise.runs.costs.prices import prices_of
from branchwise.runs.experiment import Run, state_of
from branchwise.runs.runner import INTERRUPTED, RunState
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import StudyFolder
from branchwise.ui.fragments import tables_html, trace_html
from branchwise.ui.traces.plain import gold_lines, trace_lines
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Trace

if TYPE_CHECKING:
    from pandas import DataFrame

WIDTH = 100
_MOST_QUESTIONS = 50
"""Rows of a run that a notebook shows."""


class RunResult(Run):
    """A run folder, how the pass over it ended, and a look at its questions."""

    @classmethod
    def of(cls, run: Run) -> Self:
        warn_of_stop(run.path, run.state, f"branchwise.resume({str(run.path)!r})")
        return cls(run.path, run.state, run.restraints)

    @typed_arguments
    def trace(self, question: str, epoch: int = 0) -> "QuestionTrace":
        """What was done for one question, step by step: a text in a shell, foldable in a notebook.

        Raises InputError for an id that the run does not have.
        """
        with closing(RunView.open(self.path)) as view:
            row = view.find(question, epoch)
            if row is None:
                first = min(view.count, 3)
                raise InputError(
                    f"no item has the id {question[:60]!r}"
                    + (f" in epoch {epoch}" if epoch else ""),
                    where=str(self.path),
                    remedy=f"the first are {', '.join(view.line(n).id for n in range(first))}",
                )
            return QuestionTrace(view.trace(row), self.path.name)

    def __repr__(self) -> str:
        return printable(f"<Run {self.path}: {self._words}>")

    @property
    def _words(self) -> str:
        state = self.state
        words = [f"{state.done} done", f"{state.failed} failed"]
        if state.pending:
            words.append(f"{state.pending} to do (branchwise.resume)")
        if state.stopped:
            words.append(f"stopped: {state.stopped}")
        return ", ".join(words)

    def _repr_html_(self) -> str:
        with closing(RunView.open(self.path)) as view:
            lines = [view.line(row) for row in range(min(view.count, _MOST_QUESTIONS))]
            summary, more = view.summary(quick=True), view.count - len(lines)
            heads = view.heads
        columns = (
            TableColumn("id", "id", "text", is_key=True),
            TableColumn("status", "status", "text"),
            *(TableColumn(head, head) for head in heads),
            TableColumn("question", "question", "text"),
        )
        rows = [
            (line.id, line.status, *(line.scores or (None,) * len(heads)), line.question)
            for line in lines
        ]
        notes = (f"... and {more:,} more",) if more else ()
        questions = Table("questions", counted(view.count, "question"), columns, tuple(rows), notes)
        words = [self._words, summary.system]
        return tables_html([questions], title=summary.name, words=words, folded=True)


class QuestionTrace:
    """The trace of one question; `trace` has its steps, events and answers. `run`: its name."""

    def __init__(self, trace: Trace, run: str = "") -> None:
        self.trace, self.run = trace, run

    def __repr__(self) -> str:
        line, steps = self.trace.line, self.trace.steps
        return printable(f"<Trace {line.id} of {self.run}: {len(steps)} steps, {self.words}>")

    @property
    def words(self) -> str:
        """How the question ended: how many gold answers were found, and what was lost where."""
        line, gold = self.trace.line, [a for b in self.trace.branches for a in b.gold]
        found = sum(answer.verdict == "right" for answer in gold)
        is_open = not gold or any(answer.verdict == "open" for answer in gold)
        words = [line.status] if is_open else [f"{found} of {len(gold)} gold answers found"]
        words += map(label_words, line.labels or ())
        return ", ".join([*words, *([line.error] if line.error else ())])

    def __str__(self) -> str:
        trace = self.trace
        lost = [f"  {a.text}: {a.why}" for b in trace.branches for a in b.gold if a.why]
        gold = gold_lines(trace.gold, trace.gold_set)
        words = [*map(printable, lost)]
        return "\n".join((*trace_lines(trace.events), *gold, *(["lost", *words] if lost else ())))

    def _repr_html_(self) -> str:
        return trace_html(self.trace, self.words)


@dataclass(frozen=True, repr=False, kw_only=True)
class AskResult(Outcome):
    """What `ask` returns: the outcome of `question`."""

    question: str = ""

    def _repr_html_(self) -> str:
        columns = (
            TableColumn("branch", "branch", "text", is_key=True),
            TableColumn("answers", "answers", "text"),
        )
        prediction = self.prediction
        rows = [(name, "; ".join(texts)) for name, texts in prediction.answers.items()]
        if prediction.task_output is not None:
            rows.append(("answer", str(prediction.task_output)))
        tables = [Table("answers", "Answers", columns, tuple(rows))] if rows else []
        words = [self.words] if rows else ["no answer", self.words]
        return tables_html(tables, title=self.question, words=words)


@dataclass(frozen=True, repr=False)
class ScoreResult(Scores):
    """Scores of a run or of a predictions file; printed, the headline metrics of each subset.

    `asked`: the questions by id.
    """

    asked: Mapping[str, Question] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: Scores, questions: Iterable[Question]) -> Self:
        by_id = {question.id: question for question in questions}
        # A mean, read by itself, does not say so.
        for line in scores.failures.lines:
            warn(line)
        return cls(scores.scorer, scores.counts, scores.aggregates, scores.items, by_id)

    def rows(self) -> list[dict[str, Any]]:
        """A flat record for each item, in the set's order: its id, epoch, question, whether that is
        ambiguous, its gold answers, what its data set says of it (`meta.KEY`), every metric."""
        places = {id: place for place, id in enumerate(self.asked)}
        return [
            {
                "id": item.id,
                "epoch": item.epoch,
                "question": (question := self.asked[item.id]).question,
                "ambiguous": item.ambiguous,
                "gold": [answer.text for branch in question.branches for answer in branch.answers],
                **{f"meta.{key}": value for key, value in question.meta.items()},
                **item.metrics,
            }
            for item in sorted(self.items, key=lambda item: (places[item.id], item.epoch))
        ]

    def to_pandas(self) -> "DataFrame":
        """`rows` as a data frame. Raises InputError without pandas."""
        return frame_of(self.rows())

    def __repr__(self) -> str:
        metrics = shown_metrics(self.scorer)
        means = (f"{m.title} {number(self.mean(m.key, 'all').mean, m.digits)}" for m in metrics)
        told = f"<Scores of {self._counted}: {', '.join(means)}>"
        return "\n".join([told, *self.failures.lines])

    @property
    def _counted(self) -> str:
        counts = self.counts
        return f"{counts.items} items, {counts.answered} answered, {counts.failed} failed"

    def __str__(self) -> str:
        return "\n".join([as_text([scores_table(self)]), self._counted, *self.failures.lines])

    def _repr_html_(self) -> str:
        return tables_html([scores_table(self)], words=[self._counted])


def scored_run(path: Path, settings: ScoringSettings) -> ScoreResult:
    """Score a run and save that. Raises as `score_answers`."""
    # First: a run stays one file where the last to close it may write.
    with closing(open_run(path)) as reader:
        asked = list(reader.questions())
    return ScoreResult.of(score_answers(path, settings).scores, asked)


class StudyResult(RunResult):
    """A study's folder, how the pass over it ended, and a look at each of its runs."""

    @property
    def runs(self) -> Mapping[str, RunResult]:
        """By set where the study has one system, else by set and system."""
        return {
            name: RunResult(path, state_of(path, self.state.stopped), self.restraints)
            for name, path in StudyFolder.open(self.path).runs()
        }

    def scores(self) -> "StudyScores":
        """The scores of each run, which `branchwise.score` of it gives by default."""
        made = {}
        for name, run in self.runs.items():
            settings = ScoringSettings(prices=prices_of(self.path), restraints=self.restraints)
            made[name] = scored_run(run.path, settings)
        return StudyScores(made)

    def trace(self, question: str, epoch: int = 0) -> QuestionTrace:
        """As of a run, of the first run that has a question with this id."""
        runs = [*self.runs.values()]
        for run in runs[:-1]:
            with suppress(InputError):
                return run.trace(question, epoch)
        return runs[-1].trace(question, epoch)

    def __repr__(self) -> str:
        return "\n".join([f"<Study {self.path}>", *map(repr, self.runs.values())])

    def _repr_html_(self) -> str:
        return "".join(run._repr_html_() for run in self.runs.values())


class StudyScores(dict[str, ScoreResult]):
    """The scores of a study's runs by their names; printed, the headline metrics of each."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {scores!r}" for name, scores in self.items())

    def __str__(self) -> str:
        return "\n\n".join(f"{name}\n{scores}" for name, scores in self.items())

    def _repr_html_(self) -> str:
        return tables_html([replace(scores_table(own), title=name) for name, own in self.items()])


def warn_of_stop(path: Path, state: RunState, how: str) -> None:
    """Warn of what stopped by itself: nothing else tells a script."""
    if state.stopped and state.stopped != INTERRUPTED:
        warn(f"{path} stopped: {state.stopped}; nothing is lost, {how} goes on", StoppedWarning)


def as_text(tables: Sequence[Table]) -> str:
    from rich.console import Console

    written = StringIO()
    screen = Console(file=written, width=WIDTH, color_system=None, emoji=False, force_jupyter=False)
    for table in tables:
        for part in drawn(table):
            screen.print(part)
    return "\n".join(line.rstrip() for line in written.getvalue().strip("\n").split("\n"))
