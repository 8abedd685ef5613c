"""Numbers that a benchmark's paper published, as files; they are never mixed with measured ones."""

from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

Subset = Literal["unambiguous", "ambiguous"]


class PublishedScores(BaseModel):
    """Means over questions, 0 to 1, with the digits that were printed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    precision: float
    recall: float
    em: float


class PublishedSystem(BaseModel):
    """A row of a paper: the system, the number of the table there, and its scores by subset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    table: int
    unambiguous: PublishedScores
    ambiguous: PublishedScores

    def scores(self, subset: Subset) -> PublishedScores:
        """The scores on one subset."""
        return self.ambiguous if subset == "ambiguous" else self.unambiguous


class Published(BaseModel):
    """What a paper published on its benchmark, and what must be said wherever it is shown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: str
    paper: str
    notes: tuple[str, ...]
    systems: tuple[PublishedSystem, ...]


@cache
def published(benchmark: str | None) -> Published | None:
    """The published numbers of a benchmark; None where it has none here.

    `benchmark` comes from a question file: it is compared with names, never used as a path.
    """
    for file in files(__package__).iterdir():
        if file.name.endswith(".yaml") and file.name == f"{benchmark}.yaml":
            import yaml

            return Published.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    return None
