"""The options that many commands share."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import click
import typer
from typer.core import TyperCommand

from branchwise.corpora.keys import HELP, METAVAR, OPTION

if TYPE_CHECKING:
    from branchwise.corpora.keys import Keys

NO_TOOLS = "none"
"""As a tool's name: the system has none, whatever there is to search."""

QUESTION_FORMATS = "ambignq:PATH, cambignq:PATH or condambigqa:PATH"
"""Question sets in formats other than the native one, for help texts."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Key = Annotated[list[str] | None, typer.Option(OPTION, metavar=METAVAR, help=HELP)]

FieldOption = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="OURS=THEIRS ...",
        help="What the source calls our fields: text=body title=doc.name.",
    ),
]


class FieldCommand(TyperCommand):
    """A command whose `FieldOption` takes several names at once: `--field text=body title=name`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread_fields(args))


_PAIR = re.compile(r"[a-z_]+=")


def spread_fields(args: Iterable[str]) -> list[str]:
    """Arguments with `--field` before each of the names that follow one."""
    spread: list[str] = []
    naming = False
    for arg in args:
        follows = naming and _PAIR.match(arg) is not None
        if follows and spread[-1] != "--field":
            spread.append("--field")
        spread.append(arg)
        naming = follows or arg == "--field" or arg.startswith("--field=")
    return spread


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
