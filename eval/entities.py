"""Which predicted texts stand for which gold entities.

Two texts are one entity where their keys agree (`normalise`), or where the predicted one agrees
with an alias. A trailing disambiguator, "(1976 film)", is ignored only when one side lacks it and
the bare name belongs to one entity of the whole question; two different ones never match, not
even through an alias that lacks it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from branchwise.corpora.normalise import MAX_CHARACTERS, normalise
from branchwise.corpora.questions import Answer

_DISAMBIGUATOR = re.compile(r"(.*\S)\s*[(\uff08][^()\uff08\uff09]*[)\uff09]\s*", re.DOTALL)


class ComparedText(NamedTuple):
    """A text as it is compared: its key, and its key without a trailing disambiguator."""

    key: str
    bare: str


@dataclass(frozen=True)
class Entity:
    """Gold answers that are one entity: all their forms, and the Wikidata ids they carry.

    `answers` are ordered by their text, which is the entity's name: that of the first.
    """

    forms: frozenset[ComparedText]
    qids: frozenset[str]
    answers: tuple[Answer, ...] = ()

    @property
    def name(self) -> str:
        """How it is shown."""
        return self.answers[0].text if self.answers else ""

    @property
    def support(self) -> frozenset[str]:
        """Ids of the passages that state it, empty where gold names none."""
        return frozenset(id for answer in self.answers for id in answer.support)


@dataclass(frozen=True)
class BareNames:
    """Bare names in a question: those of one entity only, and those seen with a disambiguator."""

    unique: frozenset[str]
    disambiguated: frozenset[str]


class AnswerSet:
    """Gold entities to be found, looked up by predicted text in constant time.

    `entities` are ordered by name; the indices that look-ups return are indices into them.
    """

    def __init__(self, entities: Sequence[Entity], names: BareNames) -> None:
        self.entities = tuple(entities)
        self._names = names
        self._by_key: dict[str, set[int]] = defaultdict(set)
        self._by_bare: dict[str, set[int]] = defaultdict(set)
        for index, entity in enumerate(entities):
            for key, bare in entity.forms:
                self._by_key[key].add(index)
                self._by_bare[bare].add(index)

    def __len__(self) -> int:
        return len(self.entities)

    def written(self, key: str) -> set[int]:
        """Indices of the entities of which a form has this key."""
        return self._by_key.get(key, set())

    def matches(self, predicted: ComparedText) -> set[int]:
        """Indices of the entities that a predicted text may stand for."""
        key, bare = predicted
        found = set(self.written(key))
        names = self._names
        if bare in names.unique and (key == bare or bare not in names.disambiguated):
            found |= self._by_bare.get(bare, set())
        return found

    def matches_any(self, predicted: Iterable[ComparedText]) -> set[int]:
        """Indices of the entities that any of these forms may stand for."""
        return {index for form in predicted for index in self.matches(form)}


@lru_cache(maxsize=16_384)
def form(text: str) -> ComparedText:
    """The compared form of a text; `bare` equals `key` if it has no disambiguator."""
    text = text[:MAX_CHARACTERS]
    key = normalise(text)
    without = _DISAMBIGUATOR.fullmatch(text)
    return ComparedText(key, normalise(without[1]) if without else key)


def distinct_forms(texts: Iterable[str]) -> list[list[ComparedText]]:
    """Predicted texts by key: those that agree after normalisation are one prediction.

    Empty texts are none.
    """
    by_key: dict[str, set[ComparedText]] = defaultdict(set)
    for text in texts:
        if text.strip():
            by_key[form(text).key].add(form(text))
    return [sorted(forms) for _, forms in sorted(by_key.items())]


def gold_sets(branches: Sequence[Sequence[Answer]]) -> tuple[AnswerSet, tuple[AnswerSet, ...]]:
    """The entities of a question, of all branches together and of each apart.

    An entity keeps in one branch the aliases that its Wikidata id has in another.
    """
    answers = [answer for branch in branches for answer in branch if answer.text.strip()]
    by_qid: dict[str, set[ComparedText]] = defaultdict(set)
    for answer in answers:
        if answer.qid:
            by_qid[answer.qid].update(_forms(answer))
    pooled = _merge(answers, by_qid)
    names = _bare_names(pooled)
    return AnswerSet(pooled, names), tuple(
        AnswerSet(_merge(branch, by_qid), names) for branch in branches
    )


def _forms(answer: Answer) -> frozenset[ComparedText]:
    return frozenset(form(text) for text in answer.forms if text.strip())


def _merge(answers: Iterable[Answer], by_qid: Mapping[str, set[ComparedText]]) -> list[Entity]:
    """Distinct entities: answers of one text are one (no prediction could tell them apart), and
    answers of one Wikidata id are. Ordered by name, independent of the order of the answers.
    """
    groups: list[list[Answer]] = []
    group_of: dict[tuple[str, str], int] = {}
    for answer in answers:
        if not answer.text.strip():
            continue
        known = {group_of[mark] for mark in _marks(answer) if mark in group_of}
        # The larger group absorbs the smaller one, so an answer moves at most log2(n) times.
        home = max(known, key=lambda index: len(groups[index]), default=len(groups))
        if not known:
            groups.append([])
        moved = [other for index in known - {home} for other in groups[index]]
        for index in known - {home}:
            groups[index] = []
        for member in (answer, *moved):
            groups[home].append(member)
            group_of.update(dict.fromkeys(_marks(member), home))
    ordered = sorted((sorted(group, key=_order) for group in groups if group), key=_first)
    return [_entity(group, by_qid) for group in ordered]


def _order(answer: Answer) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    return answer.text, answer.qid or "", answer.aliases, answer.support


def _first(group: Sequence[Answer]) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    return _order(group[0])


def _marks(answer: Answer) -> list[tuple[str, str]]:
    """The marks that an answer shares with every other answer of the same entity."""
    text = ("text", form(answer.text).key)
    return [text, ("qid", answer.qid)] if answer.qid else [text]


def _entity(answers: Sequence[Answer], by_qid: Mapping[str, set[ComparedText]]) -> Entity:
    forms: set[ComparedText] = set()
    for answer in answers:
        forms |= by_qid[answer.qid] if answer.qid else _forms(answer)
    return Entity(frozenset(forms), frozenset(a.qid for a in answers if a.qid), tuple(answers))


def _bare_names(entities: Sequence[Entity]) -> BareNames:
    """Which entities have which bare name; entities of one text but several Wikidata ids are
    several."""
    owners: dict[str, int] = defaultdict(int)
    disambiguated: set[str] = set()
    for entity in entities:
        for bare in {bare for _, bare in entity.forms}:
            owners[bare] += max(1, len(entity.qids))
        disambiguated.update(bare for key, bare in entity.forms if key != bare)
    unique = frozenset(bare for bare, count in owners.items() if count == 1)
    return BareNames(unique, frozenset(disambiguated))
