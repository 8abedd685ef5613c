"""Precision, recall and exact match over (branch, entity) pairs, strict and pooled, and the pairs.

Predicted texts are paired with gold entities one-to-one, as many as can be: a maximum bipartite
matching, which no order of branches or answers changes.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from branchwise.base.normalise import normalise
from branchwise.corpora.questions import Branch
from branchwise.eval.alignment import Alignment, align
from branchwise.eval.entities import AnswerSet, distinct_forms, gold_sets
from branchwise.eval.qualifiers import ComparedName, read_name

Answers = Mapping[str, Sequence[str]]
"""Predicted branch name to its entities."""


def matching(edges: Sequence[Collection[int]]) -> dict[int, int]:
    """Most pairs {i: j} with j in edges[i] such that no i and no j is used twice, earlier ones
    rather than later ones. Augmenting paths (Kuhn 1955), O(len(edges) x pairs); without recursion,
    so that a long prediction cannot exhaust the stack."""
    holder: dict[int, int] = {}
    held: dict[int, int] = {}
    for start in range(len(edges)):
        reached_from: dict[int, int] = {}
        free = _free_partner(start, edges, holder, reached_from)
        # Swap matched and unmatched pairs on the path from the free partner back to the start.
        while free is not None:
            left = reached_from[free]
            holder[free], held[left], free = left, free, held.get(left)
            if left == start:
                break
    return held


def _free_partner(
    start: int,
    edges: Sequence[Collection[int]],
    holder: Mapping[int, int],
    reached_from: dict[int, int],
) -> int | None:
    """A partner that no one holds, reached by moving holders over; notes the way to it."""
    waiting = [start]
    while waiting:
        left = waiting.pop()
        for right in edges[left]:
            if right not in reached_from:
                reached_from[right] = left
                if right not in holder:
                    return right
                waiting.append(holder[right])
    return None


@dataclass(frozen=True)
class SetScore:
    """Counts of pairs (branch, entity): right ones, predicted ones, gold ones."""

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 0.0

    @property
    def em(self) -> float:
        """1 where precision and recall are both 1, else 0."""
        return float(0 < self.right == self.predicted == self.gold)


@dataclass(frozen=True)
class GoldBranches:
    """A question's gold as it is scored: distinct names in order, entities by branch and pooled."""

    names: tuple[str, ...]
    sets: tuple[AnswerSet, ...]
    pooled: AnswerSet


def gold_branches(branches: Iterable[Branch]) -> GoldBranches:
    """The scored form of gold branches, independent of their order."""
    named: dict[str, list[Branch]] = defaultdict(list)
    for branch in branches:
        named[normalise(branch.name, articles=True)].append(branch)
    groups = [named[key] for key in sorted(named)]
    pooled, sets = gold_sets([[a for branch in group for a in branch.answers] for group in groups])
    return GoldBranches(tuple(min(branch.name for branch in g) for g in groups), sets, pooled)


def align_answers(gold: GoldBranches, answers: Answers) -> Alignment:
    return align(gold.names, answers)


def strict_score(gold: GoldBranches, answers: Answers, alignment: Alignment) -> SetScore:
    """An entity is right where the gold branch that its branch stands for has it. Predicted
    branches that stand for one gold branch are united. Everything in a branch that stands for none
    is wrong."""
    united: dict[int, list[str]] = defaultdict(list)
    right = wrong = 0
    for name, texts in answers.items():
        index = alignment[name]
        if index is None:
            wrong += match_texts(texts, None, gold.pooled).wrong_entities
        else:
            united[index].extend(texts)
    for index, texts in united.items():
        matches = match_texts(texts, gold.sets[index], gold.pooled)
        right, wrong = right + len(matches.right), wrong + matches.wrong_entities
    return SetScore(right, right + wrong, sum(map(len, gold.sets)))


def pooled_score(gold: GoldBranches, answers: Answers) -> SetScore:
    """An entity is right where any gold branch has it: branches are ignored on both sides. Gold
    answers of all branches are one entity where they share their Wikidata number, or their text,
    whatever their numbers: without its branch, no predicted text could tell them apart. In
    `strict_score` those of one branch alone are. Of several forms of one entity one counts, as
    right; the others count nowhere. docs/reports.md says where a plain union counts otherwise."""
    texts = [text for branch in answers.values() for text in branch]
    matches = match_texts(texts, gold.pooled, gold.pooled)
    right = len(matches.right)
    return SetScore(right, right + matches.wrong_entities, len(gold.pooled))


class TextMatches(NamedTuple):
    """What predicted texts stand for, by key: `right` to the entity that it counts as; `wrong`,
    which are `wrong_entities` different ones."""

    right: dict[str, int]
    wrong: tuple[str, ...]
    wrong_entities: int


