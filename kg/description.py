"""The description of a built graph (`graph.json`), and whether it was rebuilt since."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.base.files import first_problem, open_data
from branchwise.kg.answers import KgError

STORE_FOLDER, NAMES_FILE, DESCRIPTION_FILE = "store", "names.sqlite", "graph.json"
_REMEDY = "make one with `branchwise kg build`"
REBUILD = "build the graph again with `branchwise kg build`"
"""What to do about a damaged one."""


class SourceFile(BaseModel):
    """A file that a graph was built from; size and SHA-256 of its contents, decompressed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str  # without its folder
    bytes: int
    sha256: str


class KgDescription(BaseModel):
    """A graph's size and sources. Written last: a folder that has it is complete.

    `triples` are distinct. `entities` have a name, or a statement about them; `properties` are in
    use, or have a name; `names` counts names of entities that differ after folding, and
    `shared_names` those that several entities bear. `sha256` is that of the source, or of its
    sources' in ascending order, one a line: the order of the files does not matter.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    triples: int
    entities: int
    properties: int
    names: int
    shared_names: int
    sha256: str
    sources: tuple[SourceFile, ...]


def is_kg(folder: Path) -> bool:
    """Whether a complete graph is in this folder."""
    return (Path(folder) / DESCRIPTION_FILE).is_file()


def read_description(folder: Path) -> KgDescription:
    """The description of the graph in a folder. Raises InputError if there is none."""
    path = Path(folder) / DESCRIPTION_FILE
    if not path.is_file():
        raise InputError(
            f"no graph here (there is no {DESCRIPTION_FILE})", where=str(folder), remedy=_REMEDY
        )
    with open_data(path) as stream:
        data = stream.read()
    try:
        return KgDescription.model_validate_json(data)
    except ValidationError as error:
        raise InputError(
            f"is not the description of a graph ({first_problem(error)})",
            where=str(path),
            remedy=REBUILD,
        ) from None


def write_description(folder: Path, description: KgDescription) -> None:
    """Write `graph.json`."""
    text = description.model_dump_json(indent=2)
    write_bytes(folder / DESCRIPTION_FILE, f"{text}\n".encode())


def refuse_replaced(folder: Path, sha256: str) -> None:
    """Raise KgError if the folder no longer contains the graph with this digest.

    Call it after opening the files: then none of them belongs to a newer graph, whenever the folder
    was replaced. "" is any graph's digest.
    """
    try:
        found = read_description(folder).sha256
    except InputError:
        found = None
    if sha256 not in ("", found):
        raise KgError(
            "resources", "The graph was rebuilt since it was opened: the user must start again."
        )
