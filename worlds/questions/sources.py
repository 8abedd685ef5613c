"""What questions are made from: their number, the facts of a graph, passages that state them."""

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from branchwise.base.errors import InputError
from branchwise.base.files import parse_object, read_lines
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.corpora.kept_arrays import PackedTexts, file_origin, kept_arrays, packed
from branchwise.kg.open import is_address, open_kg
from branchwise.kg.schema import ENDED, Schema, check_types, load_domain, merge
from branchwise.kg.world_folder import KG_FILE, NAMES_FILE, WORLD_FILE, read_description
from branchwise.worlds.domains import world_schema
from branchwise.worlds.questions.ambiguity import SharedNames, read_names, shared_names
from branchwise.worlds.questions.drafts import PlanLimits
from branchwise.worlds.questions.facts import EndpointFacts, Facts, KgFacts
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Join,
    Members,
    Plan,
    PlanExecution,
    Union,
    meets,
)
from branchwise.worlds.questions.statements import FACTS_FOLDER

if TYPE_CHECKING:
    from branchwise.corpora.kept_arrays import Arrays


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


CORPUS_FILE = "corpus.jsonl"
SUPPORT_FOLDER = "support"
"""Where it is kept what a world's passages state."""


@dataclass(frozen=True)
class FactSource:
    """Facts, the names shared in them, relations by domain. `close` ends connections."""

    facts: Facts
    names: SharedNames
    domains: Mapping[str, Collection[str]]
    common: Collection[str] = ()
    support: "Support | None" = None
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


Ids = tuple[str, ...]


class Support:
    """Passage ids by what they state: subject, property ("P127 ended" for what was so before),
    value. Statements are known by 64 bits of a hash: of ten million, two share one with a
    probability of 1 in 400,000."""

    def __init__(self, arrays: "Arrays") -> None:
        self._keys, self._passages = arrays["keys"], arrays["passages"]
        self._ids = PackedTexts(arrays["id"], arrays["id_starts"])

    @classmethod
    def load(cls, corpus: Path, keep: Path | None = None) -> "Support":
        """From a corpus whose passages have `statements`, as a world's have; kept in `keep` for as
        long as the file is the same. Raises InputError for another file (with the line)."""
        origin = {"corpus and former": file_origin(corpus)} if corpus.is_file() else {}
        return cls(kept_arrays(keep, origin, lambda: _read(corpus)))

    def ids(self, subject: str, number: str, value: str) -> Ids:
        """The passages that state this, in the corpus's order; none where it is not told."""
        key = np.frombuffer(_key(subject, number, value), dtype=np.uint64)
        first, end = (int(self._keys.searchsorted(key, side)[0]) for side in ("left", "right"))
        return tuple(self._ids[place] for place in self._passages[first:end].tolist())


def _key(subject: Any, number: Any, value: Any) -> bytes:
    return blake2b(f"{subject} {number} {value}".encode(), digest_size=8).digest()


def _read(corpus: Path) -> "Arrays":
    keys, counts, ids = bytearray(), array("I"), []
    for number, line in read_lines(corpus):
        passage = parse_object(line, f"{corpus}:{number}")
        try:
            stated = [_key(*statement) for statement in passage.get("statements", ())]
            stated += [_key(s, number + ENDED, v) for s, number, v in passage.get("former", ())]
            ids.append(passage["id"])
            if not isinstance(ids[-1], str):
                raise TypeError
        except (KeyError, TypeError, ValueError):
            problem = "has no id, or statements that are not [subject, property, value]"
            raise InputError(problem, where=f"{corpus}:{number}") from None
        keys += b"".join(stated)
        counts.append(len(stated))
    id, id_starts = packed(ids)
    every = np.frombuffer(keys, dtype=np.uint64)
    order = np.argsort(every, kind="stable")
    passages = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    return {"keys": every[order], "passages": passages[order], "id": id, "id_starts": id_starts}


def support_of(
    plan: Plan, execution: PlanExecution, facts: Facts, support: Support
) -> dict[str, Ids]:
    """For each answer, sorted, the passages that state what leads to it, first steps first. All
    that lead to it are given: every one of the films that an actor appeared in, not one of them; of
    a union both sides; of a difference the first side, since nothing states the other's."""
    trail = _Trail(plan, execution.sets, facts, support)
    last = len(plan.steps) - 1
    return {answer: trail.ids(last, answer) for answer in sorted(execution.answers)}


class _Trail:
    """The way back from a step's member to what it came from; each way is worked out once."""

    def __init__(self, plan: Plan, sets: Sequence[Members], facts: Facts, support: Support) -> None:
        self._plan, self._sets = plan, sets
        self._facts, self._support = facts, support
        self.ids = cache(self._ids)
        self._origins = cache(self._find_origins)

    def _ids(self, place: int, member: str) -> Ids:
        return tuple(dict.fromkeys(self._behind(place, member)))

    def _behind(self, place: int, member: str) -> Iterator[str]:
        step = self._plan.steps[place]
        match step:
            case Atomic():
                yield from self._stated(step, step.entity, member)
            case Join() | GroupBy():
                origins = self._origins(place)[member]
                for origin in origins:
                    yield from self.ids(step.of, origin)
                for origin in origins:
                    yield from self._stated(step, origin, member)
            case Filter():
                yield from self.ids(step.of, member)
                related = self._facts.related(step.relation, False, (member,))
                for value in related.get(member, ()):
                    if meets(step.condition, value):
                        yield from self._stated(step, member, value)
            case _:
                sources = step.sources[:1] if isinstance(step, Difference) else step.sources
                for source in sources:
                    if not isinstance(step, Union) or member in self._sets[source]:
                        yield from self.ids(source, member)

    def _find_origins(self, place: int) -> dict[str, list[str]]:
        step = self._plan.steps[place]
        assert isinstance(step, Join | GroupBy)
        reached: dict[str, list[str]] = {}
        before = sorted(self._sets[step.of])
        for origin, values in self._facts.related(step.relation, step.inverse, before).items():
            for value in values:
                reached.setdefault(value, []).append(origin)
        return reached

    def _stated(self, step: Atomic | Join | GroupBy | Filter, start: str, end: str) -> Ids:
        number = self._facts.schema.relations[step.relation].kept_as()
        if not isinstance(step, Filter) and step.inverse:
            start, end = end, start
        return self._support.ids(start, number, end)
