"""What an article tells of others: a fact of theirs in a clause, within a sentence of its own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from branchwise.worlds.facts import Fact, FactKind, FactValue
from branchwise.worlds.telling.mentions import EntityMentions
from branchwise.worlds.telling.places import Strays
from branchwise.worlds.telling.sentences import Sentences
from branchwise.worlds.world import World

ToldValue = tuple[int, Fact, FactValue]
"""Whose fact is told, the fact, and its value."""


class StrayClause(NamedTuple):
    """ "Ernesto Ezewale, who was born in Malenza", two others of the type, and what it tells."""

    text: str
    beside: tuple[str, str]
    told: ToldValue


class StrayClauses:
    """Makes the clauses that a host's article tells."""

    def __init__(
        self,
        world: World,
        strays: Strays,
        mentions: EntityMentions,
        sentences: Sequence[Sentences],
        random: Callable[[], float],
    ) -> None:
        """`sentences`: by number of type."""
        self._world, self._strays, self._mentions = world, strays, mentions
        self._sentences, self._random = sentences, random

    def told_by(self, host: int) -> list[StrayClause]:
        clauses = []
        for entity, name, content in self._strays.told_by(host):
            sentences = self._sentences[self._world.type_number(entity)]
            fact = sentences.facts[name]
            value = next(v for v in fact.values(entity) if v.content == content)
            variants = sentences.prose.clauses[name]
            variant = variants[int(self._random() * len(variants))]
            subject = sentences.subject(entity)
            slot = variant.tells[0][0]
            clause = sentences.join(variant.parts, subject, False, {slot: [value]})
            if fact.kind is FactKind.NUMBER and value.begin:
                clause += f" (since {value.begin})"
            beside = (sentences.other(subject), sentences.other(subject))
            text = f"{self._mentions.mention(entity)}, {clause}"
            clauses.append(StrayClause(text, beside, (entity, fact, value)))
        return clauses
