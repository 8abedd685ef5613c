"""The options that many commands share."""

from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.corpora.keys import HELP, METAVAR, OPTION

if TYPE_CHECKING:
    from branchwise.corpora.keys import Keys
    from branchwise.corpora.loaders.source import QuestionSource

NO_TOOLS = "none"
"""As a tool's name: the system has none, whatever there is to search."""

QUESTIONS = "a file in our own format, or FORM:PATH (`branchwise questions forms` lists them)"
"""What names a question set, for help texts."""

Field = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="FIELD=COLUMN",
        help="Of csv:, jsonl:, parquet: and hf:, the column of a field; repeatable.",
    ),
]
Separator = Annotated[
    str | None, typer.Option(help="What stands between several answers in one cell of such a set.")
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Key = Annotated[list[str] | None, typer.Option(OPTION, metavar=METAVAR, help=HELP)]


def read_questions(
    questions: str, field: list[str] | None, separator: str | None
) -> "QuestionSource":
    """The question set that the options name. Raises InputError."""
    from branchwise.corpora.loaders.source import QuestionSource

    return QuestionSource.parse(questions, field or (), separator)


def read_keys(given: list[str] | None) -> "Keys":
    """The keys that `--key` names. Raises InputError, also for an unset variable."""
    from branchwise.corpora.keys import Keys

    keys = Keys.parse(given)
    keys.check()
    return keys


def read_tools(given: list[str]) -> tuple[str, ...]:
    """The tools that `--tool` names; `none` alone: no tool at all. Raises InputError."""
    from branchwise.corpora.errors import InputError

    if NO_TOOLS not in given:
        return tuple(given)
    if set(given) != {NO_TOOLS}:
        raise InputError(
            f"{NO_TOOLS} is given beside other tools",
            where="--tool",
            remedy="leave it out, or give it alone",
        )
    return ()
