"""`branchwise ask`: one question, its steps as they happen, and which reading is meant."""

import asyncio
import os
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from branchwise.agents.journal import MemoryJournal
from branchwise.agents.outages import PassEndedError
from branchwise.agents.reply import ModelError
from branchwise.base.errors import InputError
from branchwise.base.text import printable
from branchwise.commands.declared_options import with_options
from branchwise.commands.running import warn_of_shutdowns
from branchwise.corpora.clarification import parse_clarification
from branchwise.graphs.agent import Agent
from branchwise.graphs.outcome import Outcome
from branchwise.graphs.pipeline import VERDICT, Person, PersonAsked
from branchwise.graphs.system import System
from branchwise.report.terminal.console import (
    console,
    error_console,
    print_json,
    print_line,
    progress_console,
)
from branchwise.report.terminal.outage_lines import OutagePrinter
from branchwise.report.terminal.step_text import found_passages, passage_lines
from branchwise.runs.answering import agent_to_ask, ask_agent, check_question
from branchwise.runs.costs.spending import check_bounded, restraints_of
from branchwise.runs.options import CostOptions
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
    """Ask, printing steps to `screen`, with `answer` what was read, too. Raises ModelError."""
    events: list[Event] = []

    class Printing(MemoryJournal):
        def event(self, kind: str, data: Mapping[str, Any]) -> None:
            step = Event(0, kind, 0.0, data)
            events.append(step)
            is_read = isinstance(step.body, AnswerRead) and not step.body.failed
            # `ask` prints an answer that was read at the end, on standard output.
            if screen and (answer or not is_read):
                for line in describe(step):
                    print_line(screen, f"{margin}{line}")

    return await ask_agent(agent, question, Printing(), person), events


def print_answer(
    outcome: Outcome, passages: Mapping[str, Sequence[ShownPassage]] | None = None
) -> None:
    """A line for each branch with its passages (under "": of all), or why there is none."""
    prediction, shown = outcome.prediction, dict(passages or {})
    for branch, entities in prediction.answers.items():
        print_line(console(), printable(f"{branch}: {'; '.join(entities) or '(none)'}"))
        for line in passage_lines(shown.get(branch, ()), entities):
            print_line(console(), f"  {line}")
    every = [text for texts in prediction.answers.values() for text in texts]
    for line in passage_lines(shown.get("", ()), every):
        print_line(console(), f"  {line}")
    if not prediction.answers and outcome.how != "failed":
        why = f": {' '.join(prediction.reasoning.split())}" if prediction.reasoning else ""
        error_console().print(printable(f"no answer{why}"), markup=False)


NOT_CHOSEN = 3
_MAX_TYPED = 65_536


class NotChosenError(Exception):
    """What the user typed chooses none of the options; `code`: what the command exits with."""

    def __init__(self, why: str, code: int = NOT_CHOSEN) -> None:
        super().__init__(why)
        self.code = code


@dataclass
class Chooser:
    """Who is `asked` back: `choice` answers for them, or they do at `screen`, if there is one."""

    choice: str | None
    screen: "Console | None"
    asked: PersonAsked | None = None

    async def __call__(self, asked: PersonAsked) -> str:
        self.asked = asked
        if self.choice is None and self.screen:
            return await _choice_at(self.screen, asked)
        if self.choice is None:
            raise NotChosenError("nothing was chosen; add --choose NUMBERS, TEXT or all")
        if asked["problem"]:
            raise NotChosenError(f"--choose: {asked['problem']}", code=2)
        return self.choice


