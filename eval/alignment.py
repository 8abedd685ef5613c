"""The lexical alignment: which gold branch each predicted branch stands for, by names alone.

Names are compared by what sets the gold branches apart. Let T_j be the tokens of gold name j of n
(one that comes again in it counts as another one), and df(t) the number of gold names with token
t. A token weighs ln(n / df(t)), so one that is in all gold names weighs nothing; neither does one
that is in none. The similarity of a predicted name with tokens Q and gold name j is Dice's
coefficient by weight,

    s = 2 w(Q and T_j) / (w(Q) + w(T_j)),

0 where both names give years that not all gold names have and share none of them ("Heat (1986)" is
never "Heat (1995)", however much else agrees), and 1 where the names are the same text. Articles
count only where gold names differ in nothing else ("Heat", "The Heat").
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.eval.normalise import MAX_CHARACTERS, normalise, tokens

MATCHER = "lexical"

LEFTOVER_THRESHOLD = 0.5
"""Above it, two names share more of the weight that sets branches apart than they do not share.

Below it, a leftover is more likely a reading of its own than another wording of a gold branch.
"""

Alignment = Mapping[str, int | None]
"""Predicted branch name to the index of its gold branch, None where it stands for none."""

_YEAR = re.compile(r"1\d{3}|20\d{2}")


@dataclass(frozen=True)
class _Name:
    key: str
    tokens: frozenset[str]

    @property
    def years(self) -> frozenset[str]:
        words = (token.split()[0] for token in self.tokens)
        return frozenset(word for word in words if _YEAR.fullmatch(word))


def align(gold: Sequence[str], predicted: Iterable[str]) -> Alignment:
    """Map each predicted branch name to one gold branch or to none.

    First the one-to-one optimum (the greatest sum of similarities), in which similarity 0 aligns
    nothing; then each leftover joins the gold branch most similar to it, if that is above
    `LEFTOVER_THRESHOLD`. `default` aligns only with `default`, and no other name does. With one
    gold branch, every name aligns with it. Only names count, empty branches take part like any
    other: no answer can change an alignment. Ties are broken by name, so the order of branches
    changes nothing, in the gold or in the prediction.
    """
    names = sorted(set(predicted))
    if len(gold) == 1:
        return dict.fromkeys(names, 0)
    alignment: dict[str, int | None] = dict.fromkeys(names)
    default = next((i for i, name in enumerate(gold) if is_default(name)), None)
    alignment |= {name: default for name in names if is_default(name)}
    columns = sorted((i for i in range(len(gold)) if i != default), key=lambda i: gold[i])
    rows = [name for name in names if not is_default(name)]
    if rows and columns:
        matrix = similarities([gold[i] for i in columns], rows)
        for row, column in _assign(matrix).items():
            alignment[rows[row]] = columns[column]
    return alignment


def similarities(gold: Sequence[str], predicted: Sequence[str]) -> list[list[float]]:
    """Similarity of each predicted name (rows) with each gold name (columns), 0 to 1."""
    articles = len({normalise(name[:MAX_CHARACTERS]) for name in gold}) < len(gold)
    columns = [_name(name, articles) for name in gold]
    frequency = Counter(token for name in columns for token in name.tokens)
    weights = {t: math.log(len(gold) / n) for t, n in frequency.items()}
    columns = [_telling(name, weights) for name in columns]
    rows = [_telling(_name(name, articles), weights) for name in predicted]
    return [[_similarity(row, column, weights) for column in columns] for row in rows]


def is_default(name: str) -> bool:
    """Whether a name is `default`, which aligns with no named branch."""
    return name.strip().casefold() == DEFAULT_BRANCH


def _name(text: str, articles: bool) -> _Name:
    text = text[:MAX_CHARACTERS]
    found: Counter[str] = Counter()
    # A token that comes again is another one: "1984 (1984 film)" has a year, "1984 (play)" none.
    for token in tokens(text, articles=articles):
        found[token] += 1
        if found[token] > 1:
            found[f"{token} {found[token]}"] = 0
    return _Name(normalise(text, articles=articles), frozenset(found))


def _telling(name: _Name, weights: Mapping[str, float]) -> _Name:
    """The name without the tokens that all gold names share.

    Tokens of no gold name stay: they weigh nothing, but a year among them may contradict.
    """
    return _Name(name.key, frozenset(t for t in name.tokens if weights.get(t, 1.0) > 0.0))


def _similarity(predicted: _Name, gold: _Name, weights: Mapping[str, float]) -> float:
    if predicted.key == gold.key:
        return 1.0
    shared = predicted.tokens & gold.tokens
    years, gold_years = predicted.years, gold.years
    if not shared or (years and gold_years and years.isdisjoint(gold_years)):
        return 0.0
    total = _weight(predicted.tokens, weights) + _weight(gold.tokens, weights)
    # Below 1, so that a name that only has the same tokens never displaces the name itself.
    return min(2 * _weight(shared, weights) / total, 0.999)


def _weight(name: AbstractSet[str], weights: Mapping[str, float]) -> float:
    """Exactly rounded: the order of a set must not decide between two equal similarities."""
    return math.fsum(weights.get(token, 0.0) for token in name)


def _assign(matrix: Sequence[Sequence[float]]) -> dict[int, int]:
    """Row to column: the one-to-one optimum, then the leftovers above the threshold."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(matrix, maximize=True)
    chosen = zip(rows.tolist(), columns.tolist(), strict=True)
    assigned = {row: column for row, column in chosen if matrix[row][column] > 0}
    for row, values in enumerate(matrix):
        best = max(values)
        if row not in assigned and best > LEFTOVER_THRESHOLD:
            assigned[row] = values.index(best)
    return assigned
