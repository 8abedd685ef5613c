"""`branchwise merge`: put the shards of a run or a study together."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.commands.options import AsJson
from branchwise.commands.shards import missing_lines
from branchwise.corpora.text import counted

if TYPE_CHECKING:
    from branchwise.eval.studies.merging import MergedFolder


def merge(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Shards of one run, or of one study; only read."),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder to make, or one to which more shards are added.")
    ],
    json_output: AsJson = False,
) -> None:
    """Put shards together into one ordinary run or study, as if one process had made it.

    Merging again changes nothing, and adds what has ended since. What is missing is listed with the
    command that runs it; exits with 1 then.

    Example: branchwise merge S/1 S/2 S/3 S/4 --out S/whole
    """
    from branchwise.corpora.text import printable
    from branchwise.eval.studies.merging import merge_folders
    from branchwise.ui.console import console, printable_json

    merged = merge_folders(paths, out)
    if json_output:
        typer.echo(printable_json(merged.to_json()))
    else:
        for line in _lines(merged):
            console().print(printable(line), markup=False, soft_wrap=True)
    sys.exit(int(merged.ended < merged.items))


def _lines(merged: "MergedFolder") -> Iterator[str]:
    whole = shlex.quote(str(merged.path))
    yield f"{merged.path}: {merged.ended} of {counted(merged.items, 'item')} have ended"
    if merged.twice:
        items = counted(merged.twice, "item")
        yield f"  {items} ended in two folders: the first answer stays, the other was paid, too"
    if merged.ended == merged.items:
        yield "Next:"
        yield f"  branchwise report {whole}"
        return
    yield "Missing:"
    yield from missing_lines(merged)
    rest = f"ablate STUDY.yaml --out {whole}" if merged.is_study else f"resume {whole}"
    yield "Merge again when they have ended, or run all that is missing here:"
    yield f"  branchwise {rest}"
