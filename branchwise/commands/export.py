"""`branchwise export`: a run as JSON lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.atomic import new_file
from branchwise.base.errors import InputError
from branchwise.base.text import counted
from branchwise.commands.question_files import check_place
from branchwise.report.terminal.console import echo, harmless_json, output
from branchwise.runs.export import export_lines
from branchwise.runs.store import open_run


def export(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write. Default: standard output.")
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Include every step of the traces.")
    ] = False,
) -> None:
    """Write one JSON line per item: question, gold, prediction, evidence, error, usage.

    The lines hold "id" and "answers", so `branchwise score --predictions` reads them back.

    Example: branchwise export runs/first --out items.jsonl
    """
    if out is not None:
        check_place(out)
    reader = open_run(path)
    try:
        reader.check_file()
        lines = export_lines(reader, with_events=events)
        if out is None:
            for line in lines:
                output().buffer.write(harmless_json(line.decode()).encode())
            # Here, because a full disk could no longer be reported at the very end.
            output().buffer.flush()
            return
        _write(out, lines)
        echo(f"{out}: {counted(reader.progress()['total'], 'item')}")
    finally:
        reader.close()


def _write(out: Path, lines: Iterator[bytes]) -> None:
    try:
        with new_file(out) as file:
            file.writelines(lines)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", where=str(out), remedy="choose another --out"
        ) from error
