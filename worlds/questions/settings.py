"""What is to be generated, and what came of it."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from branchwise.base.errors import InputError
from branchwise.kg.schema import Schema
from branchwise.worlds.domains import world_schema
from branchwise.worlds.questions.drafts import PlanLimits


@dataclass(frozen=True)
class Settings:
    """How many questions, over what. Raises InputError for what cannot be.

    `ambiguous`: the share of questions with several readings. `domains`: by name, the schema's
    relations that are the domain's own; `common`: those that all domains have. `patience`: a
    domain that so many tries in a row bring no question from is given up.
    """

    questions: int
    ambiguous: float
    domains: Mapping[str, Collection[str]]
    common: Collection[str] = ()
    seed: int = 1
    limits: PlanLimits = field(default_factory=PlanLimits)
    patience: int = 1_000

    def __post_init__(self) -> None:
        if self.questions < 1:
            raise InputError(
                f"{self.questions} questions cannot be made", remedy="ask for 1 or more"
            )
        if not 0 <= self.ambiguous <= 1:
            raise InputError(
                f"{self.ambiguous:g} of the questions cannot be ambiguous",
                remedy="give a share between 0 and 1",
            )
        if not self.domains:
            raise InputError("no domain is named")

    @property
    def wanted(self) -> dict[bool, int]:
        """How many ambiguous (True) and other questions."""
        ambiguous = round(self.questions * self.ambiguous)
        return {True: ambiguous, False: self.questions - ambiguous}


@dataclass
class GenerationTally:
    """What became of all tries. `rejected`: by reason; `exhausted`: domains that were given up."""

    accepted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    exhausted: list[str] = field(default_factory=list)

    @property
    def tries(self) -> int:
        """All of them."""
        return self.accepted + self.rejected.total()


def whole_schema(name: str, schema: Schema) -> dict[str, Collection[str]]:
    """A schema that is one domain."""
    return {name: tuple(schema.relations)}


def world_domains(
    world: Sequence[str], chosen: Sequence[str]
) -> tuple[dict[str, Collection[str]], tuple[str, ...]]:
    """The relations of each chosen domain of a world, and those that all domains have.

    A relation is of a domain when there is none without it. Raises InputError for a domain that
    the world does not have.
    """
    if unknown := [name for name in chosen if name not in world]:
        raise InputError(
            f"the world has no domain {unknown[0]!r}", remedy=f"choose among {', '.join(world)}"
        )
    everything = world_schema(world).relations
    common = tuple(world_schema(()).relations)
    domains: dict[str, Collection[str]] = {}
    for name in dict.fromkeys(chosen):
        others = world_schema([other for other in world if other != name]).relations
        domains[name] = tuple(n for n in everything if n not in others)
    return domains, common
