"""The tables of docs/format.md and docs/data.md, made of what the product states."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from branchwise.corpora.forms import CORPUS_FORMS
from branchwise.corpora.loaders.format_fields import OBJECTS
from branchwise.corpora.loaders.forms import FORMS, QuestionForm
from support import ROOT

_BEGIN = "<!-- made by tests/support/corpora/doc_tables.py -->\n"
_END = "<!-- end -->\n"


def fields_table() -> str:
    """Every field of our own format."""
    rows = ["| of | field | written as | says |", "|---|---|---|---|"]
    for what, fields in OBJECTS.items():
        for field in fields:
            star = "*" if field.required else ""
            rows.append(f"| {what} | `{field.name}`{star} | {field.written} | {field.about} |")
    return _set_apart(rows)


def forms_table() -> str:
    """Every form that has fields of its own."""
    rows = ["| form | set | fields | in `meta` | licence |", "|---|---|---|---|---|"]
    for form in FORMS.values():
        if not form.takes_fields:
            name = f"[{form.title}]({form.origin})"
            kept = ", ".join(f"`{field}`" for field in form.keeps)
            cells = (f"`{form.prefix}`", name, ", ".join(_fields(form)), kept, form.licence)
            rows.append(f"| {' | '.join(cells)} |")
    return _set_apart(rows)


def _set_apart(rows: list[str]) -> str:
    return "\n".join(["", *rows, "", ""])


def corpora_table() -> str:
    """Every form that a corpus is built from."""
    rows = ["| form | what | fields | licence |", "|---|---|---|---|"]
    for form in CORPUS_FORMS.values():
        what = f"[{form.about}]({form.source})" if form.source else form.about
        rows.append(f"| `{form.name}:{form.place}` | {what} | {form.fields} | {form.licence} |")
    return "\n".join(rows) + "\n"


def _fields(form: QuestionForm) -> Iterator[str]:
    for field, becomes in form.reads.items():
        yield f"`{field}`" if field == becomes else f"`{field}` → {becomes}"
    for field in form.drops:
        yield f"`{field}` (not read)"


TABLES: Mapping[Path, tuple[Callable[[], str], ...]] = {
    ROOT / "docs" / "format.md": (fields_table,),
    ROOT / "docs" / "data.md": (forms_table, corpora_table),
}
"""The tables of each page, in their order."""


def tables_in(page: Path) -> list[str]:
    """The tables as they stand in a page."""
    return [part.partition(_END)[0] for part in page.read_text("utf-8").split(_BEGIN)[1:]]


def with_tables(page: Path) -> str:
    """The page with its tables made again."""
    before, *parts = page.read_text("utf-8").split(_BEGIN)
    made = (table() for table in TABLES[page])
    rest = zip(made, parts, strict=True)
    return before + "".join(f"{_BEGIN}{new}{_END}{old.partition(_END)[2]}" for new, old in rest)


if __name__ == "__main__":
    for page in TABLES:
        page.write_text(with_tables(page), "utf-8")
