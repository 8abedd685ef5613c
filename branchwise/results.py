"""What `branchwise.run`, `ask`, `score` and `compare` return: a few lines in a shell (`print` shows
all), tables in a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from branchwise.base.arguments import typed_arguments
from branchwise.base.errors import InputError, StoppedWarning, did_you_mean, require, warn
from branchwise.base.keys import Keys
from branchwise.base.numbers import number
from branchwise.base.text import counted, cut, printable
from branchwise.corpora.questions import Question
from branchwise.eval.comparison import Comparison, ScoreDifference
from branchwise.eval.errors.labels import label_words
from branchwise.eval.scores import Scores
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.graphs.outcome import Outcome
from branchwise.report.joined import JoinedReport
from branchwise.report.run_folders import report_of_runs
from branchwise.report.study_report import StudyReport
from branchwise.report.table import Table, TableColumn
from branchwise.report.tables.changes import changes_table
from branchwise.report.tables.joined import joined_tables
from branchwise.report.tables.results import results_tables, scores_table
from branchwise.report.terminal.report_table import drawn
from branchwise.runs.costs.prices import prices_of
from branchwise.runs.experiment import Run, state_of
from branchwise.runs.runner import INTERRUPTED, RunState
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.names import distinct_names
from branchwise.runs.studies.running import StudyRun
from branchwise.ui.fragments import tables_html, trace_html
from branchwise.ui.traces.plain import gold_lines, trace_lines
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Trace

if TYPE_CHECKING:
    from pandas import DataFrame

WIDTH = 100
_MOST_QUESTIONS = 50
"""Rows of a run that a notebook shows."""
_MOST_RUNS = 8


class RunResult(Run):
    """A run folder, how the pass over it ended, and a look at its questions."""

    @classmethod
    def of(cls, run: Run) -> Self:
        _warn_of_stop(run.path, run.state, f"branchwise.resume({str(run.path)!r})")
        return cls(run.path, run.state, run.restraints)

    @typed_arguments
    def trace(self, question: str, epoch: int = 0) -> "QuestionTrace":
        """What was done for one question, step by step: a text in a shell, foldable in a notebook.

        Raises InputError for an id that the run does not have.
        """
        with closing(RunView.open(self.path)) as view:
            row = view.find(question, epoch)
            if row is None:
                raise InputError(
                    f"no item has the id {question[:60]!r}"
                    + (f" in epoch {epoch}" if epoch else ""),
                    where=str(self.path),
                    remedy=f"ids are listed by: branchwise trace {self.path} --print",
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
        return "\n".join((*trace_lines(trace.events), *gold_lines(trace.gold, trace.gold_set)))

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
        headline = self.scorer.scored_task.headline
        means = (f"{m.title} {number(self.mean(m.key, 'all').mean, m.digits)}" for m in headline)
        return f"<Scores of {self._counted}: {', '.join(means)}>"

    @property
    def _counted(self) -> str:
        counts = self.counts
        return f"{counts.items} items, {counts.answered} answered, {counts.failed} failed"

    def __str__(self) -> str:
        return f"{_as_text([scores_table(self)])}\n{self._counted}"

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
        """The main metric's difference of each run, and what must be kept in mind of them."""
        metric = self.report.task.main.key
        lines = [f"{n}: {c.find(metric)}" for n, c in self.comparisons.items()]
        lines[_MOST_RUNS:] = [f"... and {len(lines) - _MOST_RUNS} more"] * (len(lines) > _MOST_RUNS)
        told = (f"<Comparison with {self.report.base_words}>", *lines, *self.report.cautions)
        return "\n".join(cut(printable(line), WIDTH) for line in told)

    def __str__(self) -> str:
        return "\n".join([_as_text(self._tables), *map(printable, self.report.cautions)])

    def _repr_html_(self) -> str:
        return tables_html(self._tables, [self.report.systems[0].name], words=self.report.cautions)


def compare_runs(paths: Sequence[Path]) -> ComparedRuns:
    """Saved scores are read, others are made of names alone; nothing is asked, nothing written.

    Raises InputError where fewer than two are given, or they cannot be compared.
    """
    if len(paths) < 2:
        raise InputError("compare needs two runs", remedy="branchwise.compare(base, other)")
    names = distinct_names(path.resolve().name for path in paths)
    scored = [
        score_answers(path, ScoringSettings(None, prices_of(path), asks=False, saves=False))
        for path in paths
    ]
    return ComparedRuns(report_of_runs([*zip(names, scored, strict=True)]))


class ComparedSets(dict[str, ComparedRuns]):
    """By the set's name what the systems of a study change; `tables`: all its sets together."""

    def __init__(self, by_set: Mapping[str, ComparedRuns]) -> None:
        super().__init__(by_set)
        systems = {name: compared.report.systems for name, compared in by_set.items()}
        self.tables = joined_tables(JoinedReport.of(systems))

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {compared!r}" for name, compared in self.items())

    def __str__(self) -> str:
        return "\n\n".join([*(f"{n}\n{c}" for n, c in self.items()), _as_text(self.tables)])

    def _repr_html_(self) -> str:
        sets = (f"<h3>{escape(name)}</h3>{c._repr_html_()}" for name, c in self.items())
        return "".join([*sets, tables_html(self.tables)])


def compared_study(
    made: StudyRun, choice: ScoringChoice, keys: Keys
) -> ComparedRuns | ComparedSets:
    """The systems of a study, those that have not ended as far as they are. Scores are saved."""
    _warn_of_stop(made.folder.path, made.state, "branchwise.ablate, called again,")
    asked, record = choice if choice.asks else None, made.folder.record
    by_set: dict[str, list[tuple[str, ScoredAnswers]]] = {}
    for name, path, of in made.folder.by_set():
        settings = ScoringSettings(asked, prices_of(path), keys=keys)
        by_set.setdefault(of, []).append((name, score_answers(path, settings)))
    compared = {}
    for of, scored in by_set.items():
        records = [each for each in record.systems if of in ("", each.set)]
        compared[of] = ComparedRuns(report_of_runs(scored, of or record.name, records))
    return compared[""] if "" in compared else ComparedSets(compared)


def _warn_of_stop(path: Path, state: RunState, how: str) -> None:
    """Warn of what stopped by itself: nothing else tells a script."""
    if state.stopped and state.stopped != INTERRUPTED:
        warn(f"{path} stopped: {state.stopped}; nothing is lost, {how} goes on", StoppedWarning)


def _frame(rows: Sequence[Mapping[str, Any]]) -> "DataFrame":
    require("notebook", "a data frame")
    from pandas import DataFrame

    return DataFrame(list(rows))


def _as_text(tables: Sequence[Table]) -> str:
    from rich.console import Console

    written = StringIO()
    screen = Console(file=written, width=WIDTH, color_system=None, emoji=False, force_jupyter=False)
    for table in tables:
        for part in drawn(table):
            screen.print(part)
    return "\n".join(line.rstrip() for line in written.getvalue().strip("\n").split("\n"))
