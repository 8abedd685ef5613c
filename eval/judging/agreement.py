"""How far the lexical and the LLM matcher agree: Cohen's kappa over branch pairs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from branchwise.eval.alignment import Alignment
from branchwise.eval.items import AnsweredItem, GoldKey
from branchwise.eval.judging.matcher import NamesToMatch, names_to_match

BranchMapping = Mapping[str, str | None]
"""Predicted branch name to the name of its gold branch, None if it stands for none."""


@dataclass(frozen=True)
class Disagreement:
    """A question on which the matchers differ: both mappings of the names in question.

    `epoch` is the first with these names.
    """

    id: str
    epoch: int
    lexical: BranchMapping
    llm: BranchMapping

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "lexical": dict(self.lexical), "llm": dict(self.llm)}


@dataclass(frozen=True)
class Agreement:
    """Counts of (predicted branch, gold branch) pairs by which matcher aligned them.

    `questions`: how many different (question, predicted names) the pairs come from.
    """

    both: int
    lexical_only: int
    llm_only: int
    neither: int
    questions: int
    differences: tuple[Disagreement, ...]

    @property
    def pairs(self) -> int:
        return self.both + self.lexical_only + self.llm_only + self.neither

    @property
    def observed(self) -> float | None:
        """Share of the pairs on which both agree; None without pairs."""
        return (self.both + self.neither) / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa (Cohen 1960, A coefficient of agreement for nominal scales), -1 to 1.

        With p_o the observed agreement and p_e the one expected by chance, were the matchers
        independent with the shares of aligned pairs that each has, p_1 and p_2,

            kappa = (p_o - p_e) / (1 - p_e),    p_e = p_1 p_2 + (1 - p_1)(1 - p_2).

        None if it is undefined: without pairs, or if p_e is 1, that is, both matchers aligned every
        pair or both aligned none.
        """
        # In whole numbers, so that p_e = 1 is exact: everything times n squared.
        n = self.pairs
        lexical, llm = self.both + self.lexical_only, self.both + self.llm_only
        chance = lexical * llm + (n - lexical) * (n - llm)
        if chance == n * n:
            return None
        return ((self.both + self.neither) * n - chance) / (n * n - chance)

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable, differences by name."""
        return {
            "kappa": self.kappa,
            "observed": self.observed,
            "pairs": self.pairs,
            "both": self.both,
            "lexical_only": self.lexical_only,
            "llm_only": self.llm_only,
            "neither": self.neither,
            "questions": self.questions,
            "differences": [difference.to_json() for difference in self.differences],
        }


def agreement(items: Iterable[AnsweredItem]) -> Agreement:
    """The agreement over all items that a model aligned (`Matched.by` is `llm`).

    The pairs of a question are all of its predicted names with all of its gold names, as in the
    model's request: without `default`, which no matcher decides. Items of one question with the
    same names (epochs) count once for each of its gold sets. Where the model's reply was unusable,
    nothing is compared.
    """
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    differences: list[Disagreement] = []
    seen: set[tuple[GoldKey, tuple[tuple[str, ...], ...]]] = set()
    for item in items:
        names = names_to_match(item)
        if item.matched is None or item.matched.by != "llm" or names is None:
            continue
        if (item.gold_key, names.rows) in seen:
            continue
        seen.add((item.gold_key, names.rows))
        lexical, llm = names.lexical, item.matched.alignment
        for row in names.rows:
            for column in names.columns:
                counts[lexical[row[0]] == column, llm[row[0]] == column] += 1
        if any(lexical[row[0]] != llm[row[0]] for row in names.rows):
            mappings = _named(names, lexical), _named(names, llm)
            differences.append(Disagreement(item.question.id, item.epoch, *mappings))
    both, lexical_only, llm_only, neither = counts.values()
    return Agreement(both, lexical_only, llm_only, neither, len(seen), tuple(differences))


def _named(names: NamesToMatch, alignment: Alignment) -> BranchMapping:
    found: dict[str, str | None] = {}
    for row in names.rows:
        index = alignment[row[0]]
        found[row[0]] = None if index is None else names.gold[index]
    return found
