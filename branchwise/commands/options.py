"""The options that many commands share."""

from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.corpora.keys import HELP, METAVAR, OPTION

if TYPE_CHECKING:
    from branchwise.corpora.keys import Keys

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Key = Annotated[list[str] | None, typer.Option(OPTION, metavar=METAVAR, help=HELP)]


def read_keys(given: list[str] | None) -> "Keys":
    """The keys that `--key` names. Raises InputError, also for an unset variable."""
    from branchwise.corpora.keys import Keys

    keys = Keys.parse(given)
    keys.check()
    return keys
