"""Documents, relations and scenarios as MDCR has them, drawn by a seed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb
from random import Random
from types import MappingProxyType
from typing import Any

from branchwise.base.errors import InputError
from branchwise.corpora.conditions.conditions_set import ConditionsSet
from branchwise.corpora.conditions.documents import ConditionRelation
from branchwise.corpora.conditions.minimal_groups import TooManyGroupsError
from branchwise.corpora.conditions.solver import solve
from branchwise.corpora.conditions.statistics import PUBLISHED_MDCR
from branchwise.worlds.conditions.domain import DOMAINS, document_domain, related
from branchwise.worlds.conditions.drafts import DraftDocument, draft_document
from branchwise.worlds.conditions.scenarios import DraftScenario, ScenarioDraw

_PUBLISHED = PUBLISHED_MDCR.groups


@dataclass(frozen=True)
class MdcrSettings:
    """How much is to be made. Raises InputError for what cannot be.

    `documents` are of all domains in turn; `groups` have sizes in the published shares;
    `scenarios`: at most so many; None: all that come about.
    """

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
                raise InputError(
                    f"{self.documents} documents do not make {count} groups of {size}",
                    remedy="ask for more documents or fewer groups",
                )


@dataclass(frozen=True)
class DraftSet:
    """Everything before it is put into a file; `tries`: scenarios that were drawn, before those
    were left out that contradict themselves or have answers without end."""

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
    found = {size: int(share) for size, share in exact.items()}
    by_remainder = sorted(exact, key=lambda size: (found[size] - exact[size], size))
    for size in by_remainder[: groups - sum(found.values())]:
        found[size] += 1
    return found


def draft_set(settings: MdcrSettings) -> DraftSet:
    """The same settings give the same set."""
    documents = tuple(_documents(settings))
    empty = DraftSet(documents, tuple(_relations(documents)))
    texts = [document_domain(name).texts for name in DOMAINS]
    openings = {one.plural: one.scenarios for one in texts}
    draw = ScenarioDraw(documents, openings, _random(settings, "scenarios"))
    drawn = _answerable(empty.finished(), _scenarios(draw, _groups(documents, settings)))
    scenarios = tuple(islice(drawn, settings.scenarios))
    return replace(empty, scenarios=scenarios, tries=draw.tries)


def _scenarios(draw: ScenarioDraw, groups: Sequence[Sequence[str]]) -> Iterator[DraftScenario]:
    for number, group in enumerate(groups, start=1):
        yield from draw.of_group(number, group)


def _answerable(
    found: ConditionsSet, scenarios: Iterable[DraftScenario]
) -> Iterator[DraftScenario]:
    """Those of which every answer has an end."""
    for scenario in scenarios:
        finished = scenario.finished()
        with suppress(TooManyGroupsError):
            for kind in finished.kinds:
                solve(found.problem(finished, kind))
            yield scenario


def _documents(settings: MdcrSettings) -> Iterator[DraftDocument]:
    rng = _random(settings, "documents")
    domains = [document_domain(name) for name in DOMAINS]
    names = [rng.sample(domain.texts.names, len(domain.texts.names)) for domain in domains]
    for number in range(settings.documents):
        domain = domains[number % len(domains)]
        name = names[number % len(domains)].pop().replace("-", " ")
        title = rng.choice(domain.texts.titles).format(name)
        yield draft_document(f"doc{number + 1}", title, domain, rng)


def _relations(documents: Sequence[DraftDocument]) -> Iterator[ConditionRelation]:
    """Between all conditions of different documents that are related."""
    for one, other in combinations(documents, 2):
        for first, claim in one.claims.items():
            for second, another in other.claims.items():
                if found := related(claim, another):
                    kind, first_is_narrower = found
                    ends = (f"{one.id}-{first}", f"{other.id}-{second}")
                    if kind == "inclusive" and not first_is_narrower:
                        ends = ends[::-1]
                    yield ConditionRelation(kind, *ends)


def _groups(documents: Sequence[DraftDocument], settings: MdcrSettings) -> list[tuple[str, ...]]:
    """Distinct sets of documents of one domain, in random order."""
    rng = _random(settings, "groups")
    by_domain: dict[str, list[str]] = {}
    for document in documents:
        by_domain.setdefault(document.domain, []).append(document.id)
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for size, count in sizes(settings.groups).items():
        wanted = len(found) + count
        while len(found) < wanted:
            group = rng.sample(rng.choice(list(by_domain.values())), size)
            found.setdefault(frozenset(group), tuple(group))
    listed = list(found.values())
    rng.shuffle(listed)
    return listed


def _random(settings: MdcrSettings, stream: str) -> Random:
    return Random(f"{settings.seed}/{stream}")


def _check(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InputError(
            f"{value} {what} cannot be made", remedy=f"ask for {least} to {most:,} {what}"
        )
