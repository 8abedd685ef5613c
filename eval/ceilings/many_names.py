"""Which of very many names a corpus mentions, passage by passage."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from branchwise.eval.errors.folding import squeezed
from branchwise.eval.errors.mentions import Mentions
from branchwise.eval.errors.name_forms import name_forms

_GRAM = 5  # characters: long enough that few names begin alike
_FEW = 100  # anchors are looked for one by one sooner than all the n-grams of a text are made


class ManyNames:
    """Things with their forms, tens of thousands of them, to be found in many texts.

    It finds what `Mentions` finds. That tries every name on every text; this looks the text's
    character n-grams up in a table of how the names' anchors begin, so that a text costs the same
    however many names there are. Memory grows with the names.
    """

    def __init__(self, things: Sequence[Sequence[str]]) -> None:
        self._things = things
        self._mentions: dict[int, Mentions] = {}
        anchored: dict[str, set[int]] = defaultdict(set)
        for number, forms in enumerate(things):
            for form in name_forms(forms):
                anchored[form.letters].add(number)
        # By length and text of the anchors' first characters: the anchors, and whose they are.
        self._tables: dict[int, dict[str, list[tuple[str, set[int]]]]] = {}
        for anchor, numbers in anchored.items():
            gram = anchor[:_GRAM]
            table = self._tables.setdefault(len(gram), defaultdict(list))
            table[gram].append((anchor, numbers))

    def present(self, text: str, known: AbstractSet[int] = frozenset()) -> set[int]:
        """Numbers of the things that a text mentions, those already `known` left out."""
        candidates = self._candidates(text) - known
        return {number for number in candidates if self._of(number).present(text)}

    def _candidates(self, text: str) -> set[int]:
        """The things of which the text holds an anchor."""
        searched, found = squeezed(text), set[int]()
        for length, table in self._tables.items():
            grams: Iterable[str] = table
            if len(table) > _FEW:
                starts = range(len(searched) - length + 1)
                grams = table.keys() & {searched[i : i + length] for i in starts}
            for gram in grams:
                for anchor, numbers in table[gram]:
                    if anchor in searched:
                        found |= numbers
        return found

    def _of(self, number: int) -> Mentions:
        """One thing's names, made when it is first looked for closely."""
        if (mentions := self._mentions.get(number)) is None:
            mentions = self._mentions[number] = Mentions([self._things[number]])
        return mentions


def mentioned(things: Sequence[Sequence[str]], texts: Iterable[str]) -> dict[int, int]:
    """Numbers of the things that any of the texts mentions, with that of the first text."""
    names, found = ManyNames(things), dict[int, int]()
    for number, text in enumerate(texts):
        found |= dict.fromkeys(names.present(text, found.keys()), number)
    return found
