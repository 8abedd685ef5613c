"""What is noticed while a question set is read: mistakes, what was mended, what was kept."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from branchwise.base.errors import InputError, warn
from branchwise.base.text import cut
from branchwise.corpora.questions import Question

if TYPE_CHECKING:
    from branchwise.corpora.loaders.source import QuestionSource

MENDED: Mapping[str, str] = {
    "empty-answer": "empty answers left out",
    "empty-alias": "empty aliases left out",
    "repeated-answer": "repeated answers left out",
    "repeated-question": "repeated questions left out",
    "no-id": "ids added",
}
"""The kinds of mistakes that have one remedy without a guess, and what it is."""
_NAMED = 5
_NAMED_FIELDS = 20
_COUNTED = 1_000
"""Fields that are counted one by one: a file may have others in every row."""


@dataclass(frozen=True)
class Mistake:
    """Something wrong with a question; `mended`: read as if it had been mended."""

    kind: str
    error: InputError
    mended: bool = False


class Loading:
    """A question set as it is read for use: the first mistake raises. `rows`: read so far.

    Mistakes of `MENDED` raise too where the file is in our own format, whose writer can mend it;
    of what others published they are mended, and counted.
    """

    is_strict = False

    def __init__(self, source: "QuestionSource") -> None:
        self.source = source
        self.rows = 0
        self._kept: Counter[str] = Counter()
        self._kept_besides = 0
        self._mended: Counter[str] = Counter()
        self._first: dict[str, dict[str, None]] = defaultdict(dict)

    def refuse(self, kind: str, error: InputError) -> None:
        """Take a mistake that cannot be read past."""
        raise error

    def mend(self, kind: str, error: InputError) -> None:
        """Take a mistake that the caller then mends."""
        if self.source.form.is_own:
            words = f"branchwise questions check {shlex.quote(self.source.text)} --fix FILE"
            mend = f"`{words}` mends it"
            raise InputError(
                error.what,
                where=error.where,
                remedy=f"{error.remedy}, or: {mend}" if error.remedy else mend,
            )
        self._mended[kind] += 1
        if len(first := self._first[kind]) <= _NAMED:
            first[error.where or ""] = None

    def keep(self, field: str) -> None:
        """Count a field that is not of the format, and is kept in `meta`."""
        if field in self._kept or len(self._kept) < _COUNTED:
            self._kept[field] += 1
        else:
            self._kept_besides += 1

    def notes(self) -> Iterator[str]:
        """What was kept and what was mended, a line each."""
        if self._kept:
            counted = [f"{cut(name, 80)} ({count:,})" for name, count in self._kept.items()]
            if others := self._others():
                counted = [*counted[:_NAMED_FIELDS], f"other fields ({others:,})"]
            yield f"{self.source.text}: kept in meta: {', '.join(counted)}"
        for kind, count in self._mended.items():
            places = _named([*self._first[kind]])
            yield f"{self.source.text}: {MENDED[kind]}: {count:,} ({places})"

    def _others(self) -> int:
        """How often a field was kept that is not named."""
        return sum([*self._kept.values()][_NAMED_FIELDS:]) + self._kept_besides

    def warn(self) -> None:
        """Say so, once."""
        for note in self.notes():
            warn(note)


def _named(places: Sequence[str]) -> str:
    """The first places, without the file, which they share."""
    shown = [place.rpartition(":")[2] for place in places]
    more = ", …" if len(shown) > _NAMED else ""
    return ", ".join(shown[:_NAMED]) + more


class Checking(Loading):
    """A question set as it is read to be checked: mistakes are collected.

    `counts`: how many of each kind there are. `mistakes`: the first of each kind, in their order,
    at most `most` of a kind: a file of another form has the same one in every row.
    """

    is_strict = True

    def __init__(self, source: "QuestionSource", most: int = 1_000) -> None:
        super().__init__(source)
        self.mistakes: list[Mistake] = []
        self.counts: Counter[str] = Counter()
        self._most = most

    def refuse(self, kind: str, error: InputError) -> None:
        """Take a mistake that leaves its question out."""
        self._take(Mistake(kind, error))

    def mend(self, kind: str, error: InputError) -> None:
        """Take a mistake that the caller then mends."""
        self._take(Mistake(kind, error, mended=True))

    def _take(self, mistake: Mistake) -> None:
        self.counts[mistake.kind] += 1
        if self.counts[mistake.kind] <= self._most:
            self.mistakes.append(mistake)


class PlacedQuestion(NamedTuple):
    """A question, where its row is (`file:line`, `file:entry n`, `file:row n`), and its task."""

    where: str
    question: Question
    task: str


@dataclass(frozen=True, slots=True)
class RowPlace:
    """A row while it is read: its place in the file, and its number (from 1)."""

    loading: Loading
    where: str
    number: int

    def refuse(self, kind: str, what: str, remedy: str | None = None, of: str = "") -> None:
        """Take a mistake that cannot be read past; `of`: where it is within the question."""
        self.loading.refuse(kind, self._error(what, remedy, of))

    def mend(self, kind: str, what: str, remedy: str | None = None, of: str = "") -> None:
        """Take a mistake of one of the kinds in `MENDED`, which the caller then mends."""
        self.loading.mend(kind, self._error(what, remedy, of))

    def keep(self, field: str) -> None:
        """Count a field that is kept in `meta`."""
        self.loading.keep(field)

    def column(self, field: str) -> str:
        """What the file calls a field."""
        return self.loading.source.fields.columns.get(field, field)

    def attempt(self, read: Callable[[], Question]) -> Question | None:
        """What `read` returns; None where it raises InputError, which is then a mistake."""
        try:
            return read()
        except InputError as error:
            self.loading.refuse("form", error)
            return None

    def _error(self, what: str, remedy: str | None, of: str) -> InputError:
        where = f"{self.where}, {of}" if of else self.where
        return InputError(what, where=where, remedy=remedy)