def match_texts(texts: Iterable[str], target: AnswerSet | None, question: AnswerSet) -> TextMatches:
    """Which texts are entities of `target` (None: of no branch), and which are wrong. Texts are
    paired with entities one-to-one, as many as can be. A text that names an entity of the target
    but is left over is another form of one already counted: neither right nor wrong, unless it is
    one of several with different disambiguators, which cannot be one entity. Wrong texts count once
    by entity too, where they write one of another branch out."""
    named: dict[str, list[ComparedName]] = {}
    written: dict[str, set[int]] = {}
    unknown: list[str] = []
    for forms in distinct_forms(texts):
        key = forms[0].key
        if target is not None and target.matches_any(forms):
            named[key] = forms
        # By key alone: through bare names, an added text could make two wrong ones one.
        elif edges := question.written(key):
            written[key] = edges
        else:
            unknown.append(key)
    right = {} if target is None else _paired(named, target)
    rivals = [] if target is None else _rivals(named, right, target)
    wrong_entities = len(rivals) + len(matching([*written.values()])) + len(unknown)
    return TextMatches(right, tuple(sorted([*rivals, *written, *unknown])), wrong_entities)


def _paired(named: Mapping[str, Sequence[ComparedName]], target: AnswerSet) -> dict[str, int]:
    """Key to entity, one-to-one; with the entity of that name where it is free."""
    keys = sorted(named, key=lambda key: (not target.written(key), key))
    edges: list[list[int]] = []
    for key in keys:
        entities = {e: target.entities[e].answers for e in sorted(target.matches_any(named[key]))}
        own = [e for e, same in entities.items() if key in {read_name(a.text).key for a in same}]
        edges.append([*dict.fromkeys((*own, *entities))])
    return {keys[left]: entity for left, entity in matching(edges).items()}


def _rivals(
    named: Mapping[str, Sequence[ComparedName]], right: Mapping[str, int], target: AnswerSet
) -> list[str]:
    """Keys of texts too many with a disambiguator, for gold names that have none: to list "Heat
    (1986)" and "Heat (1995)" for "Heat" must not be free."""
    by_head: dict[str, set[str]] = defaultdict(set)
    for forms in named.values():
        for name in forms:
            if name.qualifier and not target.written(name.key) and target.matches(name):
                by_head[name.head].add(name.key)
    left_over = sorted(named.keys() - right.keys(), reverse=True)
    too_many = sum(len(keys) - 1 for keys in by_head.values())
    first: list[str] = []
    for keys in by_head.values():
        first += [key for key in left_over if key in keys][: len(keys) - 1]
    return [*dict.fromkeys([*first, *left_over])][:too_many]


class GoldPair(NamedTuple):
    """A gold entity under a gold branch: indices into `GoldBranches.names` and its set there."""

    branch: int
    entity: int


class Right(NamedTuple):
    """A predicted text that counts as a gold entity under its own branch."""

    pair: GoldPair
    branch: str
    text: str


class Wrong(NamedTuple):
    """A predicted text that counts as wrong, under its predicted branch."""

    branch: str
    text: str


@dataclass(frozen=True, slots=True)
class BranchMatches:
    """The pairs behind a `SetScore`: `right`, `wrong`, and the gold pairs that are `missing`.
    len(right) is the score's `right`, len(right) + len(missing) its `gold`. `wrong` names at least
    as many texts as are counted wrong: several texts that write one entity of another branch out
    are one wrong entity. Texts that are further forms of an entity already counted are in neither.
    """

    right: tuple[Right, ...]
    missing: tuple[GoldPair, ...]
    wrong: tuple[Wrong, ...]


def branch_matches(gold: GoldBranches, answers: Answers, alignment: Alignment) -> BranchMatches:
    """The pairs that `strict_score` counts, in order of gold branch and text. Of texts that differ
    in case or punctuation only, under one gold branch, one stands for all."""
    right: list[Right] = []
    wrong: list[Wrong] = []
    for index, branches in _united(answers, alignment):
        # The first branch and text that write a key.
        written: dict[str, tuple[str, str]] = {}
        for name, text in sorted((key, text) for key in branches for text in answers[key]):
            if text.strip():
                written.setdefault(read_name(text).key, (name, text))
        target = None if index is None else gold.sets[index]
        texts = [text for name in branches for text in answers[name]]
        matches = match_texts(texts, target, gold.pooled)
        if index is not None:
            named = sorted((entity, key) for key, entity in matches.right.items())
            right += [Right(GoldPair(index, entity), *written[key]) for entity, key in named]
        wrong += [Wrong(*written[key]) for key in matches.wrong]
    counted = {match.pair for match in right}
    missing = [pair for pair in gold_pairs(gold) if pair not in counted]
    return BranchMatches(tuple(right), tuple(missing), tuple(wrong))


def gold_pairs(gold: GoldBranches) -> list[GoldPair]:
    return [
        GoldPair(branch, entity)
        for branch, entities in enumerate(gold.sets)
        for entity in range(len(entities))
    ]


def _united(answers: Answers, alignment: Alignment) -> list[tuple[int | None, list[str]]]:
    """Predicted branches by what they stand for: united by gold branch, else each on its own."""
    aligned: dict[int, list[str]] = defaultdict(list)
    for name in sorted(answers):
        if (index := alignment[name]) is not None:
            aligned[index].append(name)
    alone = [(None, [name]) for name in sorted(answers) if alignment[name] is None]
    return [*sorted(aligned.items()), *alone]
