"""What `branchwise.run`, `score` and `compare` return: short in a shell, tables in a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from branchwise.base.arguments import typed_arguments
from branchwise.base.errors import InputError, StoppedWarning, did_you_mean, require, warn
from branchwise.base.text import printable
from branchwise.corpora.questions import Question
from branchwise.eval.comparison import Comparison, ScoreDifference
from branchwise.eval.scores import Scores
from branchwise.report.study_report import StudyReport
from branchwise.report.table import Table
from branchwise.report.tables.changes import changes_table
from branchwise.report.tables.results import results_tables, scores_table
from branchwise.runs.costs.prices import prices_of
from branchwise.runs.experiment import Run
from branchwise.runs.runner import INTERRUPTED
from branchwise.runs.studies.names import distinct_names
from branchwise.ui.traces.trace import Trace

if TYPE_CHECKING:
    from pandas import DataFrame

WIDTH = 100


class RunResult(Run):
    """A run folder, how the pass over it ended, and a look at its questions."""

    @classmethod
    def of(cls, run: Run) -> Self:
        """Warns of a run that stopped by itself: nothing else tells a script."""
        if (why := run.state.stopped) and why != INTERRUPTED:
            go_on = f"nothing is lost, branchwise.resume({str(run.path)!r}) goes on"
            warn(f"{run.path} stopped: {why}; {go_on}", StoppedWarning)
        return cls(run.path, run.state, run.restraints)

    @typed_arguments
    def trace(self, question: str, epoch: int = 0) -> "QuestionTrace":
        """What was done for one question, step by step: a text in a shell, foldable in a notebook.

        Raises InputError for an id that the run does not have.
        """
        from branchwise.ui.traces.runs import RunView

        with closing(RunView.open(self.path)) as view:
            row = view.find(question, epoch)
            if row is None:
                raise InputError(
                    f"no item has the id {question[:60]!r}"
                    + (f" in epoch {epoch}" if epoch else ""),
                    where=str(self.path),
                    remedy=f"ids are listed by: branchwise trace {self.path} --print",
                )
            return QuestionTrace(view.trace(row))

    def __repr__(self) -> str:
        state = self.state
        words = [f"{state.done} done", f"{state.failed} failed"]
        if state.pending:
            words.append(f"{state.pending} to do (branchwise.resume)")
        if state.stopped:
            words.append(f"stopped: {state.stopped}")
        return f"<Run {self.path}: {', '.join(words)}>"


class QuestionTrace:
    """The trace of one question; `trace` has its steps, events and answers."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def __repr__(self) -> str:
        from branchwise.ui.traces.plain import gold_lines, trace_lines

        trace = self.trace
        return "\n".join((*trace_lines(trace.events), *gold_lines(trace.gold, trace.gold_set)))

    def _repr_html_(self) -> str:
        from branchwise.ui.fragments import trace_html

        return trace_html(self.trace)


@dataclass(frozen=True, repr=False)
class ScoreResult(Scores):
    """Scores of a run or of a predictions file; printed, the headline metrics of each subset.

    `asked`: the questions by id.
    """

    asked: Mapping[str, Question] = field(default_factory=dict)

    @classmethod
    def of(cls, scores: Scores, questions: Iterable[Question]) -> Self:
        by_id = {question.id: question for question in questions}
        return cls(scores.scorer, scores.counts, scores.aggregates, scores.items, by_id)

    def rows(self) -> list[dict[str, Any]]:
        """A flat record for each item: its id, epoch, question, whether that is ambiguous, what its
        data set says of it (`meta.KEY`), and every metric."""
        return [
            {
                "id": item.id,
                "epoch": item.epoch,
                "question": (question := self.asked[item.id]).question,
                "ambiguous": item.ambiguous,
                **{f"meta.{key}": value for key, value in question.meta.items()},
                **item.metrics,
            }
            for item in self.items
        ]

    def to_pandas(self) -> "DataFrame":
        """`rows` as a data frame. Raises InputError without pandas."""
        return _frame(self.rows())

    def __repr__(self) -> str:
        counts, table = self.counts, _as_text([scores_table(self)])
        return f"{table}\n{counts.items} items, {counts.answered} answered, {counts.failed} failed"

    def _repr_html_(self) -> str:
        return _as_html([scores_table(self)])


