"""BEIR: the queries of a data set, with the passages that are judged relevant.

Form: github.com/beir-cellar/beir, "Load your custom dataset": a folder with `queries.jsonl` and
`qrels/SPLIT.tsv`. The split is `test`, or the one whose file is named: `beir:DIR/qrels/dev.tsv`.
Only judged queries are read. The grades are `meta["qrels"]`; there are no answers.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError, Refuse
from branchwise.base.text import one_line
from branchwise.corpora.forms.fitting import BEIR_QUERIES, beir_file
from branchwise.corpora.judgements import META_KEY, read_judgements
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import Question
from branchwise.corpora.rows import DataRow, read_rows

_DEFAULT = "test"
_NAME = "name the folder of a data set of BEIR"


def rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """The judged queries of a folder, each with its grades."""
    folder, judgements = _found(path)
    queries = beir_file(folder, BEIR_QUERIES)
    if queries is None:
        raise InputError(f"there is no {BEIR_QUERIES[0]}", where=str(folder), remedy=_NAME)
    judged = read_judgements(judgements)
    for row in read_rows(queries, "json", refuse):
        if grades := judged.pop(str(row.fields.get("_id")), None):
            yield DataRow(row.where, {**row.fields, META_KEY: grades})
    if judged:
        unknown = next(iter(judged))
        raise InputError(
            f"{len(judged):,} judged queries are not in {queries.name}, the first {unknown!r}",
            where=str(judgements),
            remedy="compare with the published data set",
        )


def _found(path: Path) -> tuple[Path, Path]:
    """The folder of the data set, and the file with its judgements."""
    if path.is_file():
        return path.parent.parent, path
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), remedy="check the path")
    splits = {file.stem: file for file in sorted((path / "qrels").glob("*.tsv"))}
    if not path.is_dir() or not splits:
        raise InputError("there is no qrels/test.tsv", where=str(path), remedy=_NAME)
    if _DEFAULT in splits or len(splits) == 1:
        return path, splits.get(_DEFAULT) or next(iter(splits.values()))
    raise InputError(
        f"has judgements for {', '.join(splits)}, none for {_DEFAULT}",
        where=str(path),
        remedy=f"name one: beir:{next(iter(splits.values()))}",
    )


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The query of a row."""
    id, text = record.get("_id"), record.get("text")
    if not isinstance(text, str) or not text.strip() or id is None:
        at.refuse("form", 'lacks "_id" or "text"', "compare with the published file")
        return None
    kept = {"metadata": record["metadata"]} if record.get("metadata") else {}
    return Question(
        id=str(id),
        question=one_line(text),
        meta={"benchmark": "beir", META_KEY: record[META_KEY], **kept},
    )
