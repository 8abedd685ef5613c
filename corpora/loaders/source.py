"""A question set that is named (a file, FORM:PATH, FORM:hf:NAME, its fields), and what is noticed
while it is read: mistakes, what was mended, what was kept."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.base.errors import InputError, Refuse, nearest, raising, warn
from branchwise.base.text import cut
from branchwise.corpora.loaders.forms import FORMS, OWN, QuestionForm, form_of
from branchwise.corpora.questions import Question
from branchwise.corpora.rows import OPTION, DataRow, FieldNames, layout_of
from branchwise.corpora.table_rows import hub_rows

HUB = "hf"
"""The form, and behind another form the prefix, of sets on a hub."""
_CALLED = {"json": ("JSON", "jsonl"), "csv": ("CSV", "csv"), "parquet": ("Parquet", "parquet")}
MENDED: Mapping[str, str] = {
    "empty-answer": "empty answers left out",
    "empty-alias": "empty aliases left out",
    "repeated-answer": "repeated answers left out",
    "repeated-question": "repeated questions left out",
    "no-id": "ids added",
    "unmatched-options": "questions left out whose options and answers differ in number",
}
"""The kinds of mistakes that have one remedy without a guess, and what it is."""
_NAMED = 5
_NAMED_FIELDS = 20
_COUNTED = 1_000  # fields that are counted one by one: a file may have others in every row


LIKE_ANSWERS = ("answer", "gold", "golden_answers", "target")
"""What columns are called that hold the answers, where none is named after them."""
TOLD: set[str] = set()
"""Notes on sets, each of which is told once: a notebook loads a set in many cells."""


@dataclass(frozen=True)
class QuestionSource:
    """A question set that is named: `text` as written, and what it says. `place`: the path, or the
    set's name on the hub. `fields` and `separator`: of forms that take them, which column is which
    field, and what stands between several answers in one text. `split`: of a file that has several,
    the one to read. `given`: its rows, of a set that is in memory."""

    text: str
    form: QuestionForm
    place: str
    split: str | None = None
    is_on_hub: bool = False
    fields: FieldNames = field(default_factory=lambda: FieldNames({}))
    separator: str | None = None
    given: tuple[DataRow, ...] | None = None

    @classmethod
    def of(
        cls,
        questions: "str | Path | Iterable[Mapping[str, Any] | Question]",
        fields: Mapping[str, str] | Sequence[str] = (),
        separator: str | None = None,
    ) -> "QuestionSource":
        """Of a set that is named, as `parse`, or of rows in memory: with columns that `fields`
        names, in our own format or a published form, or questions. Raises InputError for what is
        no row."""
        if isinstance(questions, str | Path):
            return cls.parse(str(questions), fields, separator)
        given = given_rows(questions, getattr(questions, "task", OWN.task))
        form = FORMS["jsonl"] if fields or separator else OWN
        first = given[0].fields if given else {}
        if form.is_own and not first.keys() & {"answers", "branches"}:
            form = form_of(first) or OWN
        names = FieldNames.of(fields, form.reads)
        return cls("rows", form, "rows", fields=names, separator=separator, given=given)

    @classmethod
    def parse(
        cls, text: str, fields: Mapping[str, str] | Sequence[str] = (), separator: str | None = None
    ) -> "QuestionSource":
        """What `--questions`, `--field` and `--separator` say."""
        form, place = _form_and_place(text)
        if form.is_own and (fields or separator):
            form = FORMS[_CALLED[layout_of(Path(place)) or "json"][1]]
        split = None
        has_rows = not form.row_reader or Path(place).exists()
        if not has_rows and Path(place.rpartition(":")[0]).is_file():
            place, _, split = place.rpartition(":")
        on_hub = form.name == HUB or place.startswith(f"{HUB}:")
        if not form.takes_fields and (fields or separator):
            option = OPTION if fields else "--separator"
            known = ", ".join(f"{name}:" for name, form in FORMS.items() if form.takes_fields)
            problem = f"{form.title} has fields of its own"
            raise InputError(problem, where=option, remedy=f"it is for {known}")
        names = FieldNames.of(fields, form.reads)
        return cls(text, form, place.removeprefix(f"{HUB}:"), split, on_hub, names, separator)

    @property
    def by_fields(self) -> str:
        """The same set as a form that takes the names of fields."""
        if self.is_on_hub:
            return f"{HUB}:{self.place}"
        return f"{_CALLED[layout_of(Path(self.place)) or 'json'][1]}:{self.place}"

    @property
    def words(self) -> list[str]:
        """What `--questions` and the options after it say."""
        fields = [f"{OPTION}={field}={column}" for field, column in self.fields.columns.items()]
        return [self.text, *fields, *([f"--separator={self.separator}"] if self.separator else [])]

    def rows(self, refuse: Refuse = raising, *, strict: bool = False) -> Iterator[DataRow]:
        """Its rows, one at a time. What is no row goes to `refuse`, and what a person may have
        overlooked if it is our own format, or `strict`."""
        if self.given is not None:
            return iter(self.given)
        if self.is_on_hub:
            return hub_rows(self.place)
        form, path = self.form, Path(self.place)
        wanted, named = "json" if form.is_own else form.layout, layout_of(path)
        if wanted and named and wanted != named:
            name, prefix = _CALLED[named]
            raise InputError(f"is a {name} file", where=self.text, remedy=f"write {prefix}:{path}")
        rows = form.rows(path, refuse, strict=strict or form.is_own)
        if self.split is None:
            return rows
        return (row for row in rows if row.fields.get("split") == self.split)


def given_rows(
    rows: Iterable[Mapping[str, Any] | Question], task: str = OWN.task
) -> tuple[DataRow, ...]:
    """Rows in memory, also those of a frame. Raises InputError for anything that is not a row."""
    if getattr(rows, "ndim", 2) != 2 or isinstance(rows, Mapping):
        problem = f"is of the type {type(rows).__name__}, which has no rows"
        raise InputError(problem, where="rows", remedy="give a list of dicts, or a data frame")
    # A frame of pandas is an iterable of its columns' names.
    listed = rows.to_dict("records") if hasattr(rows, "to_dict") else rows
    return tuple(_given_row(number, row, task) for number, row in enumerate(listed, start=1))


def _given_row(number: int, row: Any, task: str) -> DataRow:
    where = f"row {number}"
    if isinstance(row, Question):
        record = row.model_dump(mode="json") | ({} if task == OWN.task else {"task": task})
        if "ambiguous" not in row.model_fields_set:
            del record["ambiguous"]
        return DataRow(where, record)
    if not isinstance(row, Mapping):
        what = f"is of the type {type(row).__name__}"
        raise InputError(what, where=where, remedy="give mappings, as dicts are, or questions")
    # Numpy's numbers and arrays become Python's.
    values = {
        str(name): value.tolist() if hasattr(value, "tolist") else value
        for name, value in row.items()
    }
    # NaN differs from itself, and pandas' NA is neither equal nor unequal to anything.
    present = {name: value for name, value in values.items() if (value == value) is True}
    return DataRow(where, present)


def _form_and_place(text: str) -> tuple[QuestionForm, str]:
    prefix, colon, rest = text.partition(":")
    if colon and prefix in FORMS:
        return FORMS[prefix], rest
    # A path may hold a colon itself; what exists as a file is a file.
    if colon and prefix.isalnum() and len(prefix) > 1 and not Path(text).exists():
        near = nearest(prefix, FORMS)
        hint = f"did you mean {near[0]}:{rest}?" if near else f"known are {', '.join(FORMS)}"
        problem = f"unknown question form {prefix!r}"
        remedy = f"{hint} (our own format takes no prefix; see `branchwise questions forms`)"
        raise InputError(problem, where=text, remedy=remedy)
    return OWN, text


class Loading:
    """A question set as it is read for use: the first mistake raises. `rows`: read so far. Mistakes
    of `MENDED` raise too where a file is in our own format, whose writer can mend it; of rows in
    memory and of what others published they are mended, and counted."""

    is_strict = False

    def __init__(self, source: QuestionSource) -> None:
        self.source = source
        self.rows = 0
        self._kept: Counter[str] = Counter()
        self._kept_besides = 0
        self._mended: Counter[str] = Counter()
        self._first: dict[str, dict[str, None]] = defaultdict(dict)

    def refuse(self, kind: str, error: InputError) -> None:
        """Take a mistake that leaves its question out."""
        raise error

    def mend(self, kind: str, error: InputError) -> None:
        if self.source.form.is_own and self.source.given is None:
            words = f"branchwise questions check {shlex.quote(self.source.text)} --fix FILE"
            mend = f"`{words}` mends it"
            remedy = f"{error.remedy}, or: {mend}" if error.remedy else mend
            raise InputError(error.what, where=error.where, remedy=remedy)
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
            if others := sum([*self._kept.values()][_NAMED_FIELDS:]) + self._kept_besides:
                counted = [*counted[:_NAMED_FIELDS], f"other fields ({others:,})"]
            yield f"{self.source.text}: kept in meta: {', '.join(counted)}"
        for kind, count in self._mended.items():
            # Without the file, which they share.
            places = [place.rpartition(":")[2] for place in self._first[kind]]
            named = ", ".join(places[:_NAMED]) + (", …" if len(places) > _NAMED else "")
            yield f"{self.source.text}: {MENDED[kind]}: {count:,} ({named})"

    def warn(self) -> None:
        for note in self.notes():
            if note not in TOLD:
                TOLD.add(note)
                warn(note)


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

    def refuse(self, kind: str, problem: str, remedy: str | None = None, of: str = "") -> None:
        """Take a mistake that cannot be read past; `of`: where it is within the question."""
        self.loading.refuse(kind, self._error(problem, remedy, of))

    def mend(self, kind: str, problem: str, remedy: str | None = None, of: str = "") -> None:
        self.loading.mend(kind, self._error(problem, remedy, of))

    def keep(self, field: str) -> None:
        self.loading.keep(field)

    def column(self, field: str) -> str:
        """What the file calls a field."""
        return self.loading.source.fields.columns.get(field, field)

    def attempt(self, read: Callable[[], Question | None]) -> Question | None:
        """What `read` returns; None where it raises InputError, which is then a mistake."""
        try:
            return read()
        except InputError as error:
            self.loading.refuse("form", error)
            return None

    def _error(self, problem: str, remedy: str | None, of: str) -> InputError:
        where = f"{self.where}, {of}" if of else self.where
        return InputError(problem, where=where, remedy=remedy)
