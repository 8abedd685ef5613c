"""`--key`, for every command that may send a request to a server."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from branchwise.corpora.keys import Keys

HELP = (
    "Environment variable with the key of a server, repeatable: localhost:8000=VLLM_API_KEY. "
    "OPENAI_API_KEY goes to OpenAI and to OPENAI_BASE_URL alone."
)
METAVAR = "HOST=VARIABLE"

Key = Annotated[list[str] | None, typer.Option("--key", metavar=METAVAR, help=HELP)]


def read_keys(given: list[str] | None) -> "Keys":
    """The keys that `--key` names. Raises InputError, also for a variable that is not set."""
    from branchwise.corpora.keys import Keys

    keys = Keys.parse(given)
    keys.check()
    return keys
