"""The forms of passage collections that a corpus is built from: a row here for each.

`corpus build --from`, `corpus forms`, its refusals and docs/data.md are made of the rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from branchwise.base.errors import InputError, did_you_mean
from branchwise.corpora.documents.files import READ_AS
from branchwise.corpora.documents.splitting import parse_split
from branchwise.corpora.forms.fitting import FORM_OF_LAYOUT, fitting
from branchwise.corpora.loaders.forms import FORMS
from branchwise.corpora.rows import layout_of, read_rows
from branchwise.corpora.rows.fields import FieldNames

if TYPE_CHECKING:
    from branchwise.corpora.forms.omissions import Omissions
    from branchwise.corpora.forms.passages import PlacedPassage


class PassageSource(Protocol):
    """A collection that can be read, and read again."""

    def read(self, omissions: "Omissions") -> "Iterator[PlacedPassage]":
        """Its passages in their order; what is left out is noted. Raises InputError."""
        ...


@dataclass(frozen=True)
class CorpusForm:
    """A form, written `NAME:PLACE`.

    `fields`: what a passage has there, ours in brackets where they are called otherwise. `source`,
    `licence`: of the published collection, if it is one. `split`: how its texts are split unless
    `--split` says otherwise. `renames`: whether `--field` may say what its fields are called.
    `module`: of this folder, whose `open_form` opens it.
    """

    name: str
    place: str
    about: str
    fields: str
    source: str = ""
    licence: str = ""
    split: str = ""
    renames: bool = False
    module: str = "passages"


SPLIT_HELP = (
    "How texts become passages: words:N (of N words each), paragraphs, headings (one for each "
    "section) or whole. Default: documents as words:100, passages as they are."
)
_FIELDS = "id or _id (optional), title (optional), text; or contents"
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
            module="folder",
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
            module="kilt",
        ),
    )
}


def open_source(source: str, fields: Sequence[str] = (), split: str | None = None) -> PassageSource:
    """The collection of FORM:PLACE as `find_source` gives it, or the passages of a question set.

    `fields`: `FIELD=COLUMN` each. Raises InputError, also where they are given to a form that has
    names of its own.
    """
    prefix, _, place = source.partition(":")
    if prefix in CORPUS_FORMS:
        return _open(CORPUS_FORMS[prefix], place, fields, split)
    return _of_questions(source, fields, split)


def find_source(named: str, fields: Sequence[str] = ()) -> str:
    """FORM:PLACE of what is named: itself, or the form that a file or a folder shows; a question
    set as it is named. Raises InputError where nothing is there, or no form shows."""
    prefix, colon, _ = named.partition(":")
    if colon and (prefix in CORPUS_FORMS or prefix in FORMS):
        return named
    if not Path(named).exists():
        raise _missing(named, prefix if colon else "")
    return named if _is_question_set(named) else _shown(named, bool(fields))


def source_at(named: str) -> str | None:
    """FORM:PLACE that is named, or that what is at a place may be read as; None for neither."""
    form, colon, _ = named.partition(":")
    return named if colon and form in CORPUS_FORMS else fitting(named)


def _open(form: CorpusForm, place: str, fields: Sequence[str], split: str | None) -> PassageSource:
    from branchwise.corpora.forms.passages import FIELDS

    if fields and not form.renames:
        raise _not_taken(f"{form.name} has fields of its own", "--field", fields[0])
    way = split or form.split
    module = import_module(f"branchwise.corpora.forms.{form.module}")
    opened = module.open_form(
        form.name, place, FieldNames.of(fields, FIELDS), parse_split(way) if way else None
    )
    return cast(PassageSource, opened)


def _of_questions(source: str, fields: Sequence[str], split: str | None) -> PassageSource:
    from branchwise.corpora.forms.questions import QuestionPassages

    what = "a question set brings its passages as they are"
    if fields:
        raise _not_taken(what, "--field", fields[0])
    if split:
        raise _not_taken(what, "--split", split)
    return QuestionPassages(source)


def _not_taken(what: str, option: str, value: str) -> InputError:
    return InputError(what, where=f"{option} {value}", remedy=f"leave out {option}")


def _shown(place: str, renames: bool) -> str:
    """FORM:PLACE of what is at a place. Raises InputError for a folder of nothing that is read."""
    if renames and not Path(place).is_dir():
        return f"{FORM_OF_LAYOUT[layout_of(Path(place)) or 'json']}:{place}"
    if fits := fitting(place):
        return fits
    if Path(place).is_dir():
        raise InputError(
            "there are no passages, and no Markdown, HTML or text files, in the folder",
            where=place,
            remedy="`branchwise corpus forms` lists what a corpus is built from",
        )
    return f"jsonl:{place}"  # whose reader says what is wrong with it


def _missing(source: str, prefix: str) -> InputError:
    if prefix and prefix.isidentifier():
        known = did_you_mean(prefix, [*CORPUS_FORMS, *FORMS])
        return InputError(f"there is no form {prefix!r}", where=source, remedy=known)
    return InputError("no such file", where=source, remedy="check the path")


def _is_question_set(source: str) -> bool:
    """Whether the first row of a JSON file is a question. Raises InputError."""
    path = Path(source)
    is_json = layout_of(path) in (None, "json") and path.suffix.lower() not in READ_AS
    if path.is_dir() or not is_json:
        return False
    row = next(read_rows(path, "json"), None)
    return row is not None and "question" in row.fields and "contents" not in row.fields
