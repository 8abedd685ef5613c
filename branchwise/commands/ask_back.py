"""`branchwise ask --clarify`: ask which reading is meant, of the terminal or of `--choose`."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError
from branchwise.base.text import printable
from branchwise.commands.watching import print_answer, watch
from branchwise.corpora.clarification import parse_clarification
from branchwise.graphs.agent import Agent, Outcome
from branchwise.graphs.pipeline import VERDICT, PersonAsked
from branchwise.report.terminal.console import console, error_console, print_json, print_line
from branchwise.report.terminal.step_text import found_passages
from branchwise.trace.artifacts import ShownPassage

if TYPE_CHECKING:
    from rich.console import Console


NOT_CHOSEN = 3
"""Exit code where a question was asked back and nothing was chosen."""
_MAX_TYPED = 65_536


class NotChosenError(Exception):
    """A question was asked back, and what was said is no choice, or nothing was said.

    The message says so in one line; `code` is what the command exits with.
    """

    def __init__(self, why: str, code: int = NOT_CHOSEN) -> None:
        super().__init__(why)
        self.code = code


@dataclass
class Chooser:
    """Who is asked back: `choice` answers for them, or else they do at `screen`, if there is one.

    `asked`: the question that they were asked.
    """

    choice: str | None
    screen: "Console | None"
    asked: PersonAsked | None = None

    async def __call__(self, asked: PersonAsked) -> str:
        self.asked = asked
        if self.choice is None and self.screen:
            return await _ask(self.screen, asked)
        if self.choice is None:
            raise NotChosenError("nothing was chosen; add --choose NUMBER, TEXT or all")
        if asked["problem"]:
            raise NotChosenError(f"--choose: {asked['problem']}", code=2)
        return self.choice


def ask_back(agent: Agent, question: str, steps: "Console | None", choice: str | None) -> Outcome:
    """Ask, ask back, and print the answers to what was chosen with their passages.

    `steps`: where the steps are shown; None prints JSON alone and asks no one. Raises InputError
    for an empty choice, ModelError, and SystemExit where nothing was chosen.
    """
    person = Chooser(_checked(choice), _screen() if steps else None)
    try:
        outcome, events = asyncio.run(watch(agent, question, steps, person=person))
    except NotChosenError as error:
        if steps is None:
            print_json(_as_json(question, person.asked))
        elif not person.screen and person.asked:
            _print_question(person.asked)
        print_line(error_console(), f"branchwise: {error}")
        sys.exit(error.code)
    passages = _of_answers(found_passages(events), person.asked, outcome)
    if steps is None:
        print_json(_as_json(question, person.asked, outcome, passages))
    else:
        print_answer(outcome, passages)
    return outcome


def _of_answers(
    found: Mapping[str, Sequence[ShownPassage]], asked: PersonAsked | None, outcome: Outcome
) -> dict[str, Sequence[ShownPassage]]:
    """The passages that were found for what is answered: each choice, or "" for the question."""
    names = list(outcome.prediction.answers) if asked else [""]
    return {name: found.get(name, ()) for name in names}


def _checked(choice: str | None) -> str | None:
    if choice is not None and not choice.strip():
        remedy = "write an option's number, a text, or all"
        raise InputError("there is no choice", where="--choose", remedy=remedy)
    return choice


def _screen() -> "Console | None":
    """Where a person sees a question and can answer it; None where there is no terminal."""
    screens = [one for one in (error_console(), console()) if one.is_terminal]
    return screens[0] if screens and sys.stdin and sys.stdin.isatty() else None


async def _ask(screen: "Console", asked: PersonAsked) -> str:
    """What the person types; they are shown the options once."""
    _forget_typed()
    if asked["problem"]:
        screen.print(asked["problem"], markup=False)
    else:
        _show_options(screen, asked)
    screen.print("Choose: ", style="bold", end="")
    try:
        said = await _typed()
    except asyncio.CancelledError:
        screen.print()
        raise
    if not said:
        screen.print()
        raise NotChosenError("the input ended, and nothing was chosen")
    return said


def _show_options(screen: "Console", asked: PersonAsked) -> None:
    from rich.table import Table
    from rich.text import Text

    head = parse_clarification(asked["clarification_question"]).head
    table = Table.grid(padding=(0, 2))
    for number, option in enumerate(asked["options"], start=1):
        table.add_row(Text(f"  {number}", "bold"), Text(printable(option), overflow="fold"))
    screen.print(f"\n{printable(head)}?", markup=False, style="bold")
    screen.print(table)
    screen.print('A number, "all", or what you mean in your own words.', style="dim")


def _forget_typed() -> None:
    """What was typed so far chose nothing.

    Before the prompt is there: behind it, this would also lose what answers it, Ctrl-C included,
    which the terminal may not have looked at yet.
    """
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def _typed() -> str:
    """A line that is typed; empty at the end of input.

    The event loop waits for it, so that Ctrl-C ends this wait as it ends everything else.
    """
    file, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    is_there = asyncio.Event()
    loop.add_reader(file, is_there.set)
    try:
        await is_there.wait()
    finally:
        loop.remove_reader(file)
    return os.read(file, _MAX_TYPED).decode(errors="replace")


def _print_question(asked: PersonAsked) -> None:
    """The question with its numbered options, on standard output."""
    print_line(console(), printable(asked["clarification_question"]))
    for number, option in enumerate(asked["options"], start=1):
        print_line(console(), printable(f"  {number}  {option}"))


def _as_json(
    question: str,
    asked: PersonAsked | None,
    outcome: Outcome | None = None,
    passages: Mapping[str, Sequence[ShownPassage]] | None = None,
) -> dict[str, Any]:
    """What was asked back, what was chosen, the answers and their passages, as far as there are."""
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
            {"option": name, "id": one.id, "title": one.title, "text": one.text}
            for name, found in (passages or {}).items()
            for one in found
        ],
    }
