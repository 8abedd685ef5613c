"""Names that several entities bear: read from a file, or found in a graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem, parse_object, read_lines
from branchwise.worlds.questions.facts import Facts

_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


@dataclass(frozen=True)
class Bearer:
    """An entity with a shared name. `title` tells it apart from the others: branches have it."""

    id: str
    title: str
    description: str = ""


SharedNames = Mapping[str, Sequence[Bearer]]


class _Entity(BaseModel):
    id: _Text
    title: _Text
    description: str = ""


class _Line(BaseModel):
    name: _Text
    entities: Annotated[list[_Entity], Field(min_length=2)]


def read_names(path: Path) -> dict[str, tuple[Bearer, ...]]:
    """Names with their bearers, from JSONL as a world has it: {"name", "entities": [{"id",
    "title", "description"}, ...]}. Raises InputError with file and line."""
    names: dict[str, tuple[Bearer, ...]] = {}
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        try:
            read = _Line.model_validate(parse_object(line, where))
        except ValidationError as error:
            raise InputError(first_problem(error), where=where) from None
        if read.name in names:
            raise InputError(f"the name {read.name!r} comes twice", where=where)
        if len({entity.title for entity in read.entities}) < len(read.entities):
            raise InputError(f"two bearers of {read.name!r} have one title", where=where)
        names[read.name] = tuple(
            Bearer(_number(e.id), e.title, e.description) for e in read.entities
        )
    return names


def _number(id: str) -> str:
    """An entity as plans name it: IRIs stand in angle brackets."""
    return f"<{id}>" if "://" in id and not id.startswith("<") else id


def shared_names(facts: Facts) -> dict[str, tuple[Bearer, ...]]:
    """The labels that several entities of a graph have, in alphabetical order.

    A title is the label with the kind of thing it is, and its number where that is not enough.
    """
    bearers: dict[str, dict[str, str]] = {}
    for name in facts.schema.concrete:
        noun = facts.schema.types[name].noun
        for entity in facts.members(name):
            bearers.setdefault(facts.label(entity), {}).setdefault(entity, noun)
    return {
        label: tuple(_titled(label, nouns))
        for label, nouns in sorted(bearers.items())
        if len(nouns) > 1
    }


def _titled(label: str, nouns: Mapping[str, str]) -> list[Bearer]:
    of_kind = list(nouns.values())
    return [
        Bearer(id, f"{label} ({noun})" if of_kind.count(noun) == 1 else f"{label} ({noun} {id})")
        for id, noun in nouns.items()
    ]
