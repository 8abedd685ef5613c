"""Passages of each form of collection, one at a time, and what is left out of a corpus.

KILT's form: github.com/facebookresearch/KILT, "Structure of each record": a page's paragraphs, the
first of which is its title; `Section::::NAME` begins a section, `BULLET::::` an item of a list.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.files import json_kind
from branchwise.base.text import one_line, printable
from branchwise.corpora.documents import (
    DENIED,
    LINK,
    OTHER,
    READ_AS,
    FoundFile,
    Split,
    parse_split,
    read_document,
    walk,
)
from branchwise.corpora.forms import (
    BEIR_CORPUS,
    DPR,
    HIPPORAG,
    KILT,
    PassageSource,
    beir_file,
    check_form,
    misfit,
    no_field,
)
from branchwise.corpora.html import TextBlock, UnreadableDocumentError, paragraphs
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import given_rows
from branchwise.corpora.passages import CorpusRecord, passage_id, read_id, to_passage
from branchwise.corpora.rows import DataRow, FieldNames, RowLayout, files_of, layout_of, read_rows
from branchwise.corpora.table_rows import hub_rows

Omitted = Literal["empty", "double", "unreadable", "other", "link"]
_WORDS: dict[Omitted, tuple[str, str]] = {
    "empty": ("passage without a text", "passages without a text"),
    "double": ("passage that is there already", "passages that are there already"),
    "other": ("file of another kind", "files of other kinds"),
    "link": ("link, which is not followed", "links, which are not followed"),
}
_OMITTED_FILES: dict[str, Omitted] = {OTHER: "other", LINK: "link", DENIED: "unreadable"}
_MOST_NAMED = 1_000  # files that cannot be read, of those that are kept with their names
_MOST_SHOWN = 10
FIELDS = ("id", "title", "text", "contents")
"""Ours: a passage has a text, or contents (its title on the first line, its text below)."""
_OTHER_ID = "_id"  # what the id is called, too, without being named: by BEIR, MongoDB
_LAYOUTS: Mapping[str, tuple[RowLayout | Literal["hf"], tuple[str, ...]]] = {
    "jsonl": ("json", ()),
    "csv": ("csv", ()),
    "parquet": ("parquet", ()),
    "hf": ("hf", ()),
    "beir": ("json", ("_id", "text")),
    "dpr": ("csv", DPR),
    "hipporag": ("json", HIPPORAG),
}
"""Of each form of rows: how a file holds them, and the fields that mark it."""
_WRITE = 'write {"title": "...", "text": "..."}'
_TEXTS = "write texts"
_SECTION = "Section::::"
_BULLET = re.compile(r"^BULLET::::-?\s*")


class Omissions:
    """What was left out. Memory does not grow with it."""

    def __init__(self) -> None:
        self._places: dict[Omitted, tuple[int, str]] = {}
        self._unread: list[dict[str, str]] = []
        self.fields: list[str] = []

    def add(self, kind: Omitted, where: str, problem: str = "") -> None:
        count, first = self._places.get(kind, (0, where))
        self._places[kind] = count + 1, first
        if kind == "unreadable" and count < _MOST_NAMED:
            self._unread.append({"name": _shown(where), "problem": problem})

    def lines(self) -> Iterator[str]:
        """A line for each kind with the first place, and one for each file that was not read."""
        for kind, (singular, plural) in _WORDS.items():
            count, first = self._places.get(kind, (0, ""))
            if count:
                named = singular if count == 1 else f"{plural}, the first"
                yield f"{count:,} {named}: {_shown(first)}"
        for file in self._unread[:_MOST_SHOWN]:
            yield f"{file['name']}: {file['problem']}"
        if (more := self._places.get("unreadable", (0, ""))[0] - _MOST_SHOWN) > 0:
            yield f"{more:,} more {'file' if more == 1 else 'files'} that cannot be read"
        if self.fields:
            shown = ", ".join(map(_shown, self.fields[:_MOST_SHOWN]))
            yield f"fields that do not belong to a passage: {shown}"

    def as_json(self) -> dict[str, Any]:
        """Counts and first places by kind; of files that cannot be read, the first thousand."""
        record: dict[str, Any] = {
            kind: {"count": count, "first": _shown(first)}
            for kind, (count, first) in self._places.items()
        }
        if self._unread:
            record["unreadable"]["files"] = self._unread
        return record


def _shown(place: str) -> str:
    return one_line(printable(place))


class PlacedPassage(NamedTuple):
    where: str
    record: CorpusRecord


def open_form(form: str, place: str, names: FieldNames, split: Split | None) -> PassageSource:
    path = Path(place)
    if form == "kilt" and split:
        return partial(_page_passages, place, split)
    if form == "folder" and split:
        if not path.exists():
            raise InputError("no such folder", where=place, remedy="check the path")
        if not path.is_dir() and path.suffix.lower() not in READ_AS:
            raise misfit(form, place, "is not a folder")
        return partial(_document_passages, path, split)
    if form == "beir":
        corpus = beir_file(path, BEIR_CORPUS)
        if corpus is None:
            raise misfit(form, place, f"there is no {BEIR_CORPUS[0]} in it")
        place = str(corpus)
    return _RowPassages(form, place, names, split).read


def row_passages(
    rows: Iterable[Mapping[str, Any]], fields: Mapping[str, str] | Sequence[str], split: str | None
) -> PassageSource:
    """Passages of rows in memory. Raises InputError for anything that is not a row."""
    names, way = FieldNames.of(fields, FIELDS), parse_split(split) if split else None
    return _RowPassages("jsonl", "rows", names, way, given_rows(rows)).read


@dataclass(frozen=True)
class _RowPassages:
    """The passages of a file of rows, of such files in a folder, or of a hub's set, whose form is
    said to be `form`. `split`: how each row's text is split, if at all, into `ID#1`, `ID#2`..."""

    form: str
    place: str
    names: FieldNames
    split: Split | None
    given: Sequence[DataRow] | None = None

    def read(self, omissions: Omissions) -> Iterator[PlacedPassage]:
        if first := next(self._rows(), None):
            self._check(first)
            if not _LAYOUTS[self.form][1]:
                rest = self.names.split(first.fields)[1]
                omissions.fields = [name for name in rest if name not in (*FIELDS, _OTHER_ID)]
        names = (self.names.columns.get(name, name) for name in (*FIELDS, _OTHER_ID))
        wanted = {column for name in names for column in (name, name.partition(".")[0])}
        for row in self._rows(wanted):
            record = _passage_record(self._fields(row), row.where)
            if record is None:
                omissions.add("empty", row.where)
            elif self.split:
                passage = to_passage("", record.contents)
                parts = self.split(passage.title, tuple(paragraphs(passage.text)))
                for number, (heading, text) in enumerate(parts, start=1):
                    id = None if record.id is None else f"{record.id}#{number}"
                    yield PlacedPassage(row.where, CorpusRecord(id, f"{heading}\n{text}"))
            else:
                yield PlacedPassage(row.where, record)

    def _rows(self, wanted: Collection[str] | None = None) -> Iterator[DataRow]:
        layout, _ = _LAYOUTS[self.form]
        if self.given is not None:
            yield from self.given
            return
        if layout == "hf":
            yield from hub_rows(self.place, wanted)
            return
        for file in files_of(Path(self.place), layout):
            if layout_of(file) not in (None, layout):
                raise misfit(self.form, str(file), "its name says otherwise")
            yield from read_rows(file, layout, wanted=wanted)

    def _fields(self, row: DataRow) -> dict[str, Any]:
        if not self.names.columns:
            return row.fields
        fields, rest = self.names.split(row.fields)
        if "text" in self.names.columns:
            rest.pop("contents", None)
        return rest | dict.fromkeys(self.names.columns) | fields

    def _check(self, first: DataRow) -> None:
        check_form(self.form, _LAYOUTS[self.form][1], first, self.place)
        if lacking := self.names.missing(first.fields):
            field, column = lacking
            problem = f"there is no column {column!r}"
            remedy = f"correct --field {field}={column}: {did_you_mean(column, first.fields)}"
            raise InputError(problem, where=first.where, remedy=remedy)
        fields = self._fields(first)
        if "text" not in fields and "contents" not in fields:
            texts = {name: text for name, text in first.fields.items() if isinstance(text, str)}
            longest = max(texts, key=lambda name: len(texts[name]), default="NAME")
            problem, remedy = no_field("text", first), f"name it: --field text={longest}"
            raise InputError(problem, where=first.where, remedy=remedy)


