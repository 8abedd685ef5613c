"""The lexical alignment: which gold branch each predicted branch stands for, by names alone.

Names are compared by what sets the gold branches apart (`name_words`). Let T_j be the words of
gold name j of n (one that comes again in it counts as another one), and df(t) the number of gold
names with word t. A word weighs ln(n / df(t)), so one that is in all gold names weighs nothing;
neither does one that is in none. A predicted name with words Q can stand only for the gold names
that say most of it, those with the greatest w(Q and T_j). Of several, it stands for the one that
says nothing beyond what all of them say ("the final" is "finals", not "semi-finals"); if none does,
it is ambiguous. The similarity of the two names is Dice's coefficient by weight,

    s = 2 w(Q and T_j) / (w(Q) + w(T_j)),

0 where they contradict each other, and 1 where they are the same text. They contradict where both
give years that not all gold names have and share none of them ("Heat (1986)" is never "Heat
(1995)", however much else agrees), and likewise other numbers, kinds of things, or countries.

Two names with one head are compared by their qualifiers, as answers are (`qualifiers`): where these
contradict each other s is 0, and a name stands for the only gold name whose qualifier supports its
own ("Kino (Velmaran city)" for "Kino, Velmara").
"""

from collections.abc import Iterable, Mapping, Sequence

from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.eval.name_words import TellingName, TellingNames, telling_names
from branchwise.eval.qualifiers import read_name, traits_in

MATCHER = "lexical"

LEFTOVER_THRESHOLD = 0.5
"""Above it, two names share more of the weight that sets branches apart than they do not share.

Below it, a leftover is more likely a reading of its own than another wording of a gold branch.
"""

Alignment = Mapping[str, int | None]
"""Predicted branch name to the index of its gold branch, None where it stands for none."""

_ROUNDING = 1e-9
_ALMOST = 0.999

_Candidates = tuple[Sequence[int], float]
"""The columns that a name can stand for, and its similarity to them."""


def align(gold: Sequence[str], predicted: Iterable[str]) -> Alignment:
    """Map each predicted branch name to one gold branch or to none.

    Of the names that can stand for one gold branch only, the most similar one takes it, then others
    join it that are more similar to it than `LEFTOVER_THRESHOLD`. A name that can stand for several
    takes the one that no other name has taken, if it is the only one; otherwise it stands for none.
    `default` aligns only with `default`, and no other name does. With one gold branch, every name
    aligns with it. Only names count, empty branches take part like any other: no answer can change
    an alignment. Ties are broken by name, so the order of branches changes nothing, in the gold or
    in the prediction.
    """
    # Left out, an empty branch would come back with its first answer and could displace another:
    # a right answer would then lower recall.
    names = sorted(set(predicted))
    if len(gold) == 1:
        return dict.fromkeys(names, 0)
    alignment: dict[str, int | None] = dict.fromkeys(names)
    default = next((i for i, name in enumerate(gold) if is_default(name)), None)
    alignment |= {name: default for name in names if is_default(name)}
    columns = sorted((i for i in range(len(gold)) if i != default), key=lambda i: gold[i])
    rows = [name for name in names if not is_default(name)]
    if rows and columns:
        for row, column in _assign(telling_names([gold[i] for i in columns], rows)).items():
            alignment[rows[row]] = columns[column]
    return alignment


def is_default(name: str) -> bool:
    """Whether a name is `default`, which aligns with no named branch."""
    return name.strip().casefold() == DEFAULT_BRANCH


def _assign(names: TellingNames) -> dict[int, int]:
    candidates = [_candidates(names, row) for row in names.predicted]
    certain = [n for n, (columns, _) in enumerate(candidates) if len(columns) == 1]
    assigned: dict[int, int] = {}
    taken: set[int] = set()
    for row in sorted(certain, key=lambda n: (-candidates[n][1], n)):
        [column], similarity = candidates[row]
        if column not in taken or similarity > LEFTOVER_THRESHOLD:
            assigned[row] = column
        taken.add(column)
    for row, (columns, _) in enumerate(candidates):
        left = [column for column in columns if column not in taken]
        if len(columns) > 1 and len(left) == 1:
            assigned[row] = left[0]
    return assigned


def _candidates(names: TellingNames, row: TellingName) -> _Candidates:
    values = [_similarity(names, row, column) for column in names.gold]
    if 1.0 in values:
        return [values.index(1.0)], 1.0
    if len(supporting := _supporting(names, row)) == 1:
        return supporting, _ALMOST
    covers = {
        n: names.weight(row.words & names.gold[n].words) for n, value in enumerate(values) if value
    }
    most = max(covers.values(), default=0.0) - _ROUNDING
    best = [n for n, cover in covers.items() if cover >= most]
    if len(best) > 1:
        common = frozenset.intersection(*(names.gold[n].words for n in best))
        best = [n for n in best if names.gold[n].words == common] or best
    return best, max((values[n] for n in best), default=0.0)


def _similarity(names: TellingNames, predicted: TellingName, gold: TellingName) -> float:
    if predicted.key == gold.key:
        return 1.0
    shared = predicted.words & gold.words
    if not shared or _contradict(predicted, gold):
        return 0.0
    total = names.weight(predicted.words) + names.weight(gold.words)
    # Below 1, so that a name that only has the same words never displaces the name itself.
    return min(2 * names.weight(shared) / total, _ALMOST)


def _supporting(names: TellingNames, row: TellingName) -> list[int]:
    """The gold names of the same head that say the same of their bearers."""
    name = read_name(row.text)
    if not name.qualifier:
        return []
    traits = traits_in(name.qualifier)
    return [
        n
        for n, gold in enumerate(read_name(column.text) for column in names.gold)
        if gold.head == name.head
        and traits.supports(known := traits_in(gold.qualifier))
        and not traits.contradicts(known)
    ]


def _contradict(name: TellingName, other: TellingName) -> bool:
    years, numbers = (name.years, other.years), (name.numbers, other.numbers)
    pairs = (years, numbers, (name.countries, other.countries))
    if any(a and b and a.isdisjoint(b) for a, b in pairs) or name.kinds.contradict(other.kinds):
        return True
    ours, theirs = read_name(name.text), read_name(other.text)
    if not (ours.certain and theirs.certain and ours.head == theirs.head):
        return False
    return traits_in(ours.qualifier).contradicts(traits_in(theirs.qualifier))
