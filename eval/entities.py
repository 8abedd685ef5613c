"""Which predicted texts stand for which gold entities.

Two texts are one entity where their keys agree (`normalise`), or where the predicted one agrees
with an alias. A name that carries a qualifier stands for the entity of that name of which gold
says nothing else (`qualifiers`). Where gold has several things of one name, and tells them apart,
the name alone stands for none of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from branchwise.corpora.questions import Answer
from branchwise.eval.qualifiers import ComparedName, Traits, read_name, traits_in, traits_of


@dataclass(frozen=True)
class Entity:
    """Gold answers that are one entity, ordered by text: their forms and Wikidata ids."""

    forms: frozenset[ComparedName]
    qids: frozenset[str]
    answers: tuple[Answer, ...] = ()
    descriptions: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.answers[0].text if self.answers else ""

    @property
    def support(self) -> frozenset[str]:
        """Ids of the passages that state it, empty where gold names none."""
        return frozenset(id for answer in self.answers for id in answer.support)

    def traits(self, head: str) -> Traits:
        """What gold says of it beside a name with this head."""
        return traits_of(self.forms, head, self.descriptions)


class Bearers:
    """Which entities of a question bear which name."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._bearers: dict[str, list[Entity]] = defaultdict(list)
        for entity in entities:
            for head in self.heads(entity):
                self._bearers[head].append(entity)
        self._told_apart: dict[str, bool] = {}

    def heads(self, entity: Entity) -> set[str]:
        """The names of an entity: its forms, and their heads where the rest is a qualifier."""
        return {name.head if name.certain else name.key for name in entity.forms} | {
            name.key for name in entity.forms
        }

    def is_unique(self, head: str) -> bool:
        """Whether one entity bears it. One text with several Wikidata ids is several."""
        bearers = self._bearers.get(head, ())
        return sum(max(1, len(entity.qids)) for entity in bearers) == 1

    def are_told_apart(self, head: str) -> bool:
        """Whether gold says of all its bearers what they are, and not the same."""
        bearers = self._bearers.get(head, ())
        if len(bearers) < 2:
            return False
        if (known := self._told_apart.get(head)) is None:
            traits = []
            for entity in bearers:
                names = [name for name in entity.forms if not name.is_phrase]
                traits.append(traits_of(names, head, entity.descriptions))
            differ = (own.contradicts(other) for own, other in combinations(traits, 2))
            known = self._told_apart[head] = all(traits) and any(differ)
        return known

    def fitting(self, name: ComparedName) -> list[Traits]:
        """What gold says of each bearer of the head that the qualifier fits."""
        given = traits_in(name.qualifier)
        known = [entity.traits(name.head) for entity in self._bearers.get(name.head, ())]
        return [own for own in known if given.supports(own) and not given.contradicts(own)]


class AnswerSet:
    """Gold entities in order of name, whose indices are looked up by predicted text."""

    def __init__(self, entities: Sequence[Entity], bearers: Bearers) -> None:
        self.entities = tuple(entities)
        self._bearers = bearers
        self._by_key: dict[str, set[int]] = defaultdict(set)
        for index, entity in enumerate(entities):
            for name in entity.forms:
                self._by_key[name.key].add(index)

    @cached_property
    def _by_head(self) -> Mapping[str, list[int]]:
        # Needed for texts only that no form of gold writes.
        by_head: dict[str, list[int]] = defaultdict(list)
        for index, entity in enumerate(self.entities):
            for head in self._bearers.heads(entity):
                by_head[head].append(index)
        return by_head

    def __len__(self) -> int:
        return len(self.entities)

    def written(self, key: str) -> set[int]:
        """Indices of the entities of which a form has this key."""
        return self._by_key.get(key, set())

    def matches(self, predicted: ComparedName) -> set[int]:
        """Indices of the entities that a predicted text may stand for."""
        if written := self.written(predicted.key):
            return set() if self._bearers.are_told_apart(predicted.key) else written
        if (bare := self._by_head.get(predicted.key)) or not predicted.qualifier:
            return set(bare or ()) if self._bearers.is_unique(predicted.key) else set()
        unique = self._bearers.is_unique(predicted.head)
        given, fitting = traits_in(predicted.qualifier), set()
        for index in self._by_head.get(predicted.head, ()):
            known = self.entities[index].traits(predicted.head)
            supported = given.supports(known) and (
                unique or len(self._bearers.fitting(predicted)) == 1
            )
            if ((unique and predicted.certain) or supported) and not given.contradicts(known):
                fitting.add(index)
        return fitting

    def is_ambiguous(self, predicted: ComparedName) -> bool:
        """Whether a text is the name of several entities, and does not say of which."""
        if not self._bearers.are_told_apart(predicted.head):
            return False
        return not predicted.qualifier or len(self._bearers.fitting(predicted)) > 1

    def matches_any(self, predicted: Iterable[ComparedName]) -> set[int]:
        return {index for form in predicted for index in self.matches(form)}


