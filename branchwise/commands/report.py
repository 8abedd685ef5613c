"""`branchwise report`: one table for one run or several, or a page that shows all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError, did_you_mean
from branchwise.commands.declared_options import with_options
from branchwise.commands.options import Full
from branchwise.commands.published import (
    PublishedOption,
    check_published,
    chosen_published,
    printed_published,
    say_published,
)
from branchwise.commands.report_files import (
    PRINTED,
    CsvFolder,
    Exports,
    FigureFolder,
    HtmlFile,
    IntervalPlace,
    LatexFile,
    MarkdownFile,
    MetricNames,
    Subsets,
    TableNames,
    TableWidth,
)
from branchwise.commands.report_runs import (
    BaseOption,
    NamedRuns,
    SystemNames,
    named_runs,
    warn_if_pending,
)
from branchwise.commands.score import announcing, print_sets, say, say_next
from branchwise.eval.breakdowns import check_grouping, groupings_of
from branchwise.eval.grouping import META
from branchwise.eval.scores import SUBSETS, MetricFailures
from branchwise.report.figures.errors import error_counts
from branchwise.report.html.page import render_html, render_reports
from branchwise.report.joined import JoinedReport
from branchwise.report.published import Published
from branchwise.report.run_folders import report_of_runs, reports_of_tasks, systems_by_set
from branchwise.report.study_report import StudyReport, SystemReport, compare_with_bases
from branchwise.report.table import Table
from branchwise.report.tables.joined import joined_tables
from branchwise.report.tables.protocols import BY_CONDITIONS
from branchwise.report.terminal.console import (
    echo,
    error_console,
    print_json,
    progress_console,
)
from branchwise.report.terminal.progress import ScoringProgress
from branchwise.runs.costs.prices import prices_of
from branchwise.runs.options import PriceOptions, ScoreOptions
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.studies.names import distinct_names

Folders = Annotated[
    list[Path], typer.Argument(metavar="DIR...", help="Run folders, or a study's folder.")
]
AggregatesAsJson = Annotated[
    bool, typer.Option("--json", help="Print the aggregates as JSON, one entry per run.")
]
Groupings = Annotated[
    list[str] | None,
    typer.Option(
        help="Break down by branches, steps, operations, domain, answers, calls, "
        "tokens or conditions; conditional answers by type, documents, domain or relations; "
        "all by meta.KEY; comma-separated. With tests between systems."
    ),
]


@with_options
def report(
    *,
    paths: Folders,
    base: BaseOption = None,
    systems: SystemNames = None,
    by: Groupings = None,
    scoring: ScoreOptions,
    price: PriceOptions,
    published: PublishedOption = None,
    html: HtmlFile = None,
    markdown: MarkdownFile = None,
    latex: LatexFile = None,
    csv: CsvFolder = None,
    figures: FigureFolder = None,
    tables: TableNames = None,
    subset: Subsets = None,
    only_metrics: MetricNames = None,
    width: TableWidth = "page",
    intervals: IntervalPlace = "below",
    full: Full = False,
    json_output: AggregatesAsJson = False,
) -> None:
    """Show the scores of one run, or of several side by side; sends no request and changes nothing.

    The first run is the base that the others are compared with; a study knows its own.

    Example: branchwise report runs/base runs/expanded --html report.html
    """
    check_published(published)
    named, subsets, columns = map(_names, (tables, subset, only_metrics))
    exports = Exports(markdown, latex, csv, figures, named, subsets, columns, width, intervals)
    exports.check()
    groupings = (*_names(by),)
    for name in groupings:
        if name != BY_CONDITIONS:
            check_grouping(name)
    chosen_runs, own = named_runs(paths, base, systems or ()), scoring.metrics
    priced = price.priced if price.prices else None
    settings = ScoringSettings(scoring.chosen, priced, asks=False, saves=False, metrics=own)
    runs = [(run.name, _read(run.path, settings)) for run in chosen_runs.runs]
    systems_of = _systems(runs, chosen_runs)
    _warn_if_not_comparable(systems_of)
    say(MetricFailures(run.scores for _, run in runs).lines)
    _check_breakdowns(groupings, runs)
    beside = chosen_published(published, runs)
    if html is not None or exports.wanted:
        broken_down = tuple(name for name in groupings if name != BY_CONDITIONS)
        made = _reports(runs, chosen_runs, published, beside)
        reports = [replace(shown, by=broken_down) for shown in made]
        exports.write(reports, together := joined_tables(JoinedReport.of(systems_of)))
        if html is not None:
            _write_html(reports, html, together)
    if json_output:
        print_aggregates(systems_of)
    elif html is None and not exports.wanted:
        printed = printed_published(published, beside, runs, full=full)
        print_sets(systems_of, groupings, full=full, published=printed)
        if beside and not printed and not full:
            say_published(beside)
        if not full and len(paths) == 1:
            say_next(chosen_runs.runs[0].path, paths[0])


def _names(given: Sequence[str] | None) -> list[str]:
    """What an option names that may be repeated, or name several with commas, each once."""
    return [*dict.fromkeys(name for names in given or () for name in names.split(",") if name)]


def _reports(
    runs: Sequence[tuple[str, ScoredAnswers]],
    named: NamedRuns,
    published: str | None,
    beside: Published | None,
) -> list[StudyReport]:
    if len(sets := dict.fromkeys(run.set for run in named.runs)) > 1:
        reports = []
        for name in sets:
            own_runs = [each for each, of in zip(runs, named.runs, strict=True) if of.set == name]
            records = [record for record in named.records if record.set == name]
            reports.append(report_of_runs(own_runs, name or None, records))
        return reports if published is None else [replace(r, published=beside) for r in reports]
    if len({run.scores.scorer.task for _, run in runs}) == 1:
        return [replace(report_of_runs(runs, named.title, named.records), published=beside)]
    reports = reports_of_tasks(runs, named.records)
    return reports if published is None else [replace(of, published=beside) for of in reports]


def _check_breakdowns(groupings: Sequence[str], runs: Sequence[tuple[str, ScoredAnswers]]) -> None:
    if BY_CONDITIONS in groupings:
        if not any(run.scores.scorer.scored_task.is_graded for _, run in runs):
            problem = "only answers in free text are broken down by conditions"
            raise InputError(problem, remedy="--by branches says the same of others")
        groupings = [name for name in groupings if name != BY_CONDITIONS]
    tasks = {run.scores.scorer.task: run.scores.scorer.scored_task for _, run in runs}
    known = [name for task in tasks.values() for name in groupings_of(task)]
    for name in groupings:
        if name.startswith(META):
            items = (item for _, run in runs for item in run.answered)
            keys = dict.fromkeys(f"{META}{key}" for item in items for key in item.question.meta)
            if name not in keys:
                remedy = did_you_mean(name, keys) if keys else "the questions have no meta"
                raise InputError(f"no question has {name[:80]!r}", where="--by", remedy=remedy)
            continue
        if not known:
            problem = f"the task {', '.join(tasks)} has no breakdowns"
            raise InputError(problem, remedy="leave out --by")
        if name not in known:
            problem = f"the task {', '.join(tasks)} is not broken down by {name}"
            raise InputError(problem, remedy=f"it is by {', '.join(dict.fromkeys(known))}")


def _systems(
    runs: Sequence[tuple[str, ScoredAnswers]], named: NamedRuns
) -> dict[str, list[SystemReport]]:
    names = [run.name for run in named.runs]
    if not any(run.set for run in named.runs):
        names = distinct_names(names)
    chosen = (of._replace(name=name) for of, name in zip(named.runs, names, strict=True))
    return systems_by_set([*zip(chosen, (run for _, run in runs), strict=True)], named.records)


def print_aggregates(by_set: Mapping[str, Sequence[SystemReport]]) -> None:
    """Print the aggregates of scored runs and their changes, one entry per run; the effects of a
    factorial study stand with the system that changes nothing. Of several sets also one entry per
    system, of all sets together."""
    summaries: list[dict[str, object]] = []
    for set_name, systems in by_set.items():
        same_task = len({system.scores.scorer.task for system in systems}) == 1
        compared = compare_with_bases(systems) if same_task else {}
        effects = StudyReport.beside(systems).effects if same_task else ()
        several = len({system.base for system in systems}) > 1
        for system in systems:
            name = system.name
            of = {"model": system.model, "setting": system.setting, "base": system.base}
            change = compared[name].to_json() if name in compared else None
            about = {"name": name, **({"set": set_name} if set_name else {})}
            about |= {**(of if several else {}), "path": str(system.run.path)}
            own = [] if system.levels else [e for e in effects if e.group in ("", system.model)]
            told = {"effects": [effect.to_json() for effect in own]} if own else {}
            summaries.append({**about, **_summary(system.run), "comparison": change, **told})
    print_json([*summaries, *JoinedReport.of(by_set).to_json()])


def _write_html(reports: Sequence[StudyReport], path: Path, together: Sequence[Table]) -> None:
    title = ", ".join(report.title for report in reports)
    if len(reports) == 1:
        page = render_html(reports[0])
    else:
        page = render_reports(reports, title, together)
    if path == PRINTED:
        echo(page, newline=False)
        return
    write_named(path, page.encode())
    progress_console().print(f"{path}: written; open it in a browser", markup=False, soft_wrap=True)


def _read(path: Path, settings: ScoringSettings) -> ScoredAnswers:
    warn_if_pending(path)
    priced = settings.prices or prices_of(path)
    with ScoringProgress() as progress:
        shown = replace(settings, passage_progress=progress.passages)
        return score_answers(path, replace(shown, prices=priced, announce=announcing(priced)))


def _warn_if_not_comparable(by_set: Mapping[str, Sequence[SystemReport]]) -> None:
    asked: dict[tuple[str, str], set[frozenset[str]]] = {}
    for system in (system for systems in by_set.values() for system in systems):
        ids = frozenset(item.id for item in system.scores.items)
        asked.setdefault((system.set, system.scores.scorer.task), set()).add(ids)
    if any(len(different) > 1 for different in asked.values()):
        text = "The runs do not hold the same questions: their means are not comparable."
        error_console().print(text, soft_wrap=True)


def _summary(run: ScoredAnswers) -> dict[str, object]:
    """Without the fields that have an entry per item; with the items of each class of error."""
    document = run.to_json()
    if classes := run.error_classes:
        counts = {subset: error_counts(run, subset) for subset in SUBSETS}
        document["error_classes"] = {name: count.to_json(classes) for name, count in counts.items()}
    document.pop("items")
    for scores in filter(None, (document["lexical"], document["analysis"])):
        scores.pop("items")
    if document["analysis"]:
        document["analysis"]["ceilings"].pop("items")
    return document
