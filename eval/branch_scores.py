"""Precision, recall and exact match over (branch, entity) pairs: strict and pooled."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from branchwise.corpora.questions import Answer, Branch
from branchwise.eval.alignment import Alignment, align
from branchwise.eval.entities import AnswerSet, Form, distinct_forms, gold_sets
from branchwise.eval.matching import matching_size
from branchwise.eval.normalise import normalise

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
    """The scored form of gold branches, the same whatever their order."""
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
            wrong += _count(texts, None, gold.pooled)[1]
        else:
            united[index].extend(texts)
    for index, texts in united.items():
        found, missed = _count(texts, gold.sets[index], gold.pooled)
        right, wrong = right + found, wrong + missed
    return SetScore(right, right + wrong, sum(map(len, gold.sets)))


def pooled_score(gold: GoldBranches, answers: Answers) -> SetScore:
    """An entity is right where any gold branch has it: branches are ignored on both sides."""
    texts = [text for branch in answers.values() for text in branch]
    right, wrong = _count(texts, gold.pooled, gold.pooled)
    return SetScore(right, right + wrong, len(gold.pooled))


def _count(texts: Iterable[str], target: AnswerSet | None, question: AnswerSet) -> tuple[int, int]:
    """How many entities of `target` the texts name, and how many other entities they name.

    Texts are paired with entities one-to-one, as many as can be. A text that names an entity of
    the target but is left over is another form of one already counted: neither right nor wrong,
    unless it is one of several with different disambiguators, which cannot be one entity.
    Wrong texts count once by entity too, where they write one of another branch out.
    """
    right: list[list[Form]] = []
    wrong_edges: list[set[int]] = []
    unknown = 0
    for forms in distinct_forms(texts):
        if target is not None and target.matches_any(forms):
            right.append(forms)
        # By key alone: through bare names, an added text could make two wrong ones one.
        elif edges := question.written(forms[0].key):
            wrong_edges.append(edges)
        else:
            unknown += 1
    if target is None:
        return 0, matching_size(wrong_edges) + unknown
    found = matching_size([target.matches_any(forms) for forms in right])
    rivals = min(_rivals(right, target), len(right) - found)
    return found, rivals + matching_size(wrong_edges) + unknown


def _rivals(named: Iterable[Sequence[Form]], target: AnswerSet) -> int:
    """How many texts too many have a disambiguator, for gold names that have none.

    "Heat (1986)" and "Heat (1995)" may each stand for "Heat", but two different disambiguators
    never match: to list them all must not be free.
    """
    keys: dict[str, set[str]] = defaultdict(set)
    for forms in named:
        for key, bare in forms:
            if key != bare and not target.written(key) and target.matches(Form(key, bare)):
                keys[bare].add(key)
    return sum(len(found) - 1 for found in keys.values())
