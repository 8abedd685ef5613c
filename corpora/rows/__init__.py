"""Rows of the data files that people have: JSON lines or arrays, CSV, parquet, data sets of a hub.

A row is an object with its place in the file. All readers hold one row, or one batch of rows, at a
time; none evaluates what it reads.
"""

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.corpora.errors import InputError

_PACKED = (".gz", ".zst")


class Row(NamedTuple):
    """`where`: `f.csv:3` (the line on which it begins), `f.json:entry 3`, `f.parquet:row 3`.

    `fields`: JSON values by name. Dates are texts (ISO 8601), what is not a number is None.
    """

    where: str
    fields: Mapping[str, Any]


Wanted = Collection[str] | None
"""The fields that are needed, None for all; the others may be left out."""


class RowForm(NamedTuple):
    """A kind of files. `suffixes`: how their names end, before .gz or .zst; none: not files."""

    name: str
    about: str
    suffixes: tuple[str, ...]
    module: str

    def read(self, place: str, wanted: Wanted = None) -> Iterator[Row]:
        """The rows at a path, of a folder those of all its files of this form, by name."""
        read = import_module(f"branchwise.corpora.rows.{self.module}").read
        for at in _files(place, self) if self.suffixes else [place]:
            yield from read(at, wanted)


ROW_FORMS: Mapping[str, RowForm] = {
    form.name: form
    for form in (
        RowForm("jsonl", "JSON lines", (".jsonl", ".ndjson"), "json_rows"),
        RowForm("json", "one JSON array of objects", (".json",), "json_rows"),
        RowForm("csv", "CSV with a header", (".csv",), "delimited"),
        RowForm("tsv", "CSV with tabs and a header", (".tsv",), "delimited"),
        RowForm("parquet", "parquet", (".parquet",), "parquet"),
        RowForm("hf", "a data set of the Hugging Face hub", (), "hub"),
    )
}


def read_rows(source: str, wanted: Wanted = None) -> Iterator[Row]:
    """The rows of `FORM:PLACE`, or of a file whose name says which form it has.

    Raises InputError, with the file and the place in it, for what cannot be read, and for a name
    that says no form.
    """
    prefix, colon, place = source.partition(":")
    if colon and prefix in ROW_FORMS:
        return ROW_FORMS[prefix].read(place, wanted)
    if form := form_of(Path(source)):
        return form.read(source, wanted)
    known = ", ".join(f"{name}:" for name in ROW_FORMS)
    raise InputError(
        "its name does not say which form it has",
        where=source,
        remedy=f"put the form in front of it ({known})",
    )


def form_of(path: Path) -> RowForm | None:
    """The form that a file's name says it has."""
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    suffix = Path(name).suffix
    return next((form for form in ROW_FORMS.values() if suffix in form.suffixes), None)


def _files(place: str, form: RowForm) -> list[Path]:
    path = Path(place)
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if form_of(file) == form and file.is_file())
    if not found:
        names = " or ".join(f"*{suffix}" for suffix in form.suffixes)
        raise InputError(f"is a folder without a {names}", where=place, remedy="name a file")
    return found
