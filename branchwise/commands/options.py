"""The options that many commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.corpora.keys import HELP, METAVAR, OPTION

if TYPE_CHECKING:
    from branchwise.corpora.keys import Keys

NO_TOOLS = "none"
"""As a tool's name: the system has none, whatever there is to search."""

QUESTION_FORMATS = "ambignq:PATH, cambignq:PATH, condambigqa:PATH, fanoutqa:PATH or mdcr:PATH"
"""Question sets in formats other than the native one, for help texts."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Key = Annotated[list[str] | None, typer.Option(OPTION, metavar=METAVAR, help=HELP)]


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


def check_place(out: Path) -> None:
    """Raise InputError at once for what would otherwise fail after long work."""
    from branchwise.corpora.errors import InputError

    if out.is_dir():
        raise InputError("is a folder", where=str(out), remedy="name a file with --out")
    if not out.parent.is_dir():
        raise InputError("there is no such folder", where=str(out.parent), remedy="make it first")
