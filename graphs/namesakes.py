"""Which titles share a name that a question uses."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from branchwise.corpora.passages import name_of
from branchwise.graphs.question_names import (
    COMMON,
    MAX_NAME_CHARS,
    MAX_QUESTION_CHARS,
    WORD,
    folded,
    is_capital,
    names_in,
    without_possessive,
)

_PLACE = re.compile(r",\s+(?=[^\W\d_])")
_SHORT = 3
"""Words: more behind a comma are a title's own ("The Good, the Bad and the Ugly"); as many common
ones are a name ("Do You Love Me")."""

_Span = tuple[int, int]


@dataclass(frozen=True)
class QuestionNames:
    """A question, to be compared with titles."""

    question: str

    @cached_property
    def names(self) -> list[str]:
        """As `names_in` finds them."""
        return names_in(self.question)

    def name_of(self, title: str) -> str:
        """The name that a title bears and the question uses, as the question has it; "" if none.

        It is the title without what tells it apart: brackets at its end, a place behind a comma.
        Where the question capitalises names, it must capitalise this one.
        """
        for base in _bases(title):
            for first, end in self._places(base):
                start, stop = self._words[first].start(), self._words[end - 1].end()
                return without_possessive(self.question[start:stop])
        return ""

    def whole(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are not, wherever the question has them, part of a longer one."""
        given = list(dict.fromkeys(names))
        taken: list[_Span] = []
        kept = set()
        for name in sorted(given, key=lambda one: -len(folded(one))):
            free = [span for span in self._places(name) if not _is_within(span, taken)]
            taken += free
            if free:
                kept.add(name)
        return [name for name in given if name in kept]

    def tells_apart(self, title: str, name: str) -> bool:
        """Whether the question has the whole title, with what tells it apart from its namesakes."""
        return folded(title) != folded(name) and bool(self._places(title))

    @cached_property
    def _words(self) -> list[re.Match[str]]:
        return list(WORD.finditer(self.question[:MAX_QUESTION_CHARS]))

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(word for found in self._words for word in folded(found[0]))

    def _places(self, name: str) -> list[_Span]:
        """Where the question has a name: numbers of its first word and of the one behind it."""
        words = folded(name)
        if not words or (len(words) < _SHORT and COMMON.issuperset(words)):
            return []
        starts = range(len(self._folded) - len(words) + 1)
        spans = [(start, start + len(words)) for start in starts]
        return [span for span in spans if self._folded[slice(*span)] == words and self._shows(span)]

    def _shows(self, span: _Span) -> bool:
        """Whether the question writes as a name what stands there."""
        if not self.names or self._folded[slice(*span)] in map(folded, self.names):
            return True
        return any(is_capital(found[0]) for found in self._words[slice(*span)])


def _is_within(span: _Span, others: Iterable[_Span]) -> bool:
    return any(
        start <= span[0] and span[1] <= end and span != (start, end) for start, end in others
    )


def _bases(title: str) -> list[str]:
    """The title without brackets at its end, and without a place behind its last comma too."""
    bare = name_of(title[:MAX_NAME_CHARS])
    *before, place = _PLACE.split(bare)
    if before and place[0].isupper() and len(WORD.findall(place)) <= _SHORT:
        return [bare, bare[: -len(place)].rstrip(" ,")]
    return [bare]
