"""`branchwise ask`: one question, its steps as they happen."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from branchwise.commands.pace_options import MaxCost, Patience, restraints_of
from branchwise.commands.scoring_options import PriceFile, load_prices
from branchwise.commands.shutdowns import warn_of_shutdowns
from branchwise.commands.system_options import with_system_options
from branchwise.report.terminal.console import echo

if TYPE_CHECKING:
    from rich.console import Console

    from branchwise.graphs.agent import Agent, Outcome
    from branchwise.graphs.choices import Person
    from branchwise.graphs.system import System
    from branchwise.trace.artifacts import ShownPassage
    from branchwise.trace.events import Event


@with_system_options
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    system: "System",
    clarify: Annotated[
        bool,
        typer.Option(
            "--clarify", help="Where the question has several readings, ask which one is meant."
        ),
    ] = False,
    choose: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|TEXT|all",
            help="With --clarify: what is meant. Without it the terminal asks; without a terminal, "
            "or with --json, the options are printed, and the exit code is 3.",
        ),
    ] = None,
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

    Example: branchwise ask "Who directed King Kong?" --corpus C --clarify
    """
    from branchwise.agents.caller import ModelError
    from branchwise.agents.outages import PassEndedError
    from branchwise.base.errors import InputError
    from branchwise.base.text import printable
    from branchwise.commands.ask_back import ask_back
    from branchwise.report.terminal.console import error_console, progress_console
    from branchwise.report.terminal.outage_lines import OutagePrinter
    from branchwise.runs.asking import agent_to_ask, check_question
    from branchwise.runs.costs.spending import check_bounded

    check_question(question)
    if choose is not None and not clarify:
        raise InputError("has no effect", where="--choose", remedy="add --clarify")
    priced = load_prices(prices)
    if max_cost is not None:
        check_bounded(system, priced)
    restraints = restraints_of(patience, max_cost, priced)
    agent = agent_to_ask(system, restraints, clarify=clarify)
    warn_of_shutdowns([system], system.keys)

    def say(line: str) -> None:
        error_console().print(printable(line), markup=False, soft_wrap=True)

    try:
        show = None if json_output else progress_console()
        with OutagePrinter(restraints.outages, say):
            if clarify:
                outcome = ask_back(agent, question, show, choose)
            else:
                outcome = _ask(agent, question, show)
    except ModelError as error:
        say(f"branchwise: {error.kind}: {error}")
        sys.exit(1)
    except PassEndedError as error:
        say(f"branchwise: {error}")
        sys.exit(1)
    # A verdict and a question back are no answer.
    has_other = bool(outcome.prediction.task_output) and not clarify
    is_answer = any(map(any, outcome.prediction.answers.values())) or has_other
    sys.exit(0 if outcome.how != "failed" and is_answer else 1)


def _ask(agent: "Agent", question: str, steps: "Console | None") -> "Outcome":
    outcome, _ = asyncio.run(watch(agent, question, steps))
    if steps is None:
        prediction = outcome.prediction
        print_json({"reasoning": prediction.reasoning, "answers": prediction.answers})
    else:
        print_answer(outcome)
    return outcome


async def watch(
    agent: "Agent",
    question: str,
    screen: "Console | None",
    *,
    margin: str = "",
    answer: bool = False,
    person: "Person | None" = None,
) -> "tuple[Outcome, Sequence[Event]]":
    """Ask and close the agent; each step is printed to `screen`, after `margin`.

    The answer that was read is printed only where `answer` asks for it. `person`: who is asked
    back, in a flow that asks. Raises ModelError where the model cannot be had.
    """
    from branchwise.agents.journal import MemoryJournal
    from branchwise.report.terminal.console import print_line
    from branchwise.runs.asking import ask_agent
    from branchwise.trace.events import AnswerRead, Event
    from branchwise.ui.steps.describe import describe

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
    outcome: "Outcome", passages: "Mapping[str, Sequence[ShownPassage]] | None" = None
) -> None:
    """A line for each branch, on standard output, with its passages below; those under "" are of
    all branches. If there are none, the reason, on standard error."""
    from branchwise.base.text import printable
    from branchwise.report.terminal.console import console, error_console, print_line
    from branchwise.report.terminal.found_passages import passage_lines

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


def print_json(value: Any) -> None:
    """On standard output; harmless whatever it holds."""
    from branchwise.report.terminal.console import printable_json

    # No console: it would break long strings into lines, and the JSON with them.
    echo(printable_json(value))
