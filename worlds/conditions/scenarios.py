"""Scenarios in the making: which conditions are mentioned, with which values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from branchwise.corpora.conditions.documents import Scenario, ScenarioPart
from branchwise.worlds.conditions.domain import Claim, can_hold
from branchwise.worlds.conditions.drafts import DraftDocument
from branchwise.worlds.conditions.sentences import told

PER_GROUP = 5
"""Choices of conditions for a group of documents, each with two sets of values."""
TRUE_SHARE = 0.8
"""How often a value of the second set is true."""
_RELEVANT, _IRRELEVANT = (1, 5), (1, 10)
"""Conditions of each of the group's documents, and of other documents, that are mentioned."""


class ClaimMention(NamedTuple):
    """A sentence that tells one claim, and the conditions that claim it."""

    text: str
    claim: Claim
    value: bool
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class DraftScenario:
    """A scenario of which the words may still change. `all_true`: of the first set of values."""

    id: str
    documents: tuple[str, ...]
    opening: str
    mentions: tuple[ClaimMention, ...]
    all_true: bool

    def reworded(self, texts: Sequence[str]) -> "DraftScenario":
        """With other words for the mentions, in their order."""
        pairs = zip(self.mentions, texts, strict=True)
        mentions = tuple(one._replace(text=text) for one, text in pairs)
        return DraftScenario(self.id, self.documents, self.opening, mentions, self.all_true)

    def finished(self) -> Scenario:
        opening = ScenarioPart(self.opening, MappingProxyType({}))
        parts = (
            ScenarioPart(one.text, MappingProxyType(dict.fromkeys(one.conditions, one.value)))
            for one in self.mentions
        )
        return Scenario(self.id, self.documents, (opening, *parts))


class ScenarioDraw:
    """Draws scenarios for groups of some documents. `openings` are by domain."""

    def __init__(
        self,
        documents: Sequence[DraftDocument],
        openings: Mapping[str, Sequence[str]],
        rng: Random,
    ) -> None:
        self._documents = {document.id: document for document in documents}
        self._openings, self._rng = openings, rng
        self.tries = 0

    def of_group(self, number: int, group: Sequence[str]) -> Iterator[DraftScenario]:
        """The group's scenarios, without those in which someone could not be as they say, and
        second sets of values that are all true."""
        for choice in range(1, PER_GROUP + 1):
            chosen = self._chosen(group)
            for all_true in (True, False):
                self.tries += 1
                share = 1.0 if all_true else TRUE_SHARE
                values = {id: self._rng.random() < share for id in chosen}
                claimed = [(chosen[id], value) for id, value in values.items()]
                repeats = not all_true and all(values.values())
                opening = self._rng.choice(self._openings[self._documents[group[0]].domain])
                mentions = tuple(self._mentions(chosen, values))
                if can_hold(claimed) and not repeats:
                    id = f"g{number}-{choice}{'a' if all_true else 'b'}"
                    yield DraftScenario(id, tuple(group), opening, mentions, all_true)

    def _chosen(self, group: Sequence[str]) -> dict[str, Claim]:
        """Conditions by id, in the order in which they are mentioned."""
        chosen: dict[str, Claim] = {}
        for id in group:
            claims = self._documents[id].claims
            count = min(self._rng.randint(*_RELEVANT), len(claims))
            chosen |= {
                f"{id}-{name}": claims[name] for name in self._rng.sample(list(claims), count)
            }
        chosen |= self._irrelevant(group)
        order = list(chosen)
        self._rng.shuffle(order)
        return {id: chosen[id] for id in order}

    def _irrelevant(self, group: Sequence[str]) -> dict[str, Claim]:
        """Conditions of other documents, in respects in which the group's ask for nothing."""
        asked = {claim.facet for id in group for claim in self._documents[id].claims.values()}
        others = [
            (f"{document.id}-{name}", claim)
            for document in self._documents.values()
            for name, claim in document.claims.items()
            if claim.facet not in asked
        ]
        self._rng.shuffle(others)
        each = {claim.facet: (id, claim) for id, claim in others}
        wanted = self._rng.randint(*_IRRELEVANT)
        return dict(list(each.values())[:wanted])

    def _mentions(
        self, chosen: Mapping[str, Claim], values: Mapping[str, bool]
    ) -> Iterator[ClaimMention]:
        """A sentence each; equal claims are told once, unless their values differ."""
        told_by: dict[tuple[str, frozenset[str], bool], list[str]] = {}
        for id, claim in chosen.items():
            told_by.setdefault((claim.facet, claim.means, values[id]), []).append(id)
        for (_, _, value), ids in told_by.items():
            claim = chosen[ids[0]]
            text = told(self._rng.choice(claim.phrases), value=value)
            yield ClaimMention(text, claim, value, tuple(ids))
