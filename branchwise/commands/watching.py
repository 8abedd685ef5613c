"""An agent at work on one question: its steps as they happen, and its answer."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from branchwise.agents.journal import MemoryJournal
from branchwise.base.text import printable
from branchwise.graphs.agent import Agent, Outcome
from branchwise.graphs.choices import Person
from branchwise.report.terminal.console import console, error_console, print_line
from branchwise.report.terminal.found_passages import passage_lines
from branchwise.runs.asking import ask_agent
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.events import AnswerRead, Event
from branchwise.ui.steps.words import describe

if TYPE_CHECKING:
    from rich.console import Console


async def watch(
    agent: Agent,
    question: str,
    screen: "Console | None",
    *,
    margin: str = "",
    answer: bool = False,
    person: Person | None = None,
) -> tuple[Outcome, Sequence[Event]]:
    """Ask and close the agent; each step is printed to `screen`, after `margin`.

    The answer that was read is printed only where `answer` asks for it. `person`: who is asked
    back, in a flow that asks. Raises ModelError where the model cannot be had.
    """
    told: list[Event] = []

    class Printing(MemoryJournal):
        def event(self, kind: str, data: Mapping[str, Any]) -> None:
            step = Event(0, kind, 0.0, data)
            told.append(step)
            is_read = isinstance(step.body, AnswerRead) and not step.body.failed
            # `ask` prints an answer that was read at the end, on standard output.
            if screen and (answer or not is_read):
                for line in describe(step):
                    print_line(screen, f"{margin}{line}")

    return await ask_agent(agent, question, Printing(), person), told


def print_answer(
    outcome: Outcome, passages: Mapping[str, Sequence[ShownPassage]] | None = None
) -> None:
    """A line for each branch, on standard output, with its passages below; those under "" are of
    all branches. If there are none, the reason, on standard error."""
    prediction, found = outcome.prediction, dict(passages or {})
    for branch, entities in prediction.answers.items():
        print_line(console(), printable(f"{branch}: {'; '.join(entities) or '(none)'}"))
        for line in passage_lines(found.get(branch, ()), entities):
            print_line(console(), f"  {line}")
    every = [text for texts in prediction.answers.values() for text in texts]
    for line in passage_lines(found.get("", ()), every):
        print_line(console(), f"  {line}")
    if not prediction.answers and outcome.how != "failed":
        why = f": {' '.join(prediction.reasoning.split())}" if prediction.reasoning else ""
        error_console().print(printable(f"no answer{why}"), markup=False)
