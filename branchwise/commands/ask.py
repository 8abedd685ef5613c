"""`branchwise ask`: one question, its steps as they happen."""

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from branchwise.commands.pace_options import MaxCost, Patience, restraints_of
from branchwise.commands.scoring_options import PriceFile, load_prices
from branchwise.commands.system_options import with_system_options

if TYPE_CHECKING:
    from rich.console import Console

    from branchwise.graphs.agent import Agent, Outcome
    from branchwise.graphs.system import System


@with_system_options
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    system: "System",
    patience: Patience = None,
    max_cost: MaxCost = None,
    prices: PriceFile = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print only the answer, as JSON.")
    ] = False,
) -> None:
    """Ask one question and watch the agent work: steps on standard error, then the answer.

    Exits with 1 where there is no answer: the model failed, said what cannot be read, or answered
    with nothing.

    Example: branchwise ask "Who directed King Kong?" --corpus C
    """
    from branchwise.agents.caller import ModelError
    from branchwise.agents.outages import PassEndedError
    from branchwise.corpora.text import printable
    from branchwise.eval.asking import agent_to_ask, check_question
    from branchwise.eval.costs.spending import check_bounded
    from branchwise.ui.console import error_console, progress_console
    from branchwise.ui.outage_lines import OutagePrinter

    check_question(question)
    priced = load_prices(prices)
    if max_cost is not None:
        check_bounded(system, priced)
    restraints = restraints_of(patience, max_cost, priced)
    agent = agent_to_ask(system, restraints)

    def say(line: str) -> None:
        error_console().print(printable(line), markup=False, soft_wrap=True)

    try:
        show = None if json_output else progress_console()
        with OutagePrinter(restraints.outages, say):
            outcome = asyncio.run(watch(agent, question, show))
    except ModelError as error:
        say(f"branchwise: {error.kind}: {error}")
        sys.exit(1)
    except PassEndedError as error:
        say(f"branchwise: {error}")
        sys.exit(1)
    if json_output:
        _print_json(outcome)
    else:
        print_answer(outcome)
    sys.exit(0 if outcome.how != "failed" and _is_answer(outcome) else 1)


def _is_answer(outcome: "Outcome") -> bool:
    """Whether any branch has an entity, or there is other output."""
    prediction = outcome.prediction
    return any(map(any, prediction.answers.values())) or bool(prediction.task_output)


async def watch(
    agent: "Agent",
    question: str,
    screen: "Console | None",
    *,
    margin: str = "",
    answer: bool = False,
) -> "Outcome":
    """Ask and close the agent; each step is printed to `screen`, after `margin`.

    The answer that was read is printed only where `answer` asks for it. Raises ModelError where
    the model cannot be had.
    """
    from branchwise.agents.journal import MemoryJournal
    from branchwise.eval.asking import ask_agent
    from branchwise.trace.events import AnswerRead, Event
    from branchwise.ui.console import print_line
    from branchwise.ui.steps.describe import describe

    class Printing(MemoryJournal):
        def event(self, kind: str, data: Mapping[str, Any]) -> None:
            step = Event(0, kind, 0.0, data)
            is_read = isinstance(step.body, AnswerRead) and not step.body.failed
            # `ask` prints an answer that was read at the end, on standard output.
            if screen and (answer or not is_read):
                for line in describe(step):
                    print_line(screen, f"{margin}{line}")

    return await ask_agent(agent, question, Printing())


def print_answer(outcome: "Outcome") -> None:
    """A line for each branch, on standard output; if there are none, the reason, on standard
    error."""
    from branchwise.corpora.text import printable
    from branchwise.ui.console import console, error_console, print_line

    prediction = outcome.prediction
    for branch, entities in prediction.answers.items():
        print_line(console(), printable(f"{branch}: {'; '.join(entities) or '(none)'}"))
    if not prediction.answers and outcome.how != "failed":
        why = f": {' '.join(prediction.reasoning.split())}" if prediction.reasoning else ""
        error_console().print(printable(f"no answer{why}"), markup=False)


def _print_json(outcome: "Outcome") -> None:
    from branchwise.ui.console import printable_json

    prediction = outcome.prediction
    # No console: it would break long strings into lines, and the JSON with them.
    typer.echo(printable_json({"reasoning": prediction.reasoning, "answers": prediction.answers}))
