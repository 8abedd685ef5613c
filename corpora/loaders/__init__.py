"""Question sets from files of many forms, loaded for use or checked for every mistake.

What can mean one thing only is read, what could mean two is refused: a guess would change scores.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from branchwise.base.arguments import typed_arguments
from branchwise.base.errors import InputError
from branchwise.corpora.loaders.forms import FORM_OF_TASK, OWN, QuestionForm, form_of
from branchwise.corpora.loaders.source import (
    HUB,
    LIKE_ANSWERS,
    MENDED,
    Loading,
    PlacedQuestion,
    QuestionSource,
    RowPlace,
)
from branchwise.corpora.questions import Gold, Question, QuestionSet, questions_digest
from branchwise.corpora.rows import DataRow

_PLAIN = frozenset((str, bool, float))
_NO_GOLD = "no-gold"  # no mistake where no question has gold answers
_MOST_OF_A_KIND = 1_000


@typed_arguments
def load_questions(
    source: str | Path | QuestionSource | Iterable[Mapping[str, Any]],
    *,
    fields: Mapping[str, str] | Sequence[str] = (),
    separator: str | None = None,
    require_gold: bool = True,
    gold_of: Callable[[str], Gold] | None = None,
) -> QuestionSet:
    """Questions of `source`: a file in our own format (docs/format.md), FORM:PATH, or rows.

    Rows are mappings, such as a list of dicts, a set of `datasets` or a pandas frame, in our own
    format or a published form. `fields`: of CSV, JSON, Parquet and hub sets and of rows, which
    column is which field (`{"question": "q"}`, or `["question=q"]`); `separator`: what stands
    between several answers in one text. What is kept in `meta` because the format does not know it
    is a warning, and so is what was mended.

    Raises InputError, with file and line, for data that cannot be used: an unknown form, one that
    does not fit the file, an empty set, duplicate ids, and (unless `require_gold` is False) a
    question without gold: of which kind, `gold_of` says for the form's task, or the form itself.
    """
    if not isinstance(source, QuestionSource):
        source = QuestionSource.of(source, fields, separator)
    placed = list(each_question(source))
    task = placed[0].task
    if require_gold:
        try:
            gold = gold_of(task) if gold_of else FORM_OF_TASK.get(task, OWN).gold
        except InputError as error:  # of an unknown task
            raise InputError(error.what, where=placed[0].where, remedy=error.remedy) from None
        for where, question, _ in placed:
            if not question.has_gold(gold):
                missing, remedy = _missing_gold(question, gold)
                problem = f"question {question.id!r} has no {missing}"
                raise InputError(problem, where=where, remedy=remedy)
    questions = tuple(item.question for item in placed)
    return QuestionSet(source.text, task, questions, questions_digest(questions))


def each_question(source: QuestionSource) -> Iterator[PlacedQuestion]:
    """The questions of a set one at a time; in memory are their ids. Raises InputError at the first
    mistake, a repeated id, or where there are none. Warns at the end, of what was left out, too."""
    loading = Loading(source)
    first: dict[str, str] = {}
    for item in _read(source, loading):
        if (earlier := first.setdefault(item.question.id, item.where)) != item.where:
            problem = f"question id {item.question.id!r} is already used by {earlier}"
            raise InputError(problem, where=item.where, remedy="give each question its own id")
        yield item
    loading.warn()
    if not first:
        remedy = "write one per line" if source.given is None else "give one at least"
        raise InputError("holds no questions", where=source.place, remedy=remedy)


def _missing_gold(question: Question, gold: Gold) -> tuple[str, str]:
    if gold == "label":
        return "gold label", 'add "ambiguous": true or false'
    if gold == "conditions":
        return "documents with conditions", "load it from mdcr:PATH"
    branches = (branch for gold in question.gold_sets for branch in gold)
    empty = next((branch.name for branch in branches if not branch.answers), None)
    of = f" in branch {empty!r}" if empty else ""
    like = [name for name in question.meta if "answer" in name.casefold() or name in LIKE_ANSWERS]
    remedy = f"name its column: --field answers={like[0]}" if like and not of else None
    return f"gold answers{of}", remedy or 'add "answers": ["..."]'


def _read(source: QuestionSource, loading: Loading) -> Iterator[PlacedQuestion]:
    """The questions of a set in their order, one at a time. What is wrong goes to `loading`."""
    form = source.form
    read = form.load()
    task: str | None = None
    rows = source.rows(loading.refuse, strict=loading.is_strict)
    for number, row in enumerate(rows, start=1):
        if number == 1:
            _check_form(source, row)
        loading.rows = number
        at = RowPlace(loading, row.where, number)
        if (question := read(row.fields, at)) is None:
            continue
        question = _with_rest(question, row, form, at)
        own = (row.fields.get("task") if form.is_own else None) or form.task
        task = task or own
        if own != task:
            problem = f"is of the task {own!r}, the first of {task!r}"
            at.refuse("task", problem, "divide the file")
        elif _is_writable(question, at):
            yield PlacedQuestion(row.where, question, task)


def _check_form(source: QuestionSource, row: DataRow) -> None:
    form, fields = source.form, row.fields
    if form.takes_fields or form.fits(fields):
        return
    fitting = form_of(fields)
    if fitting and (mark := _first(fitting.mark, fields)) not in form.reads:
        place = f"{HUB}:{source.place}" if source.is_on_hub else source.place
        named = f"{fitting.name}:{place}" if fitting.name else place
        problem, remedy = f'it has "{mark}"', f"its fields fit {named}"
    elif form.is_own and not source.given and (gold := _answer_field(fields)):
        problem = f'it lacks "answers", and has {gold!r}'
        remedy = f"name it: {source.by_fields} --field answers={gold}"
    elif form.is_own or fitting or _first(("answer", "answers"), form.reads.keys() & fields):
        return
    else:
        problem = f'it lacks "{form.mark[0]}"'
        named = f"{source.by_fields} --field question=FIELD --field answers=FIELD"
        remedy = f"name its fields: {named} (they are {', '.join(fields)})"
    named = "our own format" if form.is_own else f"the form {form.name}"
    raise InputError(f"{named} does not fit: {problem}", where=row.where, remedy=remedy)


def _answer_field(fields: Collection[str]) -> str | None:
    """What a row that is not of our own format calls its answers."""
    is_own = any(name in fields for name in ("answers", "branches", "alternatives", "ambiguous"))
    return None if is_own else _first(LIKE_ANSWERS, fields)


def _first(marks: Sequence[str], fields: Collection[str]) -> str | None:
    return next((mark for mark in marks if mark in fields), None)


def _with_rest(question: Question, row: DataRow, form: QuestionForm, at: RowPlace) -> Question:
    """The question of a published form, with the other fields of its row in `meta`."""
    if form.is_own or form.takes_fields:
        return question
    rest = {}
    for name, value in row.fields.items():
        known = name in form.keeps
        if value is None or name in form.drops or (name in form.reads and not known):
            continue
        if not known:
            at.keep(name)
        rest[name] = value
    return question.model_copy(update={"meta": {**rest, **question.meta}}) if rest else question


def _is_writable(question: Question, at: RowPlace) -> bool:
    if not question.plan and _PLAIN.issuperset(map(type, question.meta.values())):
        return True
    try:
        orjson.dumps(question.model_dump(mode="json"))
    except (TypeError, ValueError, RecursionError) as error:
        large = "64-bit" in str(error)
        problem = "holds a number of more than 64 bits" if large else "is nested too deeply"
        at.refuse("unwritable", problem, "write it as a text" if large else "reduce the nesting")
        return False
    return True


@dataclass(frozen=True)
class Mistake:
    """Something wrong with a question; `mended`: read as if it had been mended."""

    kind: str
    error: InputError
    mended: bool = False


class SetCheck(Loading):
    """A pass over a set that collects mistakes, the first of each kind, one question at a time; in
    memory are ids. `gold_of`: the gold that a task's questions need; raises InputError for an
    unknown task. `good`: questions that can be used, as they are or mended."""

    is_strict = True

    def __init__(self, source: QuestionSource, gold_of: Callable[[str], Gold]) -> None:
        super().__init__(source)
        self.good = 0
        self._gold_of = gold_of
        self._has_gold = False
        self._mistakes: list[Mistake] = []
        self._counts: Counter[str] = Counter()
        self._ids: dict[str, tuple[str, int]] = {}

    def questions(self) -> Iterator[PlacedQuestion]:
        """The questions that are good or mended, in their order."""
        try:
            for placed in _read(self.source, self):
                if self._has_task(placed) and self._is_new(placed):
                    self.good += 1
                    yield placed
        except InputError as error:
            self.refuse("unreadable", error)
            raise

    @property
    def mistakes(self) -> list[Mistake]:
        """The first of each kind, in their order."""
        return [wrong for wrong in self._mistakes if self._has_gold or wrong.kind != _NO_GOLD]

    @property
    def counts(self) -> dict[str, int]:
        counts = self._counts.items()
        return {kind: count for kind, count in counts if self._has_gold or kind != _NO_GOLD}

    @property
    def mended(self) -> dict[str, int]:
        return {kind: count for kind, count in self.counts.items() if kind in MENDED}

    def notes(self) -> Iterator[str]:
        """What else is to be known of the set, a line each."""
        yield from super().notes()
        if not self._has_gold and self._counts[_NO_GOLD]:
            yield f"{self.source.text}: no question has gold answers: it can be asked, not scored"

    def refuse(self, kind: str, error: InputError, mended: bool = False) -> None:
        self._counts[kind] += 1
        if self._counts[kind] <= _MOST_OF_A_KIND:
            self._mistakes.append(Mistake(kind, error, mended))

    def mend(self, kind: str, error: InputError) -> None:
        self.refuse(kind, error, mended=True)

    def _has_task(self, placed: PlacedQuestion) -> bool:
        """Whether its task is known; notes whether it has gold, of whatever kind."""
        try:
            self._gold_of(placed.task)
        except InputError as error:
            wrong = InputError(error.what, where=placed.where, remedy=error.remedy)
            self.refuse("task", wrong)
            return False
        question = placed.question
        if question.branches or question.has_gold("label") or question.has_gold("conditions"):
            self._has_gold = True
        else:
            problem = f"question {question.id!r} has no gold answers"
            remedy = 'add "answers": ["..."]'
            self.refuse(_NO_GOLD, InputError(problem, where=placed.where, remedy=remedy))
        return True

    def _is_new(self, placed: PlacedQuestion) -> bool:
        content = hash(placed.question.model_dump_json())
        place = placed.where.rpartition(":")[2]
        place = f"line {place}" if place.isdigit() else place
        earlier, before = self._ids.setdefault(placed.question.id, (place, content))
        if earlier == place:
            return True
        problem = f"question id {placed.question.id!r} is already used by {earlier}"
        if before == content:
            error = InputError(f"{problem}, by the same question", where=placed.where)
            self.mend("repeated-question", error)
        else:
            error = InputError(problem, where=placed.where, remedy="give each question its own id")
            self.refuse("repeated-id", error)
        return False
