"""Passages of sources whose rows are passages: their fields, and which of them is what."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.files import json_kind
from branchwise.base.text import one_line
from branchwise.corpora.documents.blocks import paragraphs
from branchwise.corpora.documents.splitting import Split
from branchwise.corpora.forms.fitting import (
    BEIR_CORPUS,
    DPR,
    HIPPORAG,
    beir_file,
    check_form,
    misfit,
    no_field,
)
from branchwise.corpora.forms.omissions import Omissions
from branchwise.corpora.records import CorpusRecord, read_id, to_passage
from branchwise.corpora.rows import DataRow, RowLayout, files_of, layout_of, read_rows
from branchwise.corpora.rows.fields import FieldNames
from branchwise.corpora.rows.hub import hub_rows

FIELDS = ("id", "title", "text", "contents")
"""Ours: a passage has a text, or contents (its title on the first line, its text below)."""
OTHER_ID = "_id"
"""What the id is called, too, without being named: by BEIR, MongoDB."""


class PlacedPassage(NamedTuple):
    """A passage with its place in the source."""

    where: str
    record: CorpusRecord


@dataclass(frozen=True)
class RowPassages:
    """The passages of a file of rows, of the files of that layout in a folder, or of a set of the
    hub (layout `hf`).

    `form`: the form that the source is said to have, and `marks`, the fields that it then has.
    `split`: how each row's text is split, if at all; the parts of a passage with an id of its own
    are numbered, `ID#1`.
    """

    form: str
    place: str
    layout: RowLayout | Literal["hf"]
    names: FieldNames
    split: Split | None = None
    marks: tuple[str, ...] = ()

    def read(self, omissions: Omissions) -> Iterator[PlacedPassage]:
        """The passages in the source's order. Raises InputError for what is none."""
        if first := next(self._rows(), None):
            self._check(first)
        names = (self.names.columns.get(name, name) for name in (*FIELDS, OTHER_ID))
        wanted = {column for name in names for column in (name, name.partition(".")[0])}
        for row in self._rows(wanted):
            record = passage_record(self._fields(row), row.where)
            if record is None:
                omissions.add("empty", row.where)
            elif self.split:
                yield from _parts(record, row.where, self.split)
            else:
                yield PlacedPassage(row.where, record)

    def _rows(self, wanted: Collection[str] | None = None) -> Iterator[DataRow]:
        if self.layout == "hf":
            yield from hub_rows(self.place, wanted)
            return
        for file in files_of(Path(self.place), self.layout):
            if layout_of(file) not in (None, self.layout):
                raise misfit(self.form, str(file), "its name says otherwise")
            yield from read_rows(file, self.layout, wanted=wanted)

    def _fields(self, row: DataRow) -> dict[str, Any]:
        """A row's fields by our names; those that were not named keep their own."""
        if not self.names.columns:
            return row.fields
        found, rest = self.names.split(row.fields)
        if "text" in self.names.columns:
            rest.pop("contents", None)
        return rest | dict.fromkeys(self.names.columns) | found

    def _check(self, first: DataRow) -> None:
        """Raise InputError where the first row lacks a field that it should have."""
        if self.marks:
            check_form(self.form, self.marks, first, self.place)
        if lacking := self.names.missing(first.fields):
            field, column = lacking
            raise InputError(
                f"there is no column {column!r}",
                where=first.where,
                remedy=f"correct --field {field}={column}: {did_you_mean(column, first.fields)}",
            )
        fields = self._fields(first)
        if "text" not in fields and "contents" not in fields:
            raise InputError(
                no_field("text", first),
                where=first.where,
                remedy=f"name it: --field text={_likely(first.fields)}",
            )


def open_form(form: str, place: str, names: FieldNames, split: Split | None) -> RowPassages:
    """The passages of a form of rows. Raises InputError where a BEIR folder has no passages."""
    if form == "beir":
        corpus = beir_file(Path(place), BEIR_CORPUS)
        if corpus is None:
            raise misfit(form, place, f"there is no {BEIR_CORPUS[0]} in it")
        place = str(corpus)
    layout, marks = _LAYOUTS[form]
    return RowPassages(form, place, layout, names, split, marks)


_LAYOUTS: Mapping[str, tuple[RowLayout | Literal["hf"], tuple[str, ...]]] = {
    "jsonl": ("json", ()),
    "csv": ("csv", ()),
    "parquet": ("parquet", ()),
    "hf": ("hf", ()),
    "beir": ("json", ("_id", "text")),
    "dpr": ("csv", DPR),
    "hipporag": ("json", HIPPORAG),
}


def passage_record(fields: Mapping[str, Any], where: str) -> CorpusRecord | None:
    """The passage that a row is; None without a text and a title. Raises InputError."""
    if (contents := fields.get("contents")) is None:
        if "text" not in fields and "title" not in fields:
            raise InputError('lacks "text" (or "contents")', where=where, remedy=_WRITE)
        title, text = (_text(fields.get(name), name, where) for name in ("title", "text"))
        contents = f"{one_line(title)}\n{text}"
    elif not isinstance(contents, str):
        raise InputError(f'"contents" is {json_kind(contents)}', where=where, remedy=_TEXTS)
    if not contents or contents.isspace():
        return None
    id = fields.get("id")
    return CorpusRecord(read_id(fields.get(OTHER_ID) if id is None else id, where), contents)


_WRITE = 'write {"title": "...", "text": "..."}'
_TEXTS = "write texts"


def _text(value: Any, name: str, where: str) -> str:
    """A text, a number as it is written, or a list of texts as its lines; nothing is empty."""
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    raise InputError(f'"{name}" is {json_kind(value)}', where=where, remedy=_TEXTS)


def _parts(record: CorpusRecord, where: str, split: Split) -> Iterator[PlacedPassage]:
    passage = to_passage("", record.contents)
    blocks = tuple(paragraphs(passage.text))
    for number, (heading, part) in enumerate(split(passage.title, blocks), start=1):
        id = None if record.id is None else f"{record.id}#{number}"
        yield PlacedPassage(where, CorpusRecord(id, f"{heading}\n{part}"))


def _likely(fields: Mapping[str, Any]) -> str:
    """The field with the longest text."""
    texts = {name: len(value) for name, value in fields.items() if isinstance(value, str)}
    return max(texts, key=texts.__getitem__, default="NAME")
