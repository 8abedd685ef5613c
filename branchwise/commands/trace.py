"""`branchwise trace`: what an agent did with a question, step by step."""

import sys
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.base.text import printable
from branchwise.commands.options import Key, read_keys
from branchwise.eval.selection import MAX_EPOCHS
from branchwise.report.terminal.cells import run_name
from branchwise.report.terminal.console import console, error_console, output
from branchwise.runs.store import DamagedError
from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.traces.lines import named_row
from branchwise.ui.traces.plain import item_lines, question_list, step_lines, unlabelled
from branchwise.ui.traces.runs import RunView, open_runs

_MANY = 200
"""Items without stored errors: more than this take seconds."""


def trace(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders, or a study's folder.")
    ],
    question: Annotated[str | None, typer.Option(help="Id of a question to open.")] = None,
    epoch: Annotated[
        int | None,
        typer.Option(
            help="Epoch of the question, from 0.", min=0, max=MAX_EPOCHS, show_default="0"
        ),
    ] = None,
    step: Annotated[int | None, typer.Option(help="Open at this step.", min=0)] = None,
    passages: Annotated[
        int, typer.Option(help="Passages, matches or rows to print per step.", min=0)
    ] = 5,
    printed: Annotated[
        bool,
        typer.Option(
            "--print",
            help="Print plain text: the questions, a --question's steps, or one --step in full.",
        ),
    ] = False,
    key: Key = None,
    live: Annotated[
        bool, typer.Option("--live", help="Follow runs that are being written.")
    ] = False,
) -> None:
    """Look at runs: their questions, and each step of the agent. Without a terminal, plain text is
    printed.

    Example: branchwise trace runs/base --question q1 --step 4
    """
    if step is not None and question is None:
        raise InputError("--step needs a question", remedy="name it with --question")
    interactive = not printed and sys.stdin.isatty() and output().isatty()
    if live and not interactive:
        raise InputError(
            "--live needs the app in a terminal", remedy="leave it out, or leave out --print"
        )
    keys = read_keys(key)
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(run)) for run in open_runs(paths)]
        if interactive:
            start = None
            if question is not None:
                # Refused here, before the screen is taken.
                named_row(runs[0], question, epoch or 0)
                start = OpenQuestion(question, epoch or 0, step)
            TraceApp(runs, live=live, start=start, keys=keys).run()
        else:
            _print(runs, question, epoch, step, passages)


def _print(
    runs: list[RunView], question: str | None, epoch: int | None, step: int | None, passages: int
) -> None:
    """Print the same of each run in turn; one that lacks it says so, unless all lack it."""
    missing = []
    for index, run in enumerate(runs):
        if len(runs) > 1:
            _lines([*([""] if index else []), f"== {run_name(run.name)}"])
        try:
            _lines(_text(run, question, epoch, step, passages))
        except InputError as error:
            missing.append(error)
            if len(missing) == len(runs):
                raise
            _lines([str(error)])
    for run in runs:
        if run.is_damaged:
            raise DamagedError(run.path, "what could be read is shown above")


def _text(
    run: RunView, question: str | None, epoch: int | None, step: int | None, passages: int
) -> Iterable[str]:
    if question is None:
        if (waiting := unlabelled(run)) > _MANY:
            work = f"working out the errors of {waiting:,} items"
            line = f"{run_name(run.name)}: {work}, which `branchwise score` would keep"
            error_console().print(line, markup=False, soft_wrap=True)
        return question_list(run, epoch)
    row = named_row(run, question, epoch or 0)
    if step is None:
        return item_lines(run, row, passages=passages)
    return step_lines(run, row, step)


def _lines(lines: Iterable[str]) -> None:
    screen = console()
    for line in lines:
        screen.print(printable(line), markup=False, soft_wrap=not screen.is_terminal)
