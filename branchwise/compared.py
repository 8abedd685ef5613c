"""What `branchwise.compare` and `ablate` return: the differences of runs to a base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.frames import frame_of
from branchwise.base.keys import Keys
from branchwise.base.numbers import interval, p_value, signed
from branchwise.base.text import cut, printable
from branchwise.eval.comparison import Comparison, ScoreDifference
from branchwise.eval.plugin_metrics import Named
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.report.figures.drawing import FORMATS
from branchwise.report.figures.files import CAPTIONS, figure_files
from branchwise.report.joined import JoinedReport
from branchwise.report.latex import latex_files
from branchwise.report.run_folders import report_of_runs
from branchwise.report.study_report import StudyReport
from branchwise.report.table import Table
from branchwise.report.tables import report_tables
from branchwise.report.tables.changes import changes_table
from branchwise.report.tables.effects import effect_tables
from branchwise.report.tables.joined import joined_tables
from branchwise.report.tables.results import results_tables
from branchwise.results import WIDTH, as_text, warn_of_stop
from branchwise.runs.costs.prices import prices_of
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.names import distinct_names
from branchwise.runs.studies.running import StudyRun
from branchwise.ui.fragments import tables_html

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_RUNS = 8


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
        """A flat record for each run, metric and subset that has questions: the run's level of each
        factor of a study that it changes, then the difference."""
        systems = {system.name: system for system in self.report.systems}
        factors = dict.fromkeys(factor for system in systems.values() for factor in system.levels)
        return [
            {
                "run": name,
                "against": systems[name].base,
                **{factor: systems[name].levels.get(factor) for factor in factors},
                **vars(difference),
                "left_out": difference.left_out.total,
            }
            for name, compared in self.comparisons.items()
            for difference in compared.differences
            if difference.n
        ]

    def to_pandas(self) -> "DataFrame":
        """`rows` as a data frame. Raises InputError without pandas."""
        return frame_of(self.rows())

    @property
    def effects(self) -> "EffectsOfFactors":
        """Main effects and interactions; empty where no system combines changes."""
        return EffectsOfFactors(self.report)

    def figure(self, name: str) -> "ReportFigure":
        """A figure of the report: `changes`, `effects`, `losses`, ... Raises InputError for one
        that there is not."""
        files = self._figures
        names = dict.fromkeys(file.rpartition(".")[0] for file in files if file != CAPTIONS)
        if name not in names:
            raise InputError(f"no figure {name[:60]!r}", remedy=did_you_mean(name, names))
        return ReportFigure(name, {form: files[f"{name}.{form}"] for form in FORMATS})

    @cached_property
    def _figures(self) -> Mapping[str, bytes]:
        return figure_files(self.report)

    def latex(self, name: str) -> str:
        """A table of the report for LaTeX: `results`, `changes`, `effects`, ... Raises InputError
        for one that there is not."""
        files = latex_files(report_tables(self.report))
        if f"{name}.tex" not in files:
            names = [file.removesuffix(".tex") for file in files]
            raise InputError(f"no table {name[:60]!r}", remedy=did_you_mean(name, names))
        return files[f"{name}.tex"].decode()

    @cached_property
    def _tables(self) -> Sequence[Table]:
        keys = ["system", "subset", "n", *(metric.key for metric in self.report.compared)]
        results = results_tables(self.report)[0].with_columns(keys)
        return results, *effect_tables(self.report), changes_table(self.report)

    def __repr__(self) -> str:
        """The main metric's difference of each run, and what must be kept in mind of them."""
        metric = self.report.task.main.key
        lines = [f"{n}: {c.find(metric)}" for n, c in self.comparisons.items()]
        lines[_MOST_RUNS:] = [f"... and {len(lines) - _MOST_RUNS} more"] * (len(lines) > _MOST_RUNS)
        head = f"<Comparison with {self.report.base_words}>"
        told = (head, *self.effects.main_lines, *lines, *self.report.cautions)
        return "\n".join(cut(printable(line), WIDTH) for line in told)

    def __str__(self) -> str:
        return "\n".join([as_text(self._tables), *map(printable, self.report.cautions)])

    def _repr_html_(self) -> str:
        return tables_html(self._tables, [self.report.systems[0].name], words=self.report.cautions)


