"""`branchwise ask`: one question, its steps as they happen."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from branchwise.commands.system_options import with_system_options

if TYPE_CHECKING:
    from rich.console import Console

    from branchwise.graphs.agent import Agent, Outcome
    from branchwise.graphs.choices import Person
    from branchwise.graphs.flows import Flow
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
    json_output: Annotated[
        bool, typer.Option("--json", help="Print only the answer, as JSON.")
    ] = False,
) -> None:
    """Ask one question and watch the agent work: steps on standard error, then the answer.

    Example: branchwise ask "Who directed King Kong?" --corpus C --clarify
    """
    from branchwise.agents.caller import ModelError
    from branchwise.commands.ask_back import ask_back
    from branchwise.corpora.errors import InputError
    from branchwise.eval.store.recordings import open_recordings
    from branchwise.graphs.agent import Agent
    from branchwise.ui.console import error_console

    if not question.strip():
        raise InputError("the question is empty", remedy="put it in quotes after `branchwise ask`")
    if choose is not None and not clarify:
        raise InputError("has no effect", where="--choose", remedy="add --clarify")
    agent = Agent(system, _flow(system, clarify=clarify), recordings=open_recordings)
    agent.check_settings()
    show = None if json_output else error_console()
    try:
        if clarify:
            outcome = ask_back(agent, question, show, choose)
        else:
            outcome = _ask(agent, question, show)
    except ModelError as error:
        error_console().print(f"branchwise: {error.kind}: {error}", markup=False, soft_wrap=True)
        sys.exit(1)
    sys.exit(1 if outcome.how == "failed" else 0)


def _flow(system: "System", *, clarify: bool) -> "Flow":
    from branchwise.eval.tasks import DEFAULT, get_task
    from branchwise.eval.tasks.protocols import flow_of
    from branchwise.graphs.flows.clarify import CLARIFY, LIVE

    if not clarify:
        return flow_of(DEFAULT, system)
    flow_of(get_task(CLARIFY.name), system)
    return LIVE.by(system.protocol)


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
    from branchwise.corpora.questions import Question
    from branchwise.eval.tasks import DEFAULT
    from branchwise.trace.events import AnswerRead, Event
    from branchwise.ui.console import print_line
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

    # A shell may pass bytes that are not text; no model server accepts them.
    text = question.encode(errors="surrogateescape").decode(errors="replace")
    asked = Question(id="ask", question=text)
    brief = DEFAULT.brief(asked, has_tools=bool(agent.tools))
    try:
        return await agent.answer(brief, Printing(), person=person), told
    finally:
        await agent.aclose()


def print_answer(
    outcome: "Outcome", passages: "Mapping[str, Sequence[ShownPassage]] | None" = None
) -> None:
    """A line for each branch, on standard output, with its passages below; those under "" are of
    all branches. If there are none, the reason, on standard error."""
    from branchwise.corpora.text import printable
    from branchwise.ui.console import console, error_console, print_line
    from branchwise.ui.found_passages import passage_lines

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
    from branchwise.ui.console import printable_json

    # No console: it would break long strings into lines, and the JSON with them.
    typer.echo(printable_json(value))
