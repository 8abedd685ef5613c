"""`branchwise merge`: join runs of one system over different questions."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from branchwise.corpora.text import counted


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
    from branchwise import api
    from branchwise.corpora.text import printable
    from branchwise.ui.console import console

    state = api.merge(paths, out).state
    ended, items = state.done + state.failed, counted(state.total, "item")
    follows = "resume" if state.pending else "report"
    console().print(
        printable(f"{out}: {ended} of {items} have ended"), markup=False, soft_wrap=True
    )
    console().print(
        f"Next:\n  branchwise {follows} {printable(shlex.quote(str(out)))}",
        markup=False,
        soft_wrap=True,
    )
