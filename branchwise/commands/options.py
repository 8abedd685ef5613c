"""The options that many commands share."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import click
import typer
from click.shell_completion import CompletionItem
from typer.core import TyperCommand

from branchwise.agents.refusals import ApiChoice
from branchwise.base.errors import InputError
from branchwise.base.files import read_lines
from branchwise.base.keys import HELP, METAVAR, OPTION, Keys
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.eval.tasks import TASKS

NO_TOOLS = "none"
"""As a tool's name: the system has none, whatever there is to search."""

QUESTIONS = "a file in our own format, or FORM:PATH (`branchwise questions forms` lists them)"
"""What names a question set, for help texts."""

Field = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="FIELD=COLUMN ...",
        help="Of csv:, jsonl:, parquet: and hf:, the columns of fields: text=body title=name.",
    ),
]
Separator = Annotated[
    str | None, typer.Option(help="What stands between several answers in one cell of such a set.")
]


class Words(click.ParamType[str]):
    """One of some words: listed in help and completed by shells; `words` is called only then."""

    name = "TEXT"

    def __init__(self, words: Callable[[], Iterable[str]]) -> None:
        self._words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self._words())}]"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self._words() if word.startswith(incomplete)]


WriterApi = Annotated[
    ApiChoice, typer.Option("--api", help="The protocol that these models are asked by.")
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task", click_type=Words(lambda: TASKS), help="Task, if it is not the question set's own."
    ),
]
Full = Annotated[
    bool, typer.Option("--full", help="Print every table, not only the headline metrics.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run failed items again.")]
Header = Annotated[
    list[str] | None,
    typer.Option(
        help="Header of requests to servers, repeatable: X-Title=Films, "
        "search.example/X-Index=films.",
        metavar="[HOST/]NAME=VALUE",
    ),
]
Key = Annotated[list[str] | None, typer.Option(OPTION, metavar=METAVAR, help=HELP)]


class FieldCommand(TyperCommand):
    """A command whose option `Field` takes several pairs: `--field text=body title=name`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread_fields(args))


_PAIR = re.compile(r"[a-z_]+=")


def spread_fields(args: Iterable[str]) -> list[str]:
    """Arguments with `--field` before each of the pairs that follow one."""
    spread: list[str] = []
    naming = False
    for arg in args:
        follows = naming and _PAIR.match(arg) is not None
        if follows and spread[-1] != "--field":
            spread.append("--field")
        spread.append(arg)
        naming = follows or arg == "--field" or arg.startswith("--field=")
    return spread


def read_questions(
    questions: str, field: list[str] | None, separator: str | None
) -> QuestionSource:
    """The question set that the options name. Raises InputError."""
    return QuestionSource.parse(questions, field or (), separator)


def read_keys(given: list[str] | None) -> Keys:
    """The keys that `--key` names. Raises InputError, also for an unset variable."""
    keys = Keys.parse(given)
    keys.check()
    return keys


def read_tools(given: list[str]) -> tuple[str, ...]:
    """The tools that `--tool` names; `none` alone: no tool at all. Raises InputError."""
    if NO_TOOLS not in given:
        return tuple(given)
    if set(given) != {NO_TOOLS}:
        problem = f"{NO_TOOLS} is given beside other tools"
        raise InputError(problem, where="--tool", remedy="leave it out, or give it alone")
    return ()


def read_ids(path: Path | None) -> list[str] | None:
    """A file with an id a line."""
    if path is None:
        return None
    try:
        return [line.decode().strip() for _, line in read_lines(path)]
    except UnicodeDecodeError:
        remedy = "name a file of ids, one a line"
        raise InputError("is not UTF-8", where=str(path), remedy=remedy) from None
