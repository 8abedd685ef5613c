"""The tables of docs/format.md and docs/data.md, made of what the product states.

`python -m support.corpora.doc_tables` in `tests` writes them into the pages.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

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
    """With a blank line on either side."""
    return "\n".join(["", *rows, "", ""])


def _fields(form: QuestionForm) -> Iterator[str]:
    for field, becomes in form.reads.items():
        yield f"`{field}`" if field == becomes else f"`{field}` → {becomes}"
    for field in form.drops:
        yield f"`{field}` (not read)"


TABLES: Mapping[Path, Callable[[], str]] = {
    ROOT / "docs" / "format.md": fields_table,
    ROOT / "docs" / "data.md": forms_table,
}


def parts(page: Path) -> tuple[str, str, str]:
    """A page before its table, the table, and the page behind it."""
    before, _, rest = page.read_text("utf-8").partition(_BEGIN)
    table, _, after = rest.partition(_END)
    return before + _BEGIN, table, _END + after


if __name__ == "__main__":
    for page, table in TABLES.items():
        before, _, after = parts(page)
        page.write_text(before + table() + after, "utf-8")
