"""Rows of any file, of which the user says which column is which field.

A column without a field goes to `meta`. Several answers in one text are told apart by the
separator, or are a list that is written in it (`corpora/written_lists.py`).
"""

from collections.abc import Mapping
from typing import Any

from branchwise.base.errors import did_you_mean
from branchwise.base.files import json_kind
from branchwise.corpora.loaders import native
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import Question
from branchwise.corpora.written_lists import members, written_list

_NEEDED = ("question", "answers", "branches")
_LIKE = {"question": ("query", "q"), "answers": ("answer", "gold", "golden_answers", "target")}
"""What columns are called that hold a field which no column is named after."""


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of a row; None if something in it was refused."""
    source = at.loading.source
    found, rest = source.fields.split(record)
    for field in source.form.reads:
        if field not in source.fields.columns and field in rest:
            found[field] = rest.pop(field)
    if at.number == 1 and not _has_columns(record, found, at):
        return None
    if found.get("id") is None:
        found["id"] = at.number
    if not _set_answers(found, at):
        return None
    meta = {name: value for name, value in rest.items() if value is not None}
    read = native.question({**found, "meta": meta}, at)
    for name in meta if read else ():
        at.keep(name)
    return read


def _has_columns(record: Mapping[str, Any], found: Mapping[str, Any], at: RowPlace) -> bool:
    """Whether the first row has the columns that were named, and those that a question needs."""
    columns, fixed = at.loading.source.fields.columns, at.loading.source.form.layout != "json"
    for field, column in columns.items():
        if field not in found and (fixed or field in _NEEDED):
            what = f"there is no column {column!r}, which was named as {field}"
            at.refuse("no-column", what, did_you_mean(column, record))
            return False
    for field in ("question", *(("answers",) if "branches" not in found else ())):
        if field in found:
            continue
        like = next((name for name in (*_LIKE[field], field[:-1]) if name in record), None)
        if field == "question" or like:
            known = ", ".join(record)
            remedy = f"name it: {field}={like or 'COLUMN'} (columns are {known})"
            at.refuse("no-column", f"there is no column {field!r}", remedy)
            return False
    return True


def _set_answers(found: dict[str, Any], at: RowPlace) -> bool:
    """Put the answers, and the aliases of a single one, as our own format has them."""
    answers, aliases = found.get("answers"), found.pop("aliases", None)
    if isinstance(answers, str):
        answers = _several(answers, at)
    elif isinstance(answers, list):
        answers = members(answers) or None
    elif isinstance(answers, dict | bool):
        what = f"the answers are {json_kind(answers)}, neither a text nor a list"
        remedy = "name the column within it: answers=COLUMN.NAME"
        at.refuse("not-an-answer", what, remedy)
        return False
    if aliases is not None and answers is not None:
        more = _several(aliases, at) if isinstance(aliases, str) else members(aliases)
        [one, *others] = answers if isinstance(answers, list) else [answers]
        if others or isinstance(one, dict | list):
            at.refuse("aliases", "has aliases, and not just one answer", "leave them out")
            return False
        answers = [{"text": one, "aliases": more}]
    found["answers"] = answers
    return True


def _several(text: str, at: RowPlace) -> Any:
    """The answers in one text."""
    if separator := at.loading.source.separator:
        return [part.strip() for part in text.split(separator) if part.strip()]
    listed = written_list(text)
    return text if listed is None else listed
