"""Checking a whole question set: every mistake in it, and the questions that are good or mended."""

from collections.abc import Callable, Iterator

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import read_questions
from branchwise.corpora.loaders.reading import MENDED, Checking, Mistake, PlacedQuestion
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import Gold

_NO_GOLD = "no-gold"
"""No mistake where no question has gold answers."""


class SetCheck:
    """A pass over a set, one question at a time; in memory are ids and a bounded list of mistakes.

    `gold_of`: the gold that a task's questions need; raises InputError for an unknown task.
    `good`: how many questions can be used, as they are or mended.
    """

    def __init__(self, source: QuestionSource, gold_of: Callable[[str], Gold]) -> None:
        self.source = source
        self._gold_of = gold_of
        self.good = 0
        self._found = Checking(source)
        self._has_gold = False
        self._first: dict[str, tuple[str, int]] = {}

    def questions(self) -> Iterator[PlacedQuestion]:
        """The questions that are good or mended, in their order.

        Raises InputError where the file cannot be read, or not further: behind the first row this
        is one of the mistakes.
        """
        try:
            for placed in read_questions(self.source, self._found):
                if self._has_task(placed) and self._is_new(placed):
                    self.good += 1
                    yield placed
        except InputError as error:
            self._found.refuse("unreadable", error)
            raise

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return self._found.rows

    @property
    def mistakes(self) -> list[Mistake]:
        """The first of each kind, in their order."""
        return [one for one in self._found.mistakes if self._has_gold or one.kind != _NO_GOLD]

    @property
    def counts(self) -> dict[str, int]:
        """How many mistakes of each kind there are."""
        counts = self._found.counts.items()
        return {kind: count for kind, count in counts if self._has_gold or kind != _NO_GOLD}

    @property
    def mended(self) -> dict[str, int]:
        """Those of them that were mended."""
        return {kind: count for kind, count in self.counts.items() if kind in MENDED}

    def notes(self) -> Iterator[str]:
        """What else is to be known of the set, a line each."""
        yield from self._found.notes()
        if not self._has_gold and self._found.counts[_NO_GOLD]:
            yield f"{self.source.text}: no question has gold answers: it can be asked, not scored"

    def _has_task(self, placed: PlacedQuestion) -> bool:
        """Whether its task is known; notes whether it has gold, of whatever kind."""
        try:
            self._gold_of(placed.task)
        except InputError as error:
            wrong = InputError(error.what, where=placed.where, remedy=error.remedy)
            self._found.refuse("task", wrong)
            return False
        question = placed.question
        if question.branches or question.has_gold("label") or question.has_gold("conditions"):
            self._has_gold = True
        else:
            what = f"question {question.id!r} has no gold answers"
            remedy = 'add "answers": ["..."]'
            self._found.refuse(_NO_GOLD, InputError(what, where=placed.where, remedy=remedy))
        return True

    def _is_new(self, placed: PlacedQuestion) -> bool:
        """Whether no earlier question has its id."""
        content = hash(placed.question.model_dump_json())
        place = placed.where.rpartition(":")[2]
        place = f"line {place}" if place.isdigit() else place
        earlier, before = self._first.setdefault(placed.question.id, (place, content))
        if earlier == place:
            return True
        what = f"question id {placed.question.id!r} is already used by {earlier}"
        if before == content:
            error = InputError(f"{what}, by the same question", where=placed.where)
            self._found.mend("repeated-question", error)
        else:
            error = InputError(what, where=placed.where, remedy="give each question its own id")
            self._found.refuse("repeated-id", error)
        return False
