"""Passages of sources whose rows are passages: their fields, and which of them is what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.corpora.documents.blocks import paragraphs
from branchwise.corpora.documents.splitting import Split
from branchwise.corpora.errors import InputError
from branchwise.corpora.files import json_kind
from branchwise.corpora.forms.fitting import (
    BEIR_CORPUS,
    DPR,
    HIPPORAG,
    beir_file,
    check_form,
    misfit,
)
from branchwise.corpora.forms.omissions import Omissions
from branchwise.corpora.records import CorpusRecord, read_id, to_passage
from branchwise.corpora.rows import Row, read_rows
from branchwise.corpora.rows.fields import FieldNames
from branchwise.corpora.text import one_line

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
    """The passages of a source of rows (FORM:PLACE of `read_rows`).

    `named`: the form of corpora that the source is said to have, and the fields that it then has.
    `split`: how each row's text is split, if at all; the parts of a passage with an id of its own
    are numbered, `ID#1`.
    """

    rows: str
    names: FieldNames
    split: Split | None = None
    named: tuple[str, tuple[str, ...]] | None = None

    def read(self, omissions: Omissions) -> Iterator[PlacedPassage]:
        """The passages in the source's order. Raises InputError for what is none."""
        if first := next(read_rows(self.rows), None):
            self._check(first)
        for row in read_rows(self.rows, self.names.wanted((*FIELDS, OTHER_ID))):
            fields = self.names.read(row)
            record = passage_record(fields, row.where)
            if record is None:
                omissions.add("empty", row.where)
            elif self.split:
                yield from _parts(record, row.where, self.split)
            else:
                yield PlacedPassage(row.where, record)

    def _check(self, row: Row) -> None:
        if self.named:
            check_form(*self.named, row, self.rows.partition(":")[2])
        self.names.check(row)
        fields = self.names.read(row)
        if "text" not in fields and "contents" not in fields:
            raise InputError(
                f"has no field 'text' (its fields are {', '.join(row.fields) or 'none'})",
                where=row.where,
                remedy=f"name the field that holds it: --field text={_likely(row.fields)}",
            )


def open_form(form: str, place: str, names: FieldNames, split: Split | None) -> RowPassages:
    """The passages of a form of rows. Raises InputError where a BEIR folder has no passages."""
    if form == "beir":
        corpus = beir_file(Path(place), BEIR_CORPUS)
        if corpus is None:
            raise misfit(form, place, f"there is no {BEIR_CORPUS[0]} in it")
        return RowPassages(f"jsonl:{corpus}", names, split, (form, ("_id", "text")))
    if form in _NAMED:
        rows, fields = _NAMED[form]
        return RowPassages(f"{rows}:{place}", names, split, (form, fields))
    return RowPassages(f"{form}:{place}", names, split)


_NAMED = {"dpr": ("tsv", DPR), "hipporag": ("json", HIPPORAG)}


def passage_record(fields: Mapping[str, Any], where: str) -> CorpusRecord | None:
    """The passage that a row is; None without a text and a title. Raises InputError."""
    if (contents := fields.get("contents")) is None:
        title, text = (_text(fields.get(name), name, where) for name in ("title", "text"))
        contents = f"{one_line(title)}\n{text}"
    elif not isinstance(contents, str):
        raise InputError(f'"contents" is {json_kind(contents)}', where=where, remedy=_TEXTS)
    if not contents or contents.isspace():
        return None
    id = fields.get("id")
    return CorpusRecord(read_id(fields.get(OTHER_ID) if id is None else id, where), contents)


_TEXTS = "write texts"


def _text(value: Any, name: str, where: str) -> str:
    """A text, or a list of texts as its lines; nothing is the empty text."""
    if value is None:
        return ""
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
