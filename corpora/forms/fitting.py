"""Which form a file or a folder has: what a refusal of another form suggests."""

from itertools import islice
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.corpora.documents.files import READ_AS, walk
from branchwise.corpora.rows import DataRow, RowLayout, layout_of, read_rows

BEIR_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst")
BEIR_QUERIES = tuple(f"queries{name.removeprefix('corpus')}" for name in BEIR_CORPUS)
DPR = ("id", "text", "title")
HIPPORAG = ("title", "text")
KILT = ("wikipedia_id", "wikipedia_title", "text")
FORM_OF_LAYOUT: dict[RowLayout, str] = {"json": "jsonl", "csv": "csv", "parquet": "parquet"}
_LOOKED_AT = 1_000
"""Names in a folder that are looked at."""


def check_form(form: str, fields: tuple[str, ...], row: DataRow, place: str) -> None:
    """Raise InputError where a source's first row lacks a field of the form."""
    missing = [name for name in fields if name not in row.fields]
    if missing:
        raise misfit(form, place, no_field(missing[0], row), row.where)


def no_field(name: str, row: DataRow) -> str:
    """That a row lacks a field, and which it has."""
    return f"there is no field {name!r} (there are {', '.join(row.fields) or 'none'})"


def misfit(form: str, place: str, what: str, where: str | None = None) -> InputError:
    """The refusal of a source that does not have its form, with the form that it has."""
    fits = fitting(place)
    remedy = f"it fits {fits}" if fits else "`branchwise corpus forms` lists the forms"
    return InputError(f"does not fit {form}: {what}", where=where or place, remedy=remedy)


def fitting(place: str) -> str | None:
    """FORM:PLACE that what is at a place may be read as, None for nothing."""
    path = Path(place)
    try:
        return _of_folder(path) if path.is_dir() else _of_file(path) if path.is_file() else None
    except (InputError, OSError):
        return None


def beir_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of these files that is in a folder."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _of_folder(path: Path) -> str | None:
    if corpus := beir_file(path, BEIR_CORPUS):
        return f"beir:{path}" if beir_file(path, BEIR_QUERIES) else f"jsonl:{corpus}"
    for file in sorted(islice(path.iterdir(), _LOOKED_AT)):
        if (layout := layout_of(file)) and _has_passages(file):
            return f"{FORM_OF_LAYOUT[layout]}:{path}"
    documents = (file for file in islice(walk(path), _LOOKED_AT) if file.kind in READ_AS.values())
    return f"folder:{path}" if any(documents) else None


def _has_passages(file: Path) -> bool:
    try:
        row = next(read_rows(file), None)
    except InputError:
        return False
    return row is not None and not {"text", "contents"}.isdisjoint(row.fields)


def _of_file(path: Path) -> str | None:
    if path.suffix.lower() in READ_AS:
        return f"folder:{path}"
    layout = layout_of(path) or "json"
    row = next(read_rows(path, layout), None)
    if row is None:
        return None
    fields = set(row.fields)
    if "question" in fields and not fields & {"text", "contents"}:
        return None
    if layout == "json" and fields >= set(KILT):
        return f"kilt:{path}"
    if layout == "csv" and fields >= set(DPR) and path.name.removesuffix(".gz").endswith(".tsv"):
        return f"dpr:{path}"
    if ":entry " in row.where and fields >= set(HIPPORAG):
        return f"hipporag:{path}"
    if path.name in BEIR_CORPUS and beir_file(path.parent, BEIR_QUERIES):
        return f"beir:{path.parent}"
    return f"{FORM_OF_LAYOUT[layout]}:{path}"
