"""What an agent did with a question, in a few lines: its searches and answers, and gold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from branchwise.report.terminal.console import console, print_line
from branchwise.report.terminal.step_text import begun, branch_lines, count
from branchwise.runs.store import ItemRow, RunReader
from branchwise.trace.events import AnswerRead, Event, Model, Start
from branchwise.trace.parts import Call
from branchwise.ui.steps.kinds.tool import arguments
from branchwise.ui.steps.words import describe


def show_story(reader: RunReader, row: ItemRow) -> None:
    """A line for each turn, without what came back; then the right answers."""
    for line in _steps(reader.events(row.item)):
        print_line(console(), f"  {line}")
    show_gold({one.name: [answer.text for answer in one.answers] for one in row.question.branches})


def show_gold(gold: Mapping[str, Sequence[str]]) -> None:
    """The right answers of each branch, below what the agent did."""
    for line in ("gold", *branch_lines(gold)):
        print_line(console(), f"  {line}")


def _steps(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        body = event.body
        if isinstance(body, Start | AnswerRead):
            yield from describe(event)
        elif isinstance(body, Model) and body.calls:
            searches = count(len(body.calls), "search", "searches")
            asked = "; ".join(map(_asked, body.calls))
            yield begun(f"turn {body.turn}", f"{searches}: {asked}")


def _asked(call: Call) -> str:
    """What a call looks for, and how many other queries go with it."""
    args, others = call.args, 0
    if isinstance(args, Mapping):
        more = args.get("more_queries")
        others = len(more) if isinstance(more, list) else 0
        args = {key: value for key, value in args.items() if key != "more_queries"}
    return arguments(args).removeprefix("query=") + (f" and {others} more" if others else "")
