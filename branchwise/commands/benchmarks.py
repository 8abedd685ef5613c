"""`branchwise benchmarks`: what can be run, where it comes from, and what a run costs."""

from collections.abc import Iterator

import typer

from branchwise.commands.options import AsJson
from branchwise.report.published import Published, benchmarks, published
from branchwise.report.terminal.console import console, print_json

benchmarks_app = typer.Typer(no_args_is_help=True, add_completion=False)
_WORDS = {
    "asks": "asks for",
    "tasks": "task",
    "sizes": "sizes",
    "source": "source",
    "licence": "licence",
    "get": "get it",
    "cost": "a run",
    "page": "more",
}
"""What each fact is called, in the order of reading."""


@benchmarks_app.callback()
def options() -> None:
    """Say what can be run."""


@benchmarks_app.command("list")
def list_benchmarks(json_output: AsJson = False) -> None:
    """List the benchmarks: task, sizes, source, licence, how to get one, the cost of a run.

    Example: branchwise benchmarks list --json
    """
    known = [published(name) for name in benchmarks()]
    if json_output:
        print_json([_record(one) for one in known])
        return
    screen = console()
    for one in known:
        screen.print(_heading(one), style="bold", markup=False, soft_wrap=not screen.is_terminal)
        for line in _lines(one, screen.width if screen.is_terminal else None):
            screen.print(line, markup=False, soft_wrap=True)
        screen.print()


def _record(one: Published) -> dict[str, object]:
    facts = one.about.model_dump(mode="json")
    return {"name": one.benchmark, "paper": one.paper, **facts}


def _heading(one: Published) -> str:
    return f"{one.benchmark}: {one.about.title} ({one.paper})"


def _lines(one: Published, width: int | None) -> "Iterator[str]":
    """A fact a line, continued below itself where the terminal ends."""
    from textwrap import wrap

    for key, words in _WORDS.items():
        value = getattr(one.about, key)
        text = ", ".join(value) if isinstance(value, tuple) else value
        first, *more = wrap(text, max(20, width - 12)) if width else [text]
        yield f"  {words:<9} {first}"
        yield from (f"{'':<12}{line}" for line in more)
