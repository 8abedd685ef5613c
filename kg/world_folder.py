"""The description of a world folder: `world.json`."""

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem, open_data
from branchwise.kg.dials import EASY, Dials

FORMAT: Literal[2] = 2
MAX_ENTITIES = 5_000_000
KG_FILE, NAMES_FILE, WORLD_FILE = "kg.nt.gz", "names.jsonl", "world.json"


class _Described(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Sizes(_Described):
    """Sizes. `statements` are counted once, `triples` with labels and qualifiers."""

    entities: dict[str, int]  # by type
    passages: int
    words: int  # of passages, without titles
    statements: int
    triples: int
    shared_names: int
    entities_with_shared_names: int


class FileDescription(_Described):
    """Size and SHA-256 of a file's contents, before compression."""

    bytes: int
    sha256: str


class WorldDescription(_Described):
    """How a world was made, and its sizes. Written last: a folder that has it is complete.

    `format`: 2 since texts call an entity with a shared name by its title alone.
    """

    format: Literal[1, 2] = FORMAT
    version: str
    entities: int = Field(ge=1, le=MAX_ENTITIES)
    seed: int
    ambiguity: float
    domains: tuple[str, ...]
    dials: Dials = EASY
    schema_sha256: str
    sizes: Sizes
    files: dict[str, FileDescription]


def check_files(folder: Path, world: WorldDescription) -> None:
    """Check the files. Raises InputError for one that differs from when the world was made."""
    for name, described in world.files.items():
        digest, size = hashlib.sha256(), 0
        with open_data(folder / name) as stream:
            while block := stream.read(2**20):
                digest.update(block)
                size += len(block)
        if (size, digest.hexdigest()) != (described.bytes, described.sha256):
            problem = "is not the file that this world was made with"
            raise InputError(problem, where=str(folder / name), remedy="make the world again")


def read_description(folder: Path) -> WorldDescription:
    """The description of the world in a folder. Raises InputError if there is none."""
    path = Path(folder) / WORLD_FILE
    if not path.is_file():
        problem = f"no world here (there is no {WORLD_FILE})"
        remedy = "make one with `branchwise world make`"
        raise InputError(problem, where=str(folder), remedy=remedy)
    with open_data(path) as stream:
        data = stream.read()
    try:
        return WorldDescription.model_validate_json(data)
    except ValidationError as error:
        problem = f"is not the description of a world ({first_problem(error)})"
        raise InputError(problem, where=str(path), remedy="make the world again") from None
