"""`branchwise trace`: what an agent did with a question, step by step."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from branchwise.eval.store import Event, ItemRow, RunReader


def trace(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")],
    question: Annotated[str, typer.Option(help="Id of the question.")],
    epoch: Annotated[int, typer.Option(help="Which of its epochs, from 0.", min=0)] = 0,
    step: Annotated[int | None, typer.Option(help="Only this step, in full.", min=0)] = None,
    passages: Annotated[
        int, typer.Option(help="Passages, matches or rows shown of a step.", min=0)
    ] = 5,
) -> None:
    """Show a question's trace as plain text, each step under its number, then gold.

    Example: branchwise trace runs/base --question q1 --step 4
    """
    from branchwise.eval.store import open_run

    reader = open_run(path)
    try:
        row = _item(path, reader, question, epoch)
        events = list(reader.events(row.item))
    finally:
        reader.close()
    if step is not None:
        _print(_whole(path, events, step))
        return
    _print(_steps(events, passages))
    _print(_gold(row))


def _item(path: Path, reader: "RunReader", question: str, epoch: int) -> "ItemRow":
    """The item, ended or not. Raises InputError where there is none, with ids that are like it."""
    import difflib

    from branchwise.corpora.errors import InputError

    rows = [row for row in reader.items() if row.epoch == epoch]
    found = next((row for row in rows if row.question.id == question), None)
    if found is not None:
        return found
    near = difflib.get_close_matches(question, [row.question.id for row in rows], n=3)
    first = ", ".join(row.question.id for row in rows[:3])
    hint = f"did you mean {' or '.join(near)}?" if near else f"the first ids are {first}"
    if not rows:
        hint = "epochs are counted from 0"
    raise InputError(
        f"no item has the id {question[:80]!r} in epoch {epoch}", where=str(path), remedy=hint
    )


def _steps(events: "list[Event]", passages: int) -> Iterator[str]:
    from branchwise.ui.steps import describe

    width = len(str(events[-1].seq)) if events else 1
    for event in events:
        first, *rest = describe(event.kind, event.data, passages=passages) or [event.kind]
        yield f"{event.seq:>{width}}  {first}"
        yield from (f"{'':>{width}}  {line}" for line in rest)


def _whole(path: Path, events: "list[Event]", step: int) -> Iterator[str]:
    """All that the trace has of one step, texts with their own line ends."""
    from branchwise.corpora.errors import InputError

    event = next((event for event in events if event.seq == step), None)
    if event is None:
        raise InputError(
            f"the trace has no step {step}",
            where=str(path),
            remedy=f"its steps are 0 to {events[-1].seq}" if events else "it has none yet",
        )
    yield f"step {event.seq}: {event.kind}"
    for name, value in event.data.items():
        yield from _field(name, value)


def _field(name: str, value: Any) -> Iterator[str]:
    """A text with its lines below its name, a list of passages one after the other, else JSON."""
    import orjson

    if isinstance(value, str) and ("\n" in value or len(value) > 60):
        yield f"{name}:"
        yield from (f"  {line}" for line in value.splitlines())
        return
    shown = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2)
    text = shown if isinstance(shown, str) else shown.decode()
    first, *rest = text.splitlines() or [""]
    yield f"{name}: {first}"
    yield from (f"  {line}" for line in rest)


def _gold(row: "ItemRow") -> Iterator[str]:
    from branchwise.ui.steps import branch_lines

    gold = {b.name: [answer.text for answer in b.answers] for b in row.question.branches}
    if gold:
        yield "gold"
        yield from branch_lines(gold)


def _print(lines: Iterator[str]) -> None:
    from branchwise.ui.console import console, printable

    screen = console()
    for line in lines:
        screen.print(printable(line), markup=False, soft_wrap=not screen.is_terminal)
