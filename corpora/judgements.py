"""Which passages are relevant to which queries: relevance judgements (qrels) and gold support."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind, read_lines
from branchwise.corpora.questions import GoldSet, Question

PassageGrades = Mapping[str, int]
"""Grades by passage id; above 0 a passage is relevant."""
META_KEY = "qrels"
"""In `meta`: a question's grades where its data set judges passages."""


def grades_of(question: Question) -> list[PassageGrades]:
    """The judged passages of a question, or else those that its gold answers are stated in and
    its gold branches cite, of each of its gold sets.

    Raises InputError where `meta` has something else than grades.
    """
    judged = question.meta.get(META_KEY)
    if judged is None:
        return [dict.fromkeys(sorted({*_named(branches)}), 1) for branches in question.gold_sets]
    where = f"question {question.id!r}"
    if not isinstance(judged, Mapping):
        found = json_kind(judged)
        raise InputError(f'meta has "{META_KEY}", which is {found}', where=where, remedy=_WRITE)
    for grade in judged.values():
        if not isinstance(grade, int) or isinstance(grade, bool):
            raise InputError(f"{grade!r} is no grade", where=where, remedy=_WRITE)
    return [judged]


def _named(branches: GoldSet) -> Iterator[str]:
    """Ids of the passages that a gold set names, some more than once."""
    for branch in branches:
        yield from branch.citations
        for answer in branch.answers:
            yield from answer.support


_WRITE = f'write "{META_KEY}": {{"PASSAGE ID": 1}}'


def read_judgements(path: Path) -> dict[str, dict[str, int]]:
    """Grades by query id, of a file in one of two forms.

    BEIR's: a header, then query, passage and grade between tabs. TREC's (`trec_eval`): query, an
    unused field, passage and grade between spaces. Raises InputError, with file and line.
    """
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


_FORMS = "write query, passage and grade (BEIR), or query, 0, passage and grade (TREC)"