def ask_back(agent: Agent, question: str, steps: "Console | None", choice: str | None) -> Outcome:
    """Ask, ask back, and print the answers to what was chosen; `steps` None: JSON alone."""
    if choice is not None and not choice.strip():
        remedy = "write options' numbers, a text, or all"
        raise InputError("there is no choice", where="--choose", remedy=remedy)
    screens = [screen for screen in (error_console(), console()) if screen.is_terminal]
    can_type = bool(steps and screens and sys.stdin and sys.stdin.isatty())
    person = Chooser(choice, screens[0] if can_type else None)
    try:
        outcome, events = asyncio.run(watch(agent, question, steps, person=person))
    except NotChosenError as error:
        if steps is None:
            print_json(_as_json(question, person.asked))
        elif not person.screen and person.asked:
            print_line(console(), printable(person.asked["clarification_question"]))
            for number, option in enumerate(person.asked["options"], start=1):
                print_line(console(), printable(f"  {number}  {option}"))
        print_line(error_console(), f"branchwise: {error}")
        sys.exit(error.code)
    # Of each choice, or "" for the question.
    names = list(outcome.prediction.answers) if person.asked else [""]
    shown = found_passages(events)
    passages = {name: shown.get(name, ()) for name in names}
    if steps is None:
        print_json(_as_json(question, person.asked, outcome, passages))
    else:
        print_answer(outcome, passages)
    return outcome


async def _choice_at(screen: "Console", asked: PersonAsked) -> str:
    # What was typed so far chose nothing. Before the prompt is there: behind it, this would also
    # lose what answers it, Ctrl-C included, which the terminal may not have looked at yet.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    if asked["problem"]:
        screen.print(asked["problem"], markup=False)
    else:
        from rich.table import Table
        from rich.text import Text

        head = parse_clarification(asked["clarification_question"]).head
        table = Table.grid(padding=(0, 2))
        for number, option in enumerate(asked["options"], start=1):
            table.add_row(Text(f"  {number}", "bold"), Text(printable(option), overflow="fold"))
        screen.print(f"\n{printable(head)}?", markup=False, style="bold")
        screen.print(table)
        hint = 'A number, several as "1,2", "all", or what you mean in your own words.'
        screen.print(hint, style="dim")
    screen.print("Choose: ", style="bold", end="")
    try:
        typed = await _typed()
    except asyncio.CancelledError:
        screen.print()
        raise
    if not typed:
        screen.print()
        raise NotChosenError("the input ended, and nothing was chosen")
    return typed


async def _typed() -> str:
    """A line that is typed, "" at the end of input. The loop waits: Ctrl-C ends this, too."""
    file, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    is_there = asyncio.Event()
    loop.add_reader(file, is_there.set)
    try:
        await is_there.wait()
    finally:
        loop.remove_reader(file)
    return os.read(file, _MAX_TYPED).decode(errors="replace")


def _as_json(
    question: str,
    asked: PersonAsked | None,
    outcome: Outcome | None = None,
    passages: Mapping[str, Sequence[ShownPassage]] | None = None,
) -> dict[str, Any]:
    answers = outcome.prediction.answers if outcome else {}
    output = outcome.prediction.task_output if outcome else None
    return {
        "question": question,
        "ambiguous": output[VERDICT] if output else bool(asked) or None,
        "clarification_question": asked["clarification_question"] if asked else None,
        "options": asked["options"] if asked else [],
        "chosen": list(answers) if asked else [],
        "answers": answers,
        "passages": [
            {"option": name, "id": passage.id, "title": passage.title, "text": passage.text}
            for name, shown in (passages or {}).items()
            for passage in shown
        ],
    }


Clarify = Annotated[
    bool,
    typer.Option(
        "--clarify", help="Where the question has several readings, ask which one is meant."
    ),
]
Choose = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS|TEXT|all",
        help="With --clarify: what is meant, several options as 1,3. Without it the terminal asks; "
        "without a terminal, or with --json, the options are printed, and the exit code is 3.",
    ),
]


@with_options
def ask(
    *,
    question: Annotated[str, typer.Argument(help="The question.")],
    clarify: Clarify = False,
    choose: Choose = None,
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
                outcome, _ = asyncio.run(watch(agent, question, show))
                if show:
                    print_answer(outcome)
                else:
                    prediction = outcome.prediction
                    print_json({"reasoning": prediction.reasoning, "answers": prediction.answers})
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
