"""What a user writes for a question set: a file, FORM:PATH, FORM:hf:NAME, and its fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from branchwise.base.errors import InputError, Refuse, nearest, raising
from branchwise.corpora.loaders.forms import FORMS, OWN, QuestionForm
from branchwise.corpora.rows import DataRow, layout_of
from branchwise.corpora.rows.fields import OPTION, FieldNames
from branchwise.corpora.rows.hub import hub_rows

HUB = "hf"
"""The form, and behind another form the prefix, of sets on a hub."""


@dataclass(frozen=True)
class QuestionSource:
    """A question set that is named: `text` as written, and what it says.

    `place`: the path, or the set's name on the hub. `fields` and `separator`: of forms that take
    them, which column is which field, and what stands between several answers in one text. `split`:
    of a file that has several, the one to read.
    """

    text: str
    form: QuestionForm
    place: str
    split: str | None = None
    is_on_hub: bool = False
    fields: FieldNames = field(default_factory=lambda: FieldNames({}))
    separator: str | None = None

    @classmethod
    def parse(
        cls,
        text: str,
        fields: Mapping[str, str] | Sequence[str] = (),
        separator: str | None = None,
    ) -> "QuestionSource":
        """What `--questions`, `--field` and `--separator` say. Raises InputError."""
        form, place = form_and_place(text)
        split = None
        if form.has_rows and not Path(place).exists() and Path(place.rpartition(":")[0]).is_file():
            place, _, split = place.rpartition(":")
        on_hub = form.name == HUB or place.startswith(f"{HUB}:")
        place = place.removeprefix(f"{HUB}:")
        if not form.takes_fields and (fields or separator):
            option = OPTION if fields else "--separator"
            known = ", ".join(f"{name}:" for name, one in FORMS.items() if one.takes_fields)
            raise InputError(
                f"{form.title} has fields of its own", where=option, remedy=f"it is for {known}"
            )
        names = FieldNames.of(fields, form.reads)
        return cls(text, form, place, split, on_hub, names, separator)

    @property
    def by_fields(self) -> str:
        """The same set as a form that takes the names of fields."""
        if self.is_on_hub:
            return f"{HUB}:{self.place}"
        return f"{_CALLED[layout_of(Path(self.place)) or 'json'][1]}:{self.place}"

    def as_form(self, form: QuestionForm) -> str:
        """The same set as another form."""
        place = f"{HUB}:{self.place}" if self.is_on_hub else self.place
        return f"{form.name}:{place}" if form.name else place

    @property
    def words(self) -> list[str]:
        """What `--questions` and the options after it say."""
        fields = [f"{OPTION}={field}={column}" for field, column in self.fields.columns.items()]
        return [self.text, *fields, *([f"--separator={self.separator}"] if self.separator else [])]

    def rows(self, refuse: Refuse = raising, *, strict: bool = False) -> Iterator[DataRow]:
        """Its rows, one at a time. What is no row goes to `refuse`, and what a person may have
        overlooked if it is our own format, or `strict`. Raises InputError."""
        if self.is_on_hub:
            return hub_rows(self.place)
        path = Path(self.place)
        self._check_layout(path)
        rows = self.form.rows(path, refuse, strict=strict or self.form.is_own)
        if self.split is None:
            return rows
        return (row for row in rows if row.fields.get("split") == self.split)

    def _check_layout(self, path: Path) -> None:
        """Raise InputError if the file's name tells another layout than the form has."""
        wanted, found = "json" if self.form.is_own else self.form.layout, layout_of(path)
        if wanted and found and wanted != found:
            name, form = _CALLED[found]
            raise InputError(f"is a {name} file", where=self.text, remedy=f"write {form}:{path}")


_CALLED = {"json": ("JSON", "jsonl"), "csv": ("CSV", "csv"), "parquet": ("Parquet", "parquet")}


def form_and_place(text: str) -> tuple[QuestionForm, str]:
    """The form that is named, and the place. Raises InputError for an unknown form."""
    prefix, colon, rest = text.partition(":")
    if colon and prefix in FORMS:
        return FORMS[prefix], rest
    # A path may hold a colon itself; what exists as a file is a file.
    if colon and prefix.isalnum() and len(prefix) > 1 and not Path(text).exists():
        near = nearest(prefix, FORMS)
        hint = f"did you mean {near[0]}:{rest}?" if near else f"known are {', '.join(FORMS)}"
        raise InputError(
            f"unknown question form {prefix!r}",
            where=text,
            remedy=f"{hint} (our own format takes no prefix; see `branchwise questions forms`)",
        )
    return OWN, text
