"""The files that `branchwise report` writes: tables and figures of the runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from branchwise.eval.reporting.study_report import StudyReport
    from branchwise.eval.reporting.tables import Table

    _Made = tuple[StudyReport, Sequence[Table]]

FILES = "Files"
PRINTED = Path("-")

MarkdownFile = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        metavar="FILE",
        help="Write the tables as Markdown; - prints them.",
        rich_help_panel=FILES,
    ),
]
LatexFile = Annotated[
    Path | None,
    typer.Option(
        "--latex",
        metavar="FILE",
        help="Write the tables for LaTeX with booktabs; - prints them.",
        rich_help_panel=FILES,
    ),
]
CsvFolder = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        metavar="DIR",
        help="Write every table as a CSV file, with all digits.",
        rich_help_panel=FILES,
    ),
]
FigureFolder = Annotated[
    Path | None,
    typer.Option(
        "--figures",
        metavar="DIR",
        help="Draw the figures as SVG files for papers.",
        rich_help_panel=FILES,
    ),
]


@dataclass(frozen=True)
class Exports:
    """Which files to write, and where."""

    markdown: Path | None = None
    latex: Path | None = None
    csv: Path | None = None
    figures: Path | None = None

    @property
    def wanted(self) -> bool:
        """Whether any file is requested."""
        return any(vars(self).values())

    def write(self, reports: "Sequence[StudyReport]") -> None:
        """Write the files, and list them on standard error.

        Of several reports each has a part of the texts and a folder of its own. Everything is made
        before anything is written. Raises InputError for a place that cannot be written.
        """
        from branchwise.eval.reporting.tables import report_tables
        from branchwise.ui.console import error_console

        needed = self.markdown or self.latex or self.csv
        made = [(one, report_tables(one) if needed else ()) for one in reports]
        texts, folders = list(self._texts(made)), list(self._folders(made))
        for path, text in texts:
            _write_text(path, text)
        for folder, files in folders:
            write_folder(folder, files)
        written = [str(path) for path, _ in texts if path != PRINTED]
        written += [f"{folder}: {', '.join(files)}" for folder, files in folders]
        for line in written:
            error_console().print(f"written: {line}", markup=False, soft_wrap=True)

    def _texts(self, made: "Sequence[_Made]") -> Iterator[tuple[Path, str]]:
        if self.markdown:
            from branchwise.ui.exports.markdown import markdown

            yield self.markdown, "\n".join(markdown(*one) for one in made)
        if self.latex:
            from branchwise.ui.exports.latex import latex

            yield self.latex, latex(_told_apart(made))

    def _folders(self, made: "Sequence[_Made]") -> Iterator[tuple[Path, Mapping[str, bytes]]]:
        from branchwise.eval.studies.names import slugs

        names = slugs([one.title for one, _ in made]) if len(made) > 1 else [""]
        for (report, tables), own in zip(made, names, strict=True):
            if self.csv:
                from branchwise.ui.exports.csv_files import csv_files

                yield self.csv / own, csv_files(tables)
            if self.figures:
                from branchwise.ui.figures.files import figure_files

                yield self.figures / own, figure_files(report)


def _told_apart(made: "Sequence[_Made]") -> "list[Table]":
    """The tables of all reports; of several their names and titles begin with the report's."""
    from branchwise.eval.studies.names import slugs

    if len(made) == 1:
        return list(made[0][1])
    names = slugs([one.title for one, _ in made])
    return [
        replace(table, name=f"{name}-{table.name}", title=f"{one.title}: {table.title}")
        for (one, tables), name in zip(made, names, strict=True)
        for table in tables
    ]


def _write_text(path: Path, text: str) -> None:
    from branchwise.corpora.atomic import write_named

    if path == PRINTED:
        typer.echo(text, nl=False)
    else:
        write_named(path, text.encode())


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, which is made. Raises InputError if it cannot be."""
    from branchwise.corpora.atomic import write_named
    from branchwise.corpora.errors import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "is a file" if folder.is_file() else f"cannot be made ({error.strerror})"
        raise InputError(why, where=str(folder), remedy="name a folder") from None
    for name, data in files.items():
        write_named(folder / name, data)
