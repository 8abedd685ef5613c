"""The files that `branchwise report` writes: tables and figures of the runs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError, did_you_mean
from branchwise.eval.bootstrap import Intervals
from branchwise.report.exports import csv_files, markdown, markdown_section
from branchwise.report.figures.files import figure_files
from branchwise.report.latex import LatexLook, latex, latex_files, read_width
from branchwise.report.study_report import StudyReport
from branchwise.report.table import Table
from branchwise.report.tables import report_tables
from branchwise.report.terminal.console import echo, progress_console
from branchwise.report.terminal.progress import ProgressBar
from branchwise.runs.studies.names import slugs

_Made = tuple[StudyReport, Sequence[Table]]
FILES = "Files"
PRINTED = Path("-")


def _option(flag: str, metavar: str | None, help: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=help, rich_help_panel=FILES)


MarkdownFile = Annotated[
    Path | None, _option("--markdown", "FILE", "Write the tables as Markdown; - prints them.")
]
LatexFile = Annotated[
    Path | None,
    _option(
        "--latex",
        "DIR|FILE.tex",
        "Write the tables for LaTeX with booktabs, a file each; into one FILE.tex; - prints.",
    ),
]
TableNames = Annotated[
    list[str] | None,
    _option(
        "--tables",
        "NAME,...",
        "Write only these tables and their figures, by the names of CSV files: results,changes.",
    ),
]
Subsets = Annotated[
    list[str] | None,
    _option("--subset", "NAME,...", "Write rows of these questions alone: all,ambiguous."),
]
MetricNames = Annotated[
    list[str] | None,
    _option(
        "--metrics",
        "NAME,...",
        "Write only these metrics, by the columns of the CSV files: strict_recall,strict_em.",
    ),
]
TableWidth = Annotated[
    str,
    _option(
        "--width",
        "column|page|LENGTH",
        "What LaTeX tables fit into: a column of a two-column paper, a page, or 8.5cm.",
    ),
]
IntervalPlace = Annotated[
    Intervals, _option("--intervals", None, "Where LaTeX tables have the intervals of means.")
]
CsvFolder = Annotated[
    Path | None, _option("--csv", "DIR", "Write every table as a CSV file, with all digits.")
]
FigureFolder = Annotated[
    Path | None, _option("--figures", "DIR", "Draw the figures for papers: SVG, PDF and PNG files.")
]
HtmlFile = Annotated[
    Path | None,
    _option(
        "--html",
        "FILE",
        "Write everything into one HTML file; the first run is the base; - prints it.",
    ),
]


@dataclass(frozen=True)
class Exports:
    """Which files to write; `latex`: a file where it ends in .tex or is -, else a folder. Of all
    tables, and figures of tables, those of these names, and in them these metrics and (in tables)
    subsets; all where none are named."""

    markdown: Path | None = None
    latex: Path | None = None
    csv: Path | None = None
    figures: Path | None = None
    tables: Collection[str] = ()
    subsets: Collection[str] = ()
    metrics: Collection[str] = ()
    width: str = "page"
    intervals: Intervals = "below"

    @property
    def wanted(self) -> bool:
        return any((self.markdown, self.latex, self.csv, self.figures))

    def check(self) -> None:
        """Raise InputError for what can be refused before anything is read."""
        read_width(self.width)
        options = {"--tables": self.tables, "--subset": self.subsets, "--metrics": self.metrics}
        for option, names in options.items():
            drawn = None if option == "--subset" else self.figures
            if names and not (self.markdown or self.latex or self.csv or drawn):
                problem = f"{option} chooses of the tables of files, and none is asked for"
                raise InputError(problem, remedy="add --latex, --csv or --markdown")

    def write(self, reports: Sequence[StudyReport], together: Sequence[Table] = ()) -> None:
        """Write the files, made before any is written; each report of several in its folder, and
        beside these the tables of all `together`."""
        needed = self.markdown or self.latex or self.csv or self.tables
        pairs = ((report, report_tables(report) if needed else ()) for report in reports)
        made, shown = self._chosen([*pairs], together)
        texts, folders = list(self._texts(made, shown)), list(self._folders(made, shown))
        for path, text in texts:
            if path == PRINTED:
                echo(text, newline=False)
            else:
                write_named(path, text.encode())
        for folder, files in folders:
            write_folder(folder, files)
        written = [str(path) for path, _ in texts if path != PRINTED]
        written += [f"{folder}: {', '.join(files)}" for folder, files in folders]
        for line in written:
            progress_console().print(f"written: {line}", markup=False, soft_wrap=True)

    def _chosen(
        self, made: Sequence[_Made], together: Sequence[Table]
    ) -> tuple[list[_Made], Sequence[Table]]:
        """Raises InputError for a name that no table of the reports has."""
        every = [*together, *(table for _, tables in made for table in tables)]
        titles = {c.key: c.title for report, _ in made for c in report.columns}
        subsets = (table.subsets for table in every)
        _check_known("table", "--tables", self.tables, [table.name for table in every])
        _check_known("subset", "--subset", self.subsets, [*chain.from_iterable(subsets)])
        _check_known("metric", "--metrics", self.metrics, titles)

        def chosen(tables: Sequence[Table]) -> list[Table]:
            if self.tables:
                by_name = {table.name: replace(table, printed=True) for table in tables}
                tables = [by_name[name] for name in self.tables if name in by_name]
            narrowed = (table.narrowed(self.subsets, self.metrics, titles) for table in tables)
            return [table for table in narrowed if table.rows and table.says_anything]

        narrowed: list[_Made] = [(report, chosen(tables)) for report, tables in made]
        shown = chosen(together)
        left = {table.name for tables in (shown, *(own for _, own in narrowed)) for table in tables}
        for name in self.tables:
            if name not in left:
                keys = {c.key: t.name for t in every for c in t.columns if c.key in self.metrics}
                also = f"; {', '.join(keys)} is in {', '.join({*keys.values()})}" if keys else ""
                problem = f"{name} holds nothing of the chosen metrics and questions"
                raise InputError(problem, where="--tables", remedy=f"leave it out{also}")
        return narrowed, shown

    def _texts(
        self, made: Sequence[_Made], together: Sequence[Table]
    ) -> Iterator[tuple[Path, str]]:
        if self.markdown:
            sections = map(markdown_section, together)
            yield self.markdown, "\n".join([*sections, *(markdown(*report) for report in made)])
        if self.latex and self._is_one_file:
            yield self.latex, latex([*together, *_distinct_tables(made)], self._look)

    def _folders(
        self, made: Sequence[_Made], together: Sequence[Table]
    ) -> Iterator[tuple[Path, Mapping[str, bytes]]]:
        if self.latex and not self._is_one_file:
            yield self.latex, latex_files([*together, *_distinct_tables(made)], self._look)
        if self.csv and together:
            yield self.csv, csv_files(together)
        names = slugs([report.title for report, _ in made]) if len(made) > 1 else [""]
        for (report, tables), own in zip(made, names, strict=True):
            if self.csv:
                yield self.csv / own, csv_files(tables)
            if self.figures:
                with ProgressBar("drawing", "figures") as progress:
                    files = figure_files(report, self.tables, self.metrics, progress)
                if not files:
                    problem = "the chosen tables and metrics have no figure"
                    raise InputError(problem, where="--figures", remedy="leave out one of them")
                yield self.figures / own, files

    @property
    def _is_one_file(self) -> bool:
        assert self.latex is not None
        return self.latex == PRINTED or self.latex.suffix == ".tex"

    @property
    def _look(self) -> LatexLook:
        return LatexLook(read_width(self.width), self.intervals)


def _distinct_tables(made: Sequence[_Made]) -> list[Table]:
    """The tables of all reports; of several their names and titles begin with the report's."""
    if len(made) == 1:
        return list(made[0][1])
    names = slugs([report.title for report, _ in made])
    return [
        replace(table, name=f"{name}-{table.name}", title=f"{report.title}: {table.title}")
        for (report, tables), name in zip(made, names, strict=True)
        for table in tables
    ]


def _check_known(what: str, option: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = dict.fromkeys(known)
    for name in names:
        if name not in known:
            remedy = did_you_mean(name, known)
            raise InputError(f"unknown {what} {name[:60]!r}", where=option, remedy=remedy)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, which is made. Raises InputError if it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "is a file" if folder.is_file() else f"cannot be made ({error.strerror})"
        raise InputError(why, where=str(folder), remedy="name a folder") from None
    for name, data in files.items():
        write_named(folder / name, data)
