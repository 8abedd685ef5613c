"""Documents, relations and scenarios from the domains, and a control set of the same size."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from math import comb
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from branchwise.base.errors import InputError
from branchwise.corpora.conditions.documents import (
    ConditionRelation,
    ConditionsSet,
    Scenario,
    ScenarioPart,
)
from branchwise.corpora.conditions.minimal_groups import TooManyGroupsError
from branchwise.corpora.conditions.question import PUBLISHED_MDCR
from branchwise.corpora.conditions.solver import solve
from branchwise.worlds.conditions.domain import DOMAINS, Claim, can_hold, document_domain, related
from branchwise.worlds.conditions.drafts import DocumentDraw, DraftDocument, filled, first_person


def single_documents(whole: ConditionsSet, seed: int) -> ConditionsSet:
    """As many scenarios, drawn from all pairs of a scenario and one of its documents, in order.
    Each keeps the parts that tell values of the document's own conditions, or none at all."""
    pairs = [(scenario, id) for scenario in whole.scenarios for id in scenario.documents]
    chosen = sorted(Random(f"{seed}/control").sample(range(len(pairs)), len(whole.scenarios)))
    scenarios = []
    for scenario, id in (pairs[place] for place in chosen):
        own = {condition.id for condition in whole.documents[id].conditions}
        parts = []
        for part in scenario.parts:
            values = {name: value for name, value in part.values.items() if name in own}
            if values or not part.values:
                parts.append(ScenarioPart(part.text, MappingProxyType(values)))
        scenarios.append(Scenario(f"{scenario.id}-{id}", (id,), tuple(parts), scenario.kinds))
    about = {**whole.about, "single_documents": {"seed": seed}}
    return replace(whole, scenarios=tuple(scenarios), about=about)


GENERATOR = 3
"""Raised when the same settings make other questions; files without it are of the first."""
PER_GROUP = 10
"""How many scenarios are drawn for a group of documents."""
TRUE_SHARE = 0.75
"""How often a value is true."""
MOST_ALL = 0.05
"""The greatest share of scenarios that grant all documents: as rare as in published ones."""
_RELEVANT = {1: 413, 2: 158, 3: 51, 4: 29, 5: 11}
_IRRELEVANT = {0: 27, 1: 149, 2: 51, 3: 21, 4: 6, 5: 3, 6: 1}
"""How many conditions of each document of a group, and of others, published scenarios mention."""


class ClaimMention(NamedTuple):
    """A sentence that tells one claim, and the conditions that claim it."""

    text: str
    claim: Claim
    value: bool
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class DraftScenario:
    """A scenario of which the words may still change."""

    id: str
    documents: tuple[str, ...]
    opening: str
    mentions: tuple[ClaimMention, ...]

    def reworded(self, texts: Sequence[str]) -> "DraftScenario":
        """With other words for the mentions, in their order."""
        pairs = zip(self.mentions, texts, strict=True)
        return replace(self, mentions=tuple(mention._replace(text=text) for mention, text in pairs))

    def finished(self) -> Scenario:
        opening = ScenarioPart(self.opening, MappingProxyType({}))
        parts = (
            ScenarioPart(m.text, MappingProxyType(dict.fromkeys(m.conditions, m.value)))
            for m in self.mentions
        )
        return Scenario(self.id, self.documents, (opening, *parts))


class ScenarioDraw:
    """Draws scenarios for groups of some documents. `openings` are by domain."""

    def __init__(
        self, documents: Sequence[DraftDocument], openings: Mapping[str, Sequence[str]], rng: Random
    ) -> None:
        self._documents = {document.id: document for document in documents}
        self._openings, self._rng = openings, rng
        self.tries = 0

    def scenario(self, id: str, group: Sequence[str]) -> DraftScenario | None:
        """None where nobody could be as it says."""
        self.tries += 1
        chosen = self._chosen(group)
        values = {id: self._rng.random() < TRUE_SHARE for id in chosen}
        opening = self._rng.choice(self._openings[self._documents[group[0]].domain])
        mentions = tuple(self._mentions(chosen, values))
        if not can_hold([(chosen[id], value) for id, value in values.items()]):
            return None
        return DraftScenario(id, tuple(group), filled(opening, self._rng), mentions)

    def _count(self, weights: Mapping[int, int]) -> int:
        return self._rng.choices(list(weights), list(weights.values()))[0]

    def _chosen(self, group: Sequence[str]) -> dict[str, Claim]:
        """Conditions by id, as they are mentioned: the group's, and others that it never asks."""
        chosen: dict[str, Claim] = {}
        for id in group:
            claims = self._documents[id].claims
            count = min(self._count(_RELEVANT), len(claims))
            names = self._rng.sample(list(claims), count)
            chosen |= {f"{id}-{name}": claims[name] for name in names}
        domain = self._documents[group[0]].domain
        asked = {claim.facet for id in group for claim in self._documents[id].claims.values()}
        others = [
            (f"{document.id}-{name}", claim)
            for document in self._documents.values()
            for name, claim in document.claims.items()
            if document.domain == domain and claim.facet not in asked
        ]
        self._rng.shuffle(others)
        each = {claim.facet: (id, claim) for id, claim in others}
        chosen |= dict(list(each.values())[: self._count(_IRRELEVANT)])
        order = list(chosen)
        self._rng.shuffle(order)
        return {id: chosen[id] for id in order}

    def _mentions(
        self, chosen: Mapping[str, Claim], values: Mapping[str, bool]
    ) -> Iterator[ClaimMention]:
        """A sentence each; equal claims are told once, unless their values differ."""
        told_by: dict[tuple[str, frozenset[str], bool], list[str]] = {}
        for id, claim in chosen.items():
            told_by.setdefault((claim.facet, claim.means, values[id]), []).append(id)
        for (_, _, value), ids in told_by.items():
            claim = chosen[ids[0]]
            text = first_person(self._rng.choice(claim.phrases), value=value)
            yield ClaimMention(text, claim, value, tuple(ids))


