"""Where questions come from: a world or another graph, and how many are asked for."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.kg.open import is_address, open_kg
from branchwise.kg.schema import Schema, check_types, load_domain, merge
from branchwise.kg.world_folder import KG_FILE, NAMES_FILE, WORLD_FILE, read_description
from branchwise.worlds.domains import world_schema
from branchwise.worlds.questions.ambiguity import SharedNames, read_names, shared_names
from branchwise.worlds.questions.drafts import PlanLimits
from branchwise.worlds.questions.endpoint_facts import EndpointFacts
from branchwise.worlds.questions.facts import Facts, KgFacts
from branchwise.worlds.questions.statements import FACTS_FOLDER
from branchwise.worlds.questions.support import Support


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


CORPUS_FILE = "corpus.jsonl"
SUPPORT_FOLDER = "support"
"""Where it is kept what a world's passages state."""


@dataclass(frozen=True)
class FactSource:
    """Facts with the names that are shared in them, and relations by domain.

    `close` lets go of an endpoint's connections.
    """

    facts: Facts
    names: SharedNames
    domains: Mapping[str, Collection[str]]
    common: Collection[str] = ()
    support: Support | None = None
    close: Callable[[], None] = lambda: None


def open_source(
    kg: str,
    *,
    schema: Path | None = None,
    names: Path | None = None,
    corpus: Path | None = None,
    domains: Sequence[str] = (),
    keys: Keys = NO_KEYS,
) -> FactSource:
    """A world's folder, which has everything; or any graph (its folder, a file of triples, an
    endpoint's address) with a schema in YAML.

    Without a file of names, labels that several entities have are taken. `domains`: none stands
    for all. An endpoint gets its own of the `keys`. Raises InputError, and
    KgError where an endpoint does not answer.
    """
    folder = None if is_address(kg) else _world_folder(Path(kg))
    close: Callable[[], None] = _nothing
    if folder is not None and schema is None:
        world = read_description(folder)
        own, common = world_domains(world.domains, domains or world.domains)
        facts: Facts = KgFacts.load(
            folder / KG_FILE, world_schema(world.domains), folder / FACTS_FOLDER
        )
        names = names or folder / NAMES_FILE
        corpus, kept = corpus or folder / CORPUS_FILE, None if corpus else folder / SUPPORT_FOLDER
    else:
        kept = None
        declared, own = _declared(schema, domains)
        (facts, close), common = _facts(kg, declared, keys), ()
    return FactSource(
        facts,
        read_names(names) if names else shared_names(facts),
        own,
        common,
        Support.load(corpus / CORPUS_FILE if corpus.is_dir() else corpus, kept) if corpus else None,
        close,
    )


def _world_folder(path: Path) -> Path | None:
    """The folder of the world that a path means; its graph may be built within.

    Raises InputError where the path leads nowhere: it would be taken for a graph without a schema.
    """
    if not path.exists():
        raise InputError(
            "no such file or folder", where=str(path), remedy="name a world, a graph or its triples"
        )
    return next((p for p in (path, path.parent) if (p / WORLD_FILE).is_file()), None)


def _declared(
    schema: Path | None, domains: Sequence[str]
) -> tuple[Schema, dict[str, Collection[str]]]:
    """The schema in a file, as one domain that is called as the file."""
    if schema is None:
        raise InputError(
            "a graph that is not a world needs a schema", remedy="name its YAML file with --schema"
        )
    name = schema.stem
    domain = load_domain(schema)
    try:
        check_types(merge({name: domain}, keep=True))
    except InputError as error:
        remedy = "declare every type under `types`; none may descend from itself"
        raise InputError(error.what, where=f"{schema}, {error.where}", remedy=remedy) from None
    declared = merge({name: domain})
    if others := [domain for domain in domains if domain != name]:
        raise InputError(
            f"there is no domain {others[0]!r} in it",
            where=str(schema),
            remedy="leave --domains out",
        )
    return declared, whole_schema(name, declared)


def _facts(kg: str, schema: Schema, keys: Keys) -> tuple[Facts, Callable[[], None]]:
    """The facts, and what closes them."""
    if is_address(kg):
        opened = open_kg(kg, keys)
        return EndpointFacts(opened, schema), opened.close
    return KgFacts.load(Path(kg), schema), _nothing


def _nothing() -> None:
    """Nothing is open."""
