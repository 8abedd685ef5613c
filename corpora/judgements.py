"""Which passages are relevant to which queries: relevance judgements (qrels) and gold support.

BEIR's data sets are read here, too (github.com/beir-cellar/beir, "Load your custom dataset"): a
folder with `queries.jsonl` and `qrels/SPLIT.tsv`. The split is `test`, or the one whose file is
named: `beir:DIR/qrels/dev.tsv`. Only judged queries are read; there are no answers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError, Refuse
from branchwise.base.files import json_kind, read_lines
from branchwise.base.text import one_line
from branchwise.corpora.forms import BEIR_QUERIES, beir_file
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.questions import Question
from branchwise.corpora.rows import DataRow, read_rows

PassageGrades = Mapping[str, int]
"""Grades by passage id; above 0 a passage is relevant."""
META_KEY = "qrels"
"""In `meta`: a question's grades where its data set judges passages."""
_FORMS = "write query, passage and grade (BEIR), or query, 0, passage and grade (TREC)"
_DEFAULT = "test"
_NAME = "name the folder of a data set of BEIR"


def grades_of(question: Question) -> list[PassageGrades]:
    """The judged passages, or those that state or are cited by answers, of each gold set."""
    judged = question.meta.get(META_KEY)
    if judged is None:
        grades: list[PassageGrades] = []
        for branches in question.gold_sets:
            cited = {id for branch in branches for id in branch.citations}
            answers = [answer for branch in branches for answer in branch.answers]
            cited.update(id for answer in answers for id in answer.support)
            grades.append(dict.fromkeys(sorted(cited), 1))
        return grades
    where, remedy = f"question {question.id!r}", f'write "{META_KEY}": {{"PASSAGE ID": 1}}'
    if not isinstance(judged, Mapping):
        problem = f'meta has "{META_KEY}", which is {json_kind(judged)}'
        raise InputError(problem, where=where, remedy=remedy)
    for grade in judged.values():
        if not isinstance(grade, int) or isinstance(grade, bool):
            raise InputError(f"{grade!r} is no grade", where=where, remedy=remedy)
    return [judged]


def read_judgements(path: Path) -> dict[str, dict[str, int]]:
    """Grades by query id. BEIR's files have a header, then query, passage and grade between tabs;
    TREC's (`trec_eval`) query, an unused field, passage and grade between spaces."""
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", where=where, remedy="save it as UTF-8") from None
        fields = text.split("\t") if text.count("\t") == 2 else text.split()
        if len(fields) not in (3, 4):
            raise InputError(f"has {len(fields)} fields", where=where, remedy=_FORMS)
        query, passage, grade = fields[0], fields[-2], fields[-1]
        if not grade.removeprefix("-").isdecimal() or len(grade) > 9:
            if number == 1:
                continue  # the header
            raise InputError(f"{grade!r} is no grade", where=where, remedy="write a whole number")
        judged[query][passage] = int(grade)
    if not judged:
        raise InputError("holds no judgements", where=str(path), remedy=_FORMS)
    return dict(judged)


def beir_rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """The judged queries of a folder, each with its grades."""
    folder, judgements = _data_set(path)
    queries = beir_file(folder, BEIR_QUERIES)
    if queries is None:
        raise InputError(f"there is no {BEIR_QUERIES[0]}", where=str(folder), remedy=_NAME)
    judged = read_judgements(judgements)
    for row in read_rows(queries, "json", refuse):
        if grades := judged.pop(str(row.fields.get("_id")), None):
            yield DataRow(row.where, {**row.fields, META_KEY: grades})
    if judged:
        unknown = next(iter(judged))
        fault = f"{len(judged):,} judged queries are not in {queries.name}, the first {unknown!r}"
        raise InputError(fault, where=str(judgements), remedy="compare with the published data set")


def _data_set(path: Path) -> tuple[Path, Path]:
    if path.is_file():
        return path.parent.parent, path
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), remedy="check the path")
    splits = {file.stem: file for file in sorted((path / "qrels").glob("*.tsv"))}
    if not path.is_dir() or not splits:
        raise InputError("there is no qrels/test.tsv", where=str(path), remedy=_NAME)
    if _DEFAULT in splits or len(splits) == 1:
        return path, splits.get(_DEFAULT) or next(iter(splits.values()))
    fault = f"has judgements for {', '.join(splits)}, none for {_DEFAULT}"
    raise InputError(fault, where=str(path), remedy=f"name one: beir:{next(iter(splits.values()))}")


def beir_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
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
