"""Which predicted text stands for which gold entity, pair by pair, as the strict score counts."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from branchwise.eval.alignment import Alignment
from branchwise.eval.branch_scores import Answers, GoldBranches, match_texts
from branchwise.eval.qualifiers import read_name


class GoldPair(NamedTuple):
    """A gold entity under a gold branch: indices into `GoldBranches.names` and its set there."""

    branch: int
    entity: int


class Right(NamedTuple):
    """A predicted text that was counted as a gold entity under its own branch."""

    pair: GoldPair
    branch: str
    text: str


class Wrong(NamedTuple):
    """A predicted text that was counted as wrong, under its predicted branch."""

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
    """The pairs that `strict_score` counts, in order of gold branch and text.

    Of texts that differ in case or punctuation only, in one predicted branch or in united ones,
    one stands for all. The order of branches and answers changes nothing.
    """
    right: list[Right] = []
    wrong: list[Wrong] = []
    for index, branches in _united(answers, alignment):
        written = _written(branches, answers)
        target = None if index is None else gold.sets[index]
        texts = [text for name in branches for text in answers[name]]
        found = match_texts(texts, target, gold.pooled)
        if index is not None:
            named = sorted((entity, key) for key, entity in found.right.items())
            right += [Right(GoldPair(index, entity), *written[key]) for entity, key in named]
        wrong += [Wrong(*written[key]) for key in found.wrong]
    counted = {match.pair for match in right}
    missing = [pair for pair in gold_pairs(gold) if pair not in counted]
    return BranchMatches(tuple(right), tuple(missing), tuple(wrong))


def gold_pairs(gold: GoldBranches) -> list[GoldPair]:
    """All pairs of a question, in order."""
    return [
        GoldPair(branch, entity)
        for branch, entities in enumerate(gold.sets)
        for entity in range(len(entities))
    ]


def _united(answers: Answers, alignment: Alignment) -> list[tuple[int | None, list[str]]]:
    """Predicted branches by what they stand for: united by gold branch, else each on its own."""
    aligned: dict[int, list[str]] = defaultdict(list)
    alone: list[tuple[int | None, list[str]]] = []
    for name in sorted(answers):
        index = alignment[name]
        if index is None:
            alone.append((None, [name]))
        else:
            aligned[index].append(name)
    return [*sorted(aligned.items()), *alone]


def _written(branches: Iterable[str], answers: Answers) -> dict[str, tuple[str, str]]:
    """Key to the first (branch, text) that writes it."""
    texts = sorted((name, text) for name in branches for text in answers[name] if text.strip())
    written: dict[str, tuple[str, str]] = {}
    for name, text in texts:
        written.setdefault(read_name(text).key, (name, text))
    return written