def _passage_record(fields: Mapping[str, Any], where: str) -> CorpusRecord | None:
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
    return CorpusRecord(read_id(fields.get(_OTHER_ID) if id is None else id, where), contents)


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


def _document_passages(path: Path, split: Split, omissions: Omissions) -> Iterator[PlacedPassage]:
    """The passages of a document, or of a folder's, read whole, one at a time, by their names."""
    files: Iterable[FoundFile] = [FoundFile(path, READ_AS.get(path.suffix.lower(), OTHER))]
    for file in walk(path) if path.is_dir() else files:
        where = str(file.path)
        if omitted := _OMITTED_FILES.get(file.kind):
            omissions.add(omitted, where, file.problem)
            continue
        try:
            document = read_document(file)
        except UnreadableDocumentError as error:
            omissions.add("unreadable", where, str(error))
            continue
        empty = True
        for title, text in split(document.title, document.blocks):
            empty = False
            yield PlacedPassage(where, CorpusRecord(None, f"{title}\n{text}"))
        if empty:
            omissions.add("empty", where)


def _page_passages(place: str, split: Split, omissions: Omissions) -> Iterator[PlacedPassage]:
    """The passages of KILT's pages: `ID#1`, ... by their ids in Wikipedia; `ID` of one whole."""
    for number, row in enumerate(read_rows(Path(place), "json")):
        if not number:
            check_form("kilt", KILT, row, place)
        title: Any = row.fields.get("wikipedia_title")
        texts: Any = row.fields.get("text")
        for name, value, type in (("wikipedia_title", title, str), ("text", texts, list)):
            if not isinstance(value, type):
                problem = f'"{name}" is {json_kind(value)}'
                raise InputError(problem, where=row.where, remedy="see KILT's README")
        texts = [text.strip() for text in texts if isinstance(text, str)]
        if texts[:1] == [title.strip()]:
            del texts[0]
        id = read_id(row.fields.get("wikipedia_id"), row.where)
        parts = list(split(one_line(title), [_block(text) for text in texts if text]))
        if not parts:
            omissions.add("empty", row.where)
        for part, (heading, text) in enumerate(parts, start=1):
            own = f"{id}#{part}" if len(parts) > 1 else id
            yield PlacedPassage(row.where, CorpusRecord(own, f"{heading}\n{text}"))


def _block(text: str) -> TextBlock:
    if text.startswith(_SECTION):
        return TextBlock(text.removeprefix(_SECTION).strip().rstrip("."), level=2)
    return TextBlock(_BULLET.sub("- ", text))


def question_passages(source: str) -> PassageSource:

    def read(omissions: Omissions) -> Iterator[PlacedPassage]:
        empty = True
        for question in load_questions(source, require_gold=False).questions:
            where = f"{source}, question {question.id!r}"
            for passage in question.passages:
                empty = False
                is_hash = passage.id == passage_id(passage.title, passage.text)
                record = CorpusRecord(None if is_hash else passage.id, passage.contents)
                yield PlacedPassage(where, record)
        if empty:
            problem = "the questions bring no passages"
            remedy = "build the corpus from passages (`branchwise corpus forms`)"
            raise InputError(problem, where=source, remedy=remedy)

    return read
