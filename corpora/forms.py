"""The forms of passage collections that a corpus is built from: a row here for each.

`corpus build --from`, `corpus forms`, its refusals and docs/data.md are made of the rows.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.base.errors import InputError, did_you_mean
from branchwise.corpora.documents import READ_AS, parse_split, walk
from branchwise.corpora.loaders.forms import FORMS
from branchwise.corpora.rows import DataRow, FieldNames, RowLayout, layout_of, read_rows

if TYPE_CHECKING:
    from branchwise.corpora.passage_sources import Omissions, PlacedPassage


BEIR_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst")
BEIR_QUERIES = tuple(f"queries{name.removeprefix('corpus')}" for name in BEIR_CORPUS)
DPR = ("id", "text", "title")
HIPPORAG = ("title", "text")
KILT = ("wikipedia_id", "wikipedia_title", "text")
_FORM_OF_LAYOUT: dict[RowLayout, str] = {"json": "jsonl", "csv": "csv", "parquet": "parquet"}
_LOOKED_AT = 1_000  # names in a folder that are looked at
PassageSource = Callable[["Omissions"], "Iterator[PlacedPassage]"]
"""Reads a collection's passages in their order; what is left out is noted. Raises InputError."""
SPLIT_HELP = (
    "How texts become passages: words:N (of N words each), paragraphs, headings (one for each "
    "section) or whole. Default: documents as words:100, passages as they are."
)
_FIELDS = "id or _id (optional), title (optional), text; or contents"
_AS_THEY_ARE = "a question set brings its passages as they are"


@dataclass(frozen=True)
class CorpusForm:
    """A form, written `NAME:PLACE`. `fields`: what a passage has there, ours in brackets where they
    are called otherwise. `source`, `licence`: of a published collection. `split`: how its texts are
    split by default. `renames`: whether `--field` may say what its fields are called."""

    name: str
    place: str
    about: str
    fields: str
    source: str = ""
    licence: str = ""
    split: str = ""
    renames: bool = False


CORPUS_FORMS: Mapping[str, CorpusForm] = {
    form.name: form
    for form in (
        CorpusForm(
            "jsonl", "PATH", "JSON, a line each (as FlashRAG's) or one array", _FIELDS, renames=True
        ),
        CorpusForm("csv", "PATH", "CSV or TSV with a header", _FIELDS, renames=True),
        CorpusForm("parquet", "PATH", "Parquet", _FIELDS, renames=True),
        CorpusForm(
            "hf",
            "NAME[:CONFIG[:SPLIT]]",
            "a set of the Hugging Face Hub",
            _FIELDS,
            "https://huggingface.co/datasets",
            "see its card",
            renames=True,
        ),
        CorpusForm(
            "folder",
            "DIR",
            "Markdown, HTML and text files",
            "the file's title or name (title), its content (text)",
            split="words:100",
        ),
        CorpusForm(
            "beir",
            "DIR",
            "a data set of BEIR: corpus.jsonl, with queries.jsonl and qrels/ for `corpus eval`",
            "_id (id), title, text",
            "https://github.com/beir-cellar/beir",
            "its data set's",
        ),
        CorpusForm(
            "dpr",
            "FILE",
            "DPR's passages of Wikipedia, psgs_w100.tsv",
            "id, text, title",
            "https://github.com/facebookresearch/DPR",
            "CC BY-NC 4.0; texts CC BY-SA 3.0",
        ),
        CorpusForm(
            "hipporag",
            "FILE",
            "HippoRAG's passages, NAME_corpus.json",
            "title, text",
            "https://github.com/OSU-NLP-Group/HippoRAG",
            "MIT; texts CC BY-SA",
        ),
        CorpusForm(
            "kilt",
            "FILE",
            "KILT's pages of Wikipedia, kilt_knowledgesource.json",
            "wikipedia_id (id), wikipedia_title (title), text",
            "https://github.com/facebookresearch/KILT",
            "MIT; texts CC BY-SA 3.0",
            split="words:100",
        ),
    )
}


