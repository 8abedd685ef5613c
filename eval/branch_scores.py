"""Precision, recall and exact match over (branch, entity) pairs: strict and pooled."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from branchwise.base.normalise import normalise
from branchwise.corpora.questions import Answer, Branch
from branchwise.eval.alignment import Alignment, align
from branchwise.eval.entities import AnswerSet, distinct_forms, gold_sets
from branchwise.eval.matching import matching, matching_size
from branchwise.eval.qualifiers import ComparedName, read_name

Answers = Mapping[str, Sequence[str]]
"""Predicted branch name to its entities."""


@dataclass(frozen=True)
class SetScore:
    """Counts of pairs (branch, entity): right ones, predicted ones, gold ones."""

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        """right / predicted; 0 for an empty prediction."""
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """right / gold; 0 without gold."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def em(self) -> float:
        """1 where precision and recall are both 1, else 0."""
        return float(0 < self.right == self.predicted == self.gold)


@dataclass(frozen=True)
class GoldBranches:
    """A question's gold as it is scored: names ordered and distinct, entities by branch and pooled.

    Branches whose names do not differ (but for case and punctuation) are one branch.
    """

    names: tuple[str, ...]
    sets: tuple[AnswerSet, ...]
    pooled: AnswerSet


def gold_branches(branches: Iterable[Branch]) -> GoldBranches:
    """The scored form of gold branches, independent of their order."""
    named: dict[str, list[Branch]] = defaultdict(list)
    for branch in branches:
        named[normalise(branch.name, articles=True)].append(branch)
    groups = [named[key] for key in sorted(named)]
    answers: list[list[Answer]] = [
        [a for branch in group for a in branch.answers] for group in groups
    ]
    pooled, sets = gold_sets(answers)
    return GoldBranches(tuple(min(branch.name for branch in g) for g in groups), sets, pooled)


def align_answers(gold: GoldBranches, answers: Answers) -> Alignment:
    """The lexical alignment of predicted branches."""
    return align(gold.names, answers)


def strict_score(gold: GoldBranches, answers: Answers, alignment: Alignment) -> SetScore:
    """An entity is right where the gold branch that its branch stands for has it.

    Predicted branches that stand for one gold branch are united. Everything in a branch that
    stands for none is wrong.
    """
    united: dict[int, list[str]] = defaultdict(list)
    right = wrong = 0
    for name, texts in answers.items():
        index = alignment[name]
        if index is None:
            wrong += match_texts(texts, None, gold.pooled).wrong_entities
        else:
            united[index].extend(texts)
    for index, texts in united.items():
        found = match_texts(texts, gold.sets[index], gold.pooled)
        right, wrong = right + len(found.right), wrong + found.wrong_entities
    return SetScore(right, right + wrong, sum(map(len, gold.sets)))


def pooled_score(gold: GoldBranches, answers: Answers) -> SetScore:
    """An entity is right where any gold branch has it: branches are ignored on both sides.

    Gold answers of all branches are one entity where they share their Wikidata number, or their
    text, whatever their numbers: without its branch, no predicted text could tell them apart. In
    `strict_score` those of one branch alone are. Of several forms of one entity one counts, as
    right; the others count nowhere. docs/reports.md says where a plain union counts otherwise.
    """
    texts = [text for branch in answers.values() for text in branch]
    found = match_texts(texts, gold.pooled, gold.pooled)
    right = len(found.right)
    return SetScore(right, right + found.wrong_entities, len(gold.pooled))


class TextMatches(NamedTuple):
    """What predicted texts stand for, each by its key (`distinct_forms`).

    `right`: key to the entity of the target that it counts as. `wrong`: keys that count as wrong,
    which are `wrong_entities` different ones: texts that write one gold entity out are one.
    """

    right: dict[str, int]
    wrong: tuple[str, ...]
    wrong_entities: int


def match_texts(texts: Iterable[str], target: AnswerSet | None, question: AnswerSet) -> TextMatches:
    """Which texts are entities of `target` (None: of no branch), and which are wrong.

    Texts are paired with entities one-to-one, as many as can be. A text that names an entity of
    the target but is left over is another form of one already counted: neither right nor wrong,
    unless it is one of several with different disambiguators, which cannot be one entity.
    Wrong texts count once by entity too, where they write one of another branch out.
    """
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
    wrong_entities = len(rivals) + matching_size([*written.values()]) + len(unknown)
    return TextMatches(right, tuple(sorted([*rivals, *written, *unknown])), wrong_entities)


def _paired(named: Mapping[str, Sequence[ComparedName]], target: AnswerSet) -> dict[str, int]:
    """Key to entity, one-to-one; with the entity of that name where it is free."""
    keys = sorted(named, key=lambda key: (not target.written(key), key))
    edges = [
        sorted(target.matches_any(named[key]), key=lambda e: (not _is_named(target, e, key), e))
        for key in keys
    ]
    return {keys[left]: entity for left, entity in matching(edges).items()}


def _is_named(target: AnswerSet, entity: int, key: str) -> bool:
    return any(read_name(answer.text).key == key for answer in target.entities[entity].answers)


def _rivals(
    named: Mapping[str, Sequence[ComparedName]], right: Mapping[str, int], target: AnswerSet
) -> list[str]:
    """Keys of texts too many with a disambiguator, for gold names that have none.

    "Heat (1986)" and "Heat (1995)" may each stand for "Heat", but two different disambiguators
    never match: to list them all must not be free.
    """
    by_head: dict[str, set[str]] = defaultdict(set)
    for forms in named.values():
        for name in forms:
            if name.qualifier and not target.written(name.key) and target.matches(name):
                by_head[name.head].add(name.key)
    left_over = sorted(named.keys() - right.keys(), reverse=True)
    too_many = sum(len(keys) - 1 for keys in by_head.values())
    first = [
        key
        for keys in by_head.values()
        for key in [key for key in left_over if key in keys][: len(keys) - 1]
    ]
    return [*dict.fromkeys([*first, *left_over])][:too_many]
