"""`branchwise ask`: one question, its steps as they happen."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.agents.outages import PassEndedError
from branchwise.agents.reply import ModelError
from branchwise.base.errors import InputError
from branchwise.base.text import printable
from branchwise.commands.ask_back import ask_back
from branchwise.commands.declared_options import with_options
from branchwise.commands.shutdowns import warn_of_shutdowns
from branchwise.commands.watching import print_answer, watch
from branchwise.graphs.agent import Agent, Outcome
from branchwise.graphs.system import System
from branchwise.report.terminal.console import (
    error_console,
    print_json,
    progress_console,
)
from branchwise.report.terminal.progress import OutagePrinter
from branchwise.runs.asking import agent_to_ask, check_question
from branchwise.runs.costs.spending import check_bounded, restraints_of
from branchwise.runs.options import CostOptions

if TYPE_CHECKING:
    from rich.console import Console


@with_options
def ask(
    *,
    question: Annotated[str, typer.Argument(help="The question.")],
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
    cost: CostOptions,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print only the answer, as JSON.")
    ] = False,
    system: System,
) -> None:
    """Ask one question and watch the agent work: steps on standard error, then the answer.

    Exits with 1 where there is no answer: the model failed, said what cannot be read, or answered
    with nothing.

    Example: branchwise ask "Who directed King Kong?" --corpus C --clarify
    """
    check_question(question)
    if choose is not None and not clarify:
        raise InputError("has no effect", where="--choose", remedy="add --clarify")
    priced = cost.priced
    if cost.max_cost is not None:
        check_bounded(system, priced)
    restraints = restraints_of(cost.max_cost, priced, cost.outages)
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


def _ask(agent: Agent, question: str, steps: "Console | None") -> Outcome:
    outcome, _ = asyncio.run(watch(agent, question, steps))
    if steps is None:
        prediction = outcome.prediction
        print_json({"reasoning": prediction.reasoning, "answers": prediction.answers})
    else:
        print_answer(outcome)
    return outcome
