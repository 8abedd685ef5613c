"""What questions are made from: their number, the facts of a graph, passages that state them."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.corpora.folder import CORPUS_FILE
from branchwise.kg.open import is_address, open_kg
from branchwise.kg.schema import Schema, check_types, load_domain, merge
from branchwise.kg.world_folder import KG_FILE, NAMES_FILE, WORLD_FILE, read_description
from branchwise.worlds.domains import world_schema
from branchwise.worlds.questions.ambiguity import SharedNames, read_names, shared_names
from branchwise.worlds.questions.drafts import PlanLimits
from branchwise.worlds.questions.endpoint_facts import EndpointFacts
from branchwise.worlds.questions.facts import Facts, KgFacts
from branchwise.worlds.questions.statements import FACTS_FOLDER
from branchwise.worlds.questions.support import SUPPORT_FOLDER, Support

QUOTA_FROM = 300
"""A set of so many questions has no name in more than a hundredth of them."""


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
    patience: int = 20_000

    def __post_init__(self) -> None:
        if self.questions < 1:
            problem = f"{self.questions} questions cannot be made"
            raise InputError(problem, remedy="ask for 1 or more")
        if not 0 <= self.ambiguous <= 1:
            problem = f"{self.ambiguous:g} of the questions cannot be ambiguous"
            raise InputError(problem, remedy="give a share between 0 and 1")
        if not self.domains:
            raise InputError("no domain is named")

    @property
    def most_of_a_name(self) -> int | None:
        """How many questions may have one name: a hundredth; any number in a small set."""
        return self.questions // 100 if self.questions >= QUOTA_FROM else None

    @property
    def wanted(self) -> dict[bool, int]:
        """How many ambiguous (True) and other questions."""
        ambiguous = round(self.questions * self.ambiguous)
        return {True: ambiguous, False: self.questions - ambiguous}


@dataclass
class GenerationTally:
    """What became of all tries. `rejected`: by reason; `exhausted`: domains that were given up;
    `choices`: plans that a `model` chose an entity for and, where it named none, the `draw`."""

    accepted: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    exhausted: list[str] = field(default_factory=list)
    choices: Counter[str] = field(default_factory=Counter)

    @property
    def tries(self) -> int:
        return self.accepted + self.rejected.total()


def world_domains(
    world: Sequence[str], chosen: Sequence[str]
) -> tuple[dict[str, Collection[str]], tuple[str, ...]]:
    """The relations of each chosen domain (those that a world without it lacks), and those that all
    domains have. Raises InputError for a domain that the world does not have."""
    if unknown := [name for name in chosen if name not in world]:
        remedy = f"choose among {', '.join(world)}"
        raise InputError(f"the world has no domain {unknown[0]!r}", remedy=remedy)
    everything = world_schema(world).relations
    common = tuple(world_schema(()).relations)
    domains: dict[str, Collection[str]] = {}
    for name in dict.fromkeys(chosen):
        others = world_schema([other for other in world if other != name]).relations
        domains[name] = tuple(n for n in everything if n not in others)
    return domains, common


@dataclass(frozen=True)
class FactSource:
    """Facts, the names shared in them, relations by domain. `close` ends connections."""

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
    for all. Raises InputError, and KgError where an endpoint does not answer.
    """
    path, world, kept = Path(kg), None, None
    close: Callable[[], None] = lambda: None  # noqa: E731
    common: tuple[str, ...] = ()
    facts: Facts
    if not is_address(kg):
        if not path.exists():  # it would be taken for a graph without a schema
            remedy = "name a world, a graph or its triples"
            raise InputError("no such file or folder", where=kg, remedy=remedy)
        # A world's graph may be built within its folder.
        world = next((p for p in (path, path.parent) if (p / WORLD_FILE).is_file()), None)
    if world is not None and schema is None:
        described = read_description(world)
        own, common = world_domains(described.domains, domains or described.domains)
        whole = world_schema(described.domains)
        facts = KgFacts.load(world / KG_FILE, whole, world / FACTS_FOLDER)
        names = names or world / NAMES_FILE
        corpus, kept = corpus or world / CORPUS_FILE, None if corpus else world / SUPPORT_FOLDER
    else:
        declared, own = _declared(schema, domains)
        if is_address(kg):
            opened = open_kg(kg, keys)
            facts, close = EndpointFacts(opened, declared), opened.close
        else:
            facts = KgFacts.load(path, declared)
    shared = read_names(names) if names else shared_names(facts)
    support = None
    if corpus:
        support = Support.load(corpus / CORPUS_FILE if corpus.is_dir() else corpus, kept)
    return FactSource(facts, shared, own, common, support, close)


def _declared(
    schema: Path | None, domains: Sequence[str]
) -> tuple[Schema, dict[str, Collection[str]]]:
    """The schema in a file, as one domain that is called as the file."""
    if schema is None:
        remedy = "name its YAML file with --schema"
        raise InputError("a graph that is not a world needs a schema", remedy=remedy)
    name = schema.stem
    domain = load_domain(schema)
    try:
        check_types(merge({name: domain}, keep=True))
    except InputError as error:
        remedy = "declare every type under `types`; none may descend from itself"
        raise InputError(error.what, where=f"{schema}, {error.where}", remedy=remedy) from None
    declared = merge({name: domain})
    if others := [domain for domain in domains if domain != name]:
        problem = f"there is no domain {others[0]!r} in it"
        raise InputError(problem, where=str(schema), remedy="leave --domains out")
    return declared, {name: tuple(declared.relations)}
