"""`branchwise merge`: join runs of one system over different questions."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from branchwise import api
from branchwise.base.text import counted, printable
from branchwise.report.terminal.console import console


def merge(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs of one system over different questions."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
) -> None:
    """Join runs, such as those of `run --shard I/N`, into one new run; they are only read.

    Example: branchwise merge S1 S2 S3 S4 --out S
    """
    state = api.merge(paths, out).state
    lines = (
        f"{out}: {state.done + state.failed} of {counted(state.total, 'item')} have ended",
        "Next:",
        f"  branchwise {'resume' if state.pending else 'report'} {shlex.quote(str(out))}",
    )
    for line in lines:
        console().print(printable(line), markup=False, soft_wrap=True)