def open_source(
    source: str, fields: Mapping[str, str] | Sequence[str] = (), split: str | None = None
) -> PassageSource:
    """The collection of FORM:PLACE, or the passages of a question set. `fields`: `FIELD=COLUMN`."""
    from branchwise.corpora.passage_sources import FIELDS, open_form, question_passages

    prefix, _, place = source.partition(":")
    form = CORPUS_FORMS.get(prefix)
    if fields and not (form and form.renames):
        raise _not_taken(form, "--field", next(iter(fields)))
    if split and not form:
        raise _not_taken(form, "--split", split)
    if form is None:
        return question_passages(source)
    way = split or form.split
    names = FieldNames.of(fields, FIELDS)
    return open_form(form.name, place, names, parse_split(way) if way else None)


def _not_taken(form: CorpusForm | None, option: str, value: str) -> InputError:
    taken = f"{form.name} has fields of its own" if form else _AS_THEY_ARE
    return InputError(taken, where=f"{option} {value}", remedy=f"leave out {option}")


def find_source(named: str, fields: Collection[str] = ()) -> str:
    """FORM:PLACE of what is named: itself, the form that it shows; a question set as named."""
    prefix, colon, _ = named.partition(":")
    if colon and (prefix in CORPUS_FORMS or prefix in FORMS):
        return named
    path = Path(named)
    if not path.exists():
        if colon and prefix.isidentifier():
            known = did_you_mean(prefix, [*CORPUS_FORMS, *FORMS])
            raise InputError(f"there is no form {prefix!r}", where=named, remedy=known)
        raise InputError("no such file", where=named, remedy="check the path")
    layout = layout_of(path) or "json"
    if not path.is_dir():
        if layout == "json" and path.suffix.lower() not in READ_AS:
            row = next(read_rows(path, "json"), None)
            if row is not None and "question" in row.fields and "contents" not in row.fields:
                return named
        if fields:
            return f"{_FORM_OF_LAYOUT[layout]}:{named}"
    if fits := _fitting(named):
        return fits
    if path.is_dir():
        problem = "there are no passages, and no Markdown, HTML or text files, in the folder"
        remedy = "`branchwise corpus forms` lists what a corpus is built from"
        raise InputError(problem, where=named, remedy=remedy)
    return f"jsonl:{named}"  # whose reader says what is wrong with it


def source_at(named: str) -> str | None:
    """FORM:PLACE that is named, or that what is at a place may be read as; None for neither."""
    form, colon, _ = named.partition(":")
    return named if colon and form in CORPUS_FORMS else _fitting(named)


def check_form(form: str, fields: tuple[str, ...], row: DataRow, place: str) -> None:
    """Raise InputError where a source's first row lacks a field of the form."""
    missing = [name for name in fields if name not in row.fields]
    if missing:
        raise misfit(form, place, no_field(missing[0], row), row.where)


def no_field(name: str, row: DataRow) -> str:
    return f"there is no field {name!r} (there are {', '.join(row.fields) or 'none'})"


def misfit(form: str, place: str, problem: str, where: str | None = None) -> InputError:
    """The refusal of a source that does not have its form, with the form that it has."""
    fits = _fitting(place)
    remedy = f"it fits {fits}" if fits else "`branchwise corpus forms` lists the forms"
    return InputError(f"does not fit {form}: {problem}", where=where or place, remedy=remedy)


def beir_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of these files that is in a folder."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _fitting(place: str) -> str | None:
    """FORM:PLACE that what is at a place may be read as, None for nothing."""
    path = Path(place)
    try:
        return _of_folder(path) if path.is_dir() else _of_file(path) if path.is_file() else None
    except (InputError, OSError):
        return None


def _of_folder(path: Path) -> str | None:
    if corpus := beir_file(path, BEIR_CORPUS):
        return f"beir:{path}" if beir_file(path, BEIR_QUERIES) else f"jsonl:{corpus}"
    for file in sorted(islice(path.iterdir(), _LOOKED_AT)):
        if layout := layout_of(file):
            with suppress(InputError):
                row = next(read_rows(file), None)
                if row is not None and not {"text", "contents"}.isdisjoint(row.fields):
                    return f"{_FORM_OF_LAYOUT[layout]}:{path}"
    documents = (file for file in islice(walk(path), _LOOKED_AT) if file.kind in READ_AS.values())
    return f"folder:{path}" if any(documents) else None


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
    return f"{_FORM_OF_LAYOUT[layout]}:{path}"