class EffectsOfFactors:
    """What each level of a factorial study changes, and what levels change together."""

    def __init__(self, report: StudyReport) -> None:
        self.report = report

    def rows(self) -> list[dict[str, Any]]:
        """A flat record for each effect, metric and subset."""
        return [
            {"effect": effect.name, **effect.to_json(), "order": len(effect.changes)}
            for effect in self.report.effects
        ]

    def to_pandas(self) -> "DataFrame":
        """`rows` as a data frame. Raises InputError without pandas."""
        return frame_of([{k: v for k, v in row.items() if k != "changes"} for row in self.rows()])

    @property
    def main_lines(self) -> list[str]:
        """A line for each level: its effect on the main metric over the first subset."""
        main, subset = self.report.task.main, self.report.subsets[0]
        lines = []
        for own in self.report.effects:
            if len(own.changes) == 1 and (own.metric, own.subset) == (main.key, subset):
                of = f"effect of {own.name}" + (f" with {own.group}" if own.group else "")
                if own.difference is None:
                    lines.append(f"{of} on {main.name}: nothing to compare")
                    continue
                ends = interval(own.low, own.high)
                p = "no test" if own.p_holm is None else f"{p_value(own.p_holm)} after Holm"
                lines.append(f"{of} on {main.name}: {signed(own.difference)} {ends} ({p})")
        return lines

    def __repr__(self) -> str:
        return "\n".join(self.main_lines) or "no effects: no system combines changes"

    def __str__(self) -> str:
        return as_text([*effect_tables(self.report)]) or repr(self)

    def _repr_html_(self) -> str:
        return tables_html([*effect_tables(self.report)]) if self.report.effects else repr(self)


@dataclass(frozen=True)
class ReportFigure:
    """A figure, shown in a notebook; `files`: its content as svg, pdf and png."""

    name: str
    files: Mapping[str, bytes] = field(repr=False)

    def save(self, path: Path | str) -> Path:
        """Write the file that the path's ending names. Raises InputError for another ending."""
        path = Path(path)
        if (form := path.suffix.removeprefix(".")) not in self.files:
            remedy = f"end it in .{', .'.join(self.files)}"
            raise InputError("is not a format of figures", where=str(path), remedy=remedy)
        write_bytes(path, self.files[form])
        return path

    def _repr_png_(self) -> bytes:
        return self.files["png"]


def compare_runs(
    paths: Sequence[Path], metrics: tuple[Named, ...], names: Sequence[str] = ()
) -> ComparedRuns:
    """Saved scores are read, others are made of names alone; nothing is asked, nothing written.

    Raises InputError where fewer than two are given, or they cannot be compared.
    """
    if len(paths) < 2:
        raise InputError("compare needs two runs", remedy="branchwise.compare(base, other)")
    names = names or distinct_names(path.resolve().name for path in paths)
    settings = ScoringSettings(asks=False, saves=False, metrics=metrics)
    scored = [score_answers(path, replace(settings, prices=prices_of(path))) for path in paths]
    return ComparedRuns(report_of_runs([*zip(names, scored, strict=True)]))


def compare_studies(paths: Sequence[Path], metrics: tuple[Named, ...]) -> "ComparedSets":
    """Runs over several sets, set by set. Raises InputError where they share none, or have several
    systems each."""
    runs = [dict(StudyFolder.open(path).runs()) for path in paths]
    names = distinct_names(path.resolve().name for path in paths)
    common = [name for name in runs[0] if all(name in own for own in runs)]
    if not common:
        remedy = "compare runs of them: branchwise.open_run(path).runs"
        raise InputError("these studies share no set", where=str(paths[0]), remedy=remedy)
    by_set = {name: [own[name] for own in runs] for name in common}
    return ComparedSets({n: compare_runs(own, metrics, names) for n, own in by_set.items()})


class ComparedSets(dict[str, ComparedRuns]):
    """By the set's name what the systems of a study change; `tables`: all its sets together."""

    def __init__(self, by_set: Mapping[str, ComparedRuns]) -> None:
        super().__init__(by_set)
        systems = {name: compared.report.systems for name, compared in by_set.items()}
        self.tables = joined_tables(JoinedReport.of(systems))

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {compared!r}" for name, compared in self.items())

    def __str__(self) -> str:
        return "\n\n".join([*(f"{n}\n{c}" for n, c in self.items()), as_text(self.tables)])

    def _repr_html_(self) -> str:
        sets = (f"<h3>{escape(name)}</h3>{c._repr_html_()}" for name, c in self.items())
        return "".join([*sets, tables_html(self.tables)])


def compared_study(
    made: StudyRun, choice: ScoringChoice, keys: Keys
) -> ComparedRuns | ComparedSets:
    """The systems of a study, those that have not ended as far as they are. Scores are saved."""
    warn_of_stop(made.folder.path, made.state, "branchwise.ablate, called again,")
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
