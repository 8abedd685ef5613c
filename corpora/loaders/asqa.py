"""ASQA: ambiguous questions of AmbigNQ with short answers under each reading, and long answers.

Format: the published JSON object of splits ("train", "dev"), each an object of entries by id
(github.com/google-research/language, language/asqa), or the array that ALCE made of its
development set. A pair of `qa_pairs` becomes a branch, named by its question; its short answers are
the forms of one answer. `meta` has the split, and what else the file says: the long answers
(`annotations`), the Wikipedia pages, and the contexts of the pairs by branch.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError, Refuse
from branchwise.base.files import MAX_JSON_BYTES, json_kind, open_data
from branchwise.base.text import one_line
from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.loaders.records import uniquely_named
from branchwise.corpora.questions import Branch, Question
from branchwise.corpora.rows import DataRow, read_rows
from branchwise.corpora.rows.json_rows import json_object

_NO_CONTEXT = "No context provided"
_SPLITS = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{')


def rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """The entries of all splits, each with its id and its split."""
    if not _has_splits(path):
        yield from read_rows(path, "json", refuse)
        return
    for split, entries in json_object(path, MAX_JSON_BYTES).items():
        if not isinstance(entries, dict):
            what = f"split {split!r} is {json_kind(entries)}, not an object of entries by id"
            raise InputError(what, where=str(path))
        for id, entry in entries.items():
            where = f"{path}:{split} {id}"
            if isinstance(entry, dict):
                yield DataRow(where, {"sample_id": id, "split": split, **entry})
            else:
                what = f"expected a JSON object, found {json_kind(entry)}"
                refuse("not-an-object", InputError(what, where=where))


def _has_splits(path: Path) -> bool:
    """Whether the file is an object of splits: its first field is an object, and not a row's."""
    with open_data(path) as stream:
        return _SPLITS.match(stream.read(1_000).removeprefix(BOM_UTF8)) is not None


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    reader = GoldReader(at)
    name = "ambiguous_question" if "ambiguous_question" in record else "question"
    branches, contexts = _branches(record.get("qa_pairs"), reader)
    return reader.made(
        id=reader.id(record.get("sample_id")),
        question=one_line(reader.question_text(record.get(name), f'"{name}"')),
        branches=branches,
        meta={"benchmark": "asqa", **({"contexts": contexts} if contexts else {})},
    )


def _branches(pairs: Any, reader: GoldReader) -> tuple[tuple[Branch, ...], dict[str, str]]:
    """The readings, and the passages that annotators saw beside them."""
    found, contexts = [], []
    for number, pair in enumerate(reader.entries(pairs, "qa_pairs"), start=1):
        place = f"reading {number}"
        if not isinstance(pair, dict):
            reader.refuse("form", f"{place} is {json_kind(pair)}", "it is an object")
            continue
        name = one_line(reader.question_text(pair.get("question"), f"the question of {place}"))
        answer = reader.one_of(pair.get("short_answers"), f"short_answers of {place}")
        if name and answer:
            found.append(Branch(name=name, answers=(answer,)))
            contexts.append(pair.get("context"))
    named = uniquely_named(found)
    told = {branch.name: text for branch, text in zip(named, contexts, strict=True)}
    return named, {n: text for n, text in told.items() if text and text != _NO_CONTEXT}