class ComparedRuns:
    """Runs beside the first, which is the base: means, and differences with intervals and tests.

    `report`: everything that `branchwise report` knows of them.
    """

    def __init__(self, report: StudyReport) -> None:
        self.report = report

    @property
    def comparisons(self) -> Mapping[str, Comparison]:
        """By name each run's differences to the base."""
        return self.report.comparisons

    def difference(
        self, metric: str, subset: str = "all", run: str | None = None
    ) -> ScoreDifference:
        """One difference to the base; `run` may be left out where only one is compared.

        Raises InputError for a run, metric or subset that was not compared.
        """
        names = list(self.comparisons)
        if run is None and len(names) == 1:
            [run] = names
        if run is None or run not in self.comparisons:
            raise InputError(f"run: {run!r} is not compared", remedy=f"one of {', '.join(names)}")
        try:
            return self.comparisons[run].find(metric, subset)
        except KeyError:
            differences = self.comparisons[run].differences
            metrics = list(dict.fromkeys(difference.metric for difference in differences))
            subsets = dict.fromkeys(
                difference.subset for difference in differences if difference.metric == metric
            )
            raise InputError(
                f"{metric[:60]!r} on {subset[:60]!r} is not compared",
                remedy=did_you_mean(subset, subsets)
                if subsets
                else did_you_mean(metric, metrics, most=2, cutoff=0.5),
            ) from None

    def rows(self) -> list[dict[str, Any]]:
        """A flat record for each run, metric and subset."""
        return [
            {"run": name, "against": self.report.systems[0].name, **difference.to_json()}
            for name, compared in self.comparisons.items()
            for difference in compared.differences
        ]

    def to_pandas(self) -> "DataFrame":
        """`rows` as a data frame. Raises InputError without pandas."""
        return _frame(self.rows())

    @cached_property
    def _tables(self) -> Sequence[Table]:
        keys = ["system", "subset", "n", *(metric.key for metric in self.report.compared)]
        return results_tables(self.report)[0].with_columns(keys), changes_table(self.report)

    def __repr__(self) -> str:
        return "\n".join([_as_text(self._tables), *map(printable, self.report.cautions)])

    def _repr_html_(self) -> str:
        return _as_html(self._tables, [self.report.systems[0].name])


def compare_runs(paths: Sequence[Path]) -> ComparedRuns:
    """Saved scores are read, others are made of names alone; nothing is asked, nothing written.

    Raises InputError where fewer than two are given, or they cannot be compared.
    """
    from branchwise.report.run_folders import report_of_runs
    from branchwise.runs.scoring.score import ScoringSettings, score_answers

    if len(paths) < 2:
        raise InputError("compare needs two runs", remedy="branchwise.compare(base, other)")
    names = distinct_names(path.resolve().name for path in paths)
    scored = [
        score_answers(path, ScoringSettings(None, prices_of(path), asks=False, saves=False))
        for path in paths
    ]
    return ComparedRuns(report_of_runs([*zip(names, scored, strict=True)]))


def _frame(rows: Sequence[Mapping[str, Any]]) -> "DataFrame":
    require("notebook", "a data frame")
    from pandas import DataFrame

    return DataFrame(list(rows))


def _as_text(tables: Sequence[Table]) -> str:
    from rich.console import Console

    from branchwise.report.terminal.report_table import drawn

    written = StringIO()
    screen = Console(file=written, width=WIDTH, color_system=None, emoji=False, force_jupyter=False)
    for table in tables:
        for part in drawn(table):
            screen.print(part)
    return "\n".join(line.rstrip() for line in written.getvalue().strip("\n").split("\n"))


def _as_html(tables: Sequence[Table], bases: Sequence[str] = ()) -> str:
    from branchwise.ui.fragments import tables_html

    return tables_html(tables, bases)
