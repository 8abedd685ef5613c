"""`branchwise fork`: run the rest of an item again from a step of its trace, with a change."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from branchwise.agents.restraints import Restraints
from branchwise.base.numbers import number
from branchwise.base.text import printable
from branchwise.commands.declared_options import with_options
from branchwise.commands.options import Key, read_keys, read_tools
from branchwise.commands.running import allow_open_files
from branchwise.commands.score import exit_if_in_vain, score_and_save
from branchwise.eval.selection import MAX_EPOCHS
from branchwise.report.terminal.console import console, error_console, output
from branchwise.report.terminal.progress import RunProgress
from branchwise.report.terminal.step_text import branch_lines
from branchwise.runs.forks import Changes, make_fork, read_edit, run_fork
from branchwise.runs.options import PatienceOptions
from branchwise.runs.scoring.score import ScoringSettings
from branchwise.trace.events import AnswerRead
from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.traces.lines import named
from branchwise.ui.traces.runs import RunView


@with_options
def fork(
    *,
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder; it is only read.")],
    question: Annotated[str, typer.Option(help="Id of a question that has ended.")],
    step: Annotated[
        int, typer.Option(help="Step to repeat, as numbered by `branchwise trace`.", min=0)
    ],
    epoch: Annotated[
        int, typer.Option(help="Epoch of the question, from 0.", min=0, max=MAX_EPOCHS)
    ] = 0,
    model: Annotated[str | None, typer.Option(help="Use another model from this step on.")] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(help="Use these tools, or none, from this step on; repeatable."),
    ] = None,
    edit: Annotated[
        Path | None,
        typer.Option(help="File with a text that replaces the step's; the step is not repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder to make. Default: beside RUN.")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Where the run's corpus is now, if it has moved.")
    ] = None,
    kg: Annotated[
        str | None, typer.Option(help="Where the run's graph is now, if it has moved.")
    ] = None,
    key: Key = None,
    patience: PatienceOptions,
    printed: Annotated[
        bool, typer.Option("--print", help="Print the comparison, even on a terminal.")
    ] = False,
) -> None:
    """Run the rest of a question again from a step, with another model, other tools, or an edited
    text, into a new run; then show both traces side by side.

    Example: branchwise fork runs/base --question q1 --step 4 --model openai:gpt-6-luna
    """
    tools = read_tools(tool) if tool else None
    changes = Changes(model, tools, read_edit(edit) if edit else None)
    keys = read_keys(key)
    made = make_fork(
        path, question, step, changes, epoch=epoch, out=out, corpus=corpus, kg=kg, keys=keys
    )
    failed = _run(made, patience)
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(RunView.open(run))) for run in (path, made)]
        if not printed and sys.stdin.isatty() and output().isatty():
            TraceApp(runs, start=OpenQuestion(question, epoch, compare=True), keys=keys).run()
        else:
            _print(runs, question, epoch)
    sys.exit(int(failed))


def _run(path: Path, patience: PatienceOptions) -> bool:
    """Run the rest and score it; returns whether the item failed. Exits with 1 if it stopped."""
    allow_open_files(1, several=True)
    restraints = Restraints(outages=patience.outages)
    with RunProgress(1, outages=restraints.outages) as progress:
        state = run_fork(path, observer=progress, restraints=restraints).state
    if state.stopped:
        again = f"branchwise resume {shlex.quote(str(_from_here(path)))}"
        text = f"Stopped: {state.stopped}. Nothing is lost; continue with:\n  {again}"
        error_console().print(text, markup=False, soft_wrap=True)
        sys.exit(1)
    scored = score_and_save(path, ScoringSettings())
    exit_if_in_vain(scored.settled, scored.scores)
    return state.failed > 0


def _print(runs: list[RunView], question: str, epoch: int) -> None:
    screen = console()
    for line in _comparison(runs, question, epoch):
        screen.print(printable(line), markup=False, soft_wrap=not screen.is_terminal)


def _comparison(runs: list[RunView], question: str, epoch: int) -> Iterator[str]:
    for run in runs:
        row = run.find(question, epoch)
        assert row is not None
        line, trace = run.line(row), run.trace(row)
        scores = [f"{head} {number(value)}" for head, value in named(run.heads, line.scores)]
        yield f"{run.name}: {line.status}, {', '.join(scores)}"
        if line.error:
            yield f"  {line.error}"
        bodies = [event.body for event in trace.events]
        ends = [body for body in bodies if isinstance(body, AnswerRead)]
        yield from branch_lines(ends[-1].prediction.branches if ends else {})
    paths = " ".join(shlex.quote(str(_from_here(run.path))) for run in runs)
    yield f"Look: branchwise trace {paths} --question {shlex.quote(question)}"


def _from_here(path: Path) -> Path:
    """The path as a user would type it: relative if it is below the working directory."""
    whole, here = path.resolve(), Path.cwd().resolve()
    return whole.relative_to(here) if whole.is_relative_to(here) else path