def distinct_forms(texts: Iterable[str]) -> list[list[ComparedName]]:
    """Predicted texts by key: those that agree after normalisation are one; empty ones are none."""
    by_key: dict[str, set[ComparedName]] = defaultdict(set)
    for text in texts:
        if text.strip():
            by_key[read_name(text).key].add(read_name(text))
    return [sorted(forms) for _, forms in sorted(by_key.items())]


def gold_sets(branches: Sequence[Sequence[Answer]]) -> tuple[AnswerSet, tuple[AnswerSet, ...]]:
    """The entities of a question, of all branches together and of each apart, with the aliases that
    their Wikidata ids have in any branch."""
    answers = [answer for branch in branches for answer in branch if answer.text.strip()]
    by_qid: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        if answer.qid:
            by_qid[answer.qid].append(answer)
    pooled = _merge(answers, by_qid)
    bearers = Bearers(pooled)
    return AnswerSet(pooled, bearers), tuple(
        AnswerSet(_merge(branch, by_qid), bearers) for branch in branches
    )


def _forms(answer: Answer) -> frozenset[ComparedName]:
    return frozenset(read_name(text) for text in answer.forms if text.strip())


def _merge(answers: Iterable[Answer], by_qid: Mapping[str, Sequence[Answer]]) -> list[Entity]:
    """Distinct entities by name: answers of one Wikidata id are one, and answers of one text are,
    where gold says nothing that tells them apart."""
    groups: list[list[Answer]] = []
    group_of: dict[tuple[str, str], int] = {}
    written = [answer for answer in answers if answer.text.strip()]
    apart = _told_apart(written)
    for answer in written:
        known = {group_of[mark] for mark in _marks(answer, apart) if mark in group_of}
        # The larger group absorbs the smaller one, so an answer moves at most log2(n) times.
        home = max(known, key=lambda index: len(groups[index]), default=len(groups))
        if not known:
            groups.append([])
        joined = [answer]
        for index in known - {home}:
            joined += groups[index]
            groups[index] = []
        groups[home] += joined
        group_of |= {mark: home for member in joined for mark in _marks(member, apart)}
    ordered = (sorted(group, key=_order) for group in groups if group)
    return [_entity(group, by_qid) for group in sorted(ordered, key=lambda group: _order(group[0]))]


def _order(answer: Answer) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    return answer.text, answer.qid or "", answer.aliases, answer.support


def _told_apart(answers: Iterable[Answer]) -> set[str]:
    """Keys of texts that answers with different Wikidata ids have, of which gold says different
    things."""
    by_key: dict[str, dict[str, list[Answer]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        if answer.qid:
            by_key[read_name(answer.text).key][answer.qid].append(answer)
    apart = set()
    for key, by_qid in by_key.items():
        if len(by_qid) < 2:
            continue
        known = []
        for same in by_qid.values():
            forms = frozenset(name for answer in same for name in _forms(answer))
            known.append(traits_of(forms, key, (answer.description or "" for answer in same)))
        if all(traits.contradicts(other) for traits, other in combinations(known, 2)):
            apart.add(key)
    return apart


def _marks(answer: Answer, apart: AbstractSet[str]) -> list[tuple[str, str]]:
    """The marks that an answer shares with every other answer of the same entity."""
    key = read_name(answer.text).key
    if answer.qid is None:
        return [("text", key)]
    return [("qid", answer.qid)] if key in apart else [("text", key), ("qid", answer.qid)]


def _entity(answers: Sequence[Answer], by_qid: Mapping[str, Sequence[Answer]]) -> Entity:
    same = {a for answer in answers for a in (by_qid[answer.qid] if answer.qid else [answer])}
    return Entity(
        frozenset(name for answer in same for name in _forms(answer)),
        frozenset(a.qid for a in answers if a.qid),
        tuple(answers),
        frozenset(answer.description for answer in same if answer.description),
    )