_PUBLISHED = PUBLISHED_MDCR.groups


@dataclass(frozen=True)
class MdcrSettings:
    """How much is to be made: `documents` of all domains in turn, `groups` of sizes in published
    shares, at most so many `scenarios` (None: all). Raises InputError for what cannot be."""

    documents: int = 40
    groups: int = sum(_PUBLISHED.values())
    scenarios: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        most = len(DOMAINS) * min(len(document_domain(name).texts.names) for name in DOMAINS)
        _check("documents", self.documents, 2 * len(DOMAINS), most)
        _check("groups", self.groups, 1, 100_000)
        if self.scenarios is not None:
            _check("scenarios", self.scenarios, 1, 10 * self.groups)
        fewest = self.documents // len(DOMAINS)
        for size, count in sizes(self.groups).items():
            if count > len(DOMAINS) * comb(fewest, size):
                problem = f"{self.documents} documents do not make {count} groups of {size}"
                raise InputError(problem, remedy="ask for more documents or fewer groups")


@dataclass(frozen=True)
class DraftSet:
    """Everything before it is put into a file; `tries`: scenarios that were drawn, also those that
    contradict themselves, have endless answers, or are too many that grant all documents."""

    documents: tuple[DraftDocument, ...]
    relations: tuple[ConditionRelation, ...]
    scenarios: tuple[DraftScenario, ...] = ()
    tries: int = 0

    def finished(self, about: Mapping[str, Any] = MappingProxyType({})) -> ConditionsSet:
        """`about` says how it was made."""
        documents = {document.id: document.finished() for document in self.documents}
        scenarios = tuple(scenario.finished() for scenario in self.scenarios)
        return ConditionsSet("generated", documents, self.relations, scenarios, about)


def sizes(groups: int) -> dict[int, int]:
    """So many groups by their number of documents, in the published shares (largest remainders)."""
    total = sum(_PUBLISHED.values())
    exact = {size: groups * count / total for size, count in _PUBLISHED.items()}
    counts = {size: int(share) for size, share in exact.items()}
    by_remainder = sorted(exact, key=lambda size: (counts[size] - exact[size], size))
    for size in by_remainder[: groups - sum(counts.values())]:
        counts[size] += 1
    return counts


def draft_set(settings: MdcrSettings) -> DraftSet:
    """The same settings give the same set."""
    documents = tuple(_documents(settings))
    empty = DraftSet(documents, tuple(_relations(documents)))
    texts = [document_domain(name).texts for name in DOMAINS]
    openings = {domain.plural: domain.scenarios for domain in texts}
    draw = ScenarioDraw(documents, openings, _random(settings, "scenarios"))
    conditions = empty.finished()

    def answerable() -> Iterator[DraftScenario]:
        """Those of which every answer has an end; few in which all documents can be had. One of
        each group, then a second of each, so that a few scenarios are about many groups."""
        count = having_all = 0
        groups = list(enumerate(_groups(documents, settings), start=1))
        for choice, (number, group) in product(range(1, PER_GROUP + 1), groups):
            scenario = draw.scenario(f"g{number}-{choice}", group)
            if scenario is None:
                continue
            finished = scenario.finished()
            with suppress(TooManyGroupsError):
                kinds = finished.kinds
                answers = {k: solve(conditions.problem(finished, k)).answer.short for k in kinds}
                has_all = answers["q2"] == "yes"
                if not has_all or having_all + 1 <= MOST_ALL * (count + 1):
                    having_all += has_all
                    count += 1
                    yield scenario

    scenarios = tuple(islice(answerable(), settings.scenarios))
    return replace(empty, scenarios=scenarios, tries=draw.tries)


def _documents(settings: MdcrSettings) -> Iterator[DraftDocument]:
    rng = _random(settings, "documents")
    draws = [DocumentDraw(document_domain(name), rng) for name in DOMAINS]
    for number in range(settings.documents):
        yield draws[number % len(draws)].document(f"doc{number + 1}")


def _relations(documents: Sequence[DraftDocument]) -> Iterator[ConditionRelation]:
    for left, right in combinations(documents, 2):
        for (first, claim), (second, other) in product(left.claims.items(), right.claims.items()):
            if relation := related(claim, other):
                kind, first_is_narrower = relation
                ends = (f"{left.id}-{first}", f"{right.id}-{second}")
                turned = kind == "inclusive" and not first_is_narrower
                yield ConditionRelation(kind, *(ends[::-1] if turned else ends))


def _groups(documents: Sequence[DraftDocument], settings: MdcrSettings) -> list[tuple[str, ...]]:
    rng = _random(settings, "groups")
    by_domain: dict[str, list[str]] = {}
    for document in documents:
        by_domain.setdefault(document.domain, []).append(document.id)
    groups: dict[frozenset[str], tuple[str, ...]] = {}
    for size, count in sizes(settings.groups).items():
        wanted = len(groups) + count
        while len(groups) < wanted:
            group = rng.sample(rng.choice(list(by_domain.values())), size)
            groups.setdefault(frozenset(group), tuple(group))
    listed = list(groups.values())
    rng.shuffle(listed)
    return listed


def _random(settings: MdcrSettings, stream: str) -> Random:
    return Random(f"{settings.seed}/{stream}")


def _check(noun: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        remedy = f"ask for {least} to {most:,} {noun}"
        raise InputError(f"{value} {noun} cannot be made", remedy=remedy)
