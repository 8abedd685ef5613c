"""What people say of a question set: whether its questions are natural and their answers right.

A review is one SQLite file beside the questions, in which each grade is committed when it is given,
so that neither a kill nor a second rater loses one. It holds a sample, drawn from questions with
one reading and from ambiguous ones alike (DeepAmbigQA, section 4.3), and is bound to the questions
by their digest.
"""

import csv
import hashlib
import io
import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.agreement import krippendorff_alpha, pairwise_kappa

_SCHEMA = """
create table sample (digest text, source text, share real, seed integer, ids text);
create table grades (
    rater text, id text, grade text, given text default current_timestamp,
    primary key (rater, id)
) without rowid;
"""
_COLUMNS = ("rater", "id", "question", "reading", "naturalness", "correct", "helpful", "why")
_YES = {"yes": True, "no": False, "": None}


@dataclass(frozen=True)
class HumanGrade:
    """What one rater says of one question; what is None was not graded (yet). naturalness: 1 (does
    not read as human language) to 3 (fluent). correct: every answer is right and none is missing;
    `why` not. helpful: by reading, whether it leads to an answer. Of ambiguous questions alone."""

    naturalness: int | None = None
    correct: bool | None = None
    why: str = ""
    helpful: Mapping[str, bool] = field(default_factory=dict)

    def is_complete(self, question: Question) -> bool:
        graded = self.naturalness is not None and self.correct is not None
        return graded and all(name in self.helpful for name in readings(question))

    @property
    def all_helpful(self) -> bool | None:
        return all(self.helpful.values()) if self.helpful else None


HumanGrades = dict[tuple[str, str], HumanGrade]
"""By rater and question."""


def readings(question: Question) -> tuple[str, ...]:
    """The names of an ambiguous question's readings; of another none."""
    return tuple(branch.name for branch in question.branches) if question.ambiguous else ()


def draw(questions: Sequence[Question], share: float, seed: int) -> list[str]:
    """Ids of a share (0 to 1) of the questions with one reading, rounded up, and of the ambiguous
    ones, in file order: those whose ids have the lowest SHA-256 together with the seed."""

    def rank(question: Question) -> bytes:
        return hashlib.sha256(f"{seed} {question.id}".encode(errors="surrogatepass")).digest()

    drawn: set[str] = set()
    for ambiguous in (False, True):
        half = [question for question in questions if question.ambiguous is ambiguous]
        count = math.ceil(round(share * len(half), 9))
        drawn.update(question.id for question in sorted(half, key=rank)[:count])
    return [question.id for question in questions if question.id in drawn]


class HumanReview:
    """The grades of a question set's sample, in a file that several raters write at once."""

    def __init__(self, path: Path, questions: QuestionSet, share: float | None, seed: int) -> None:
        """Open the review, or begin it with a share of the questions (.05 by default). Raises
        InputError for a file that is no review, or one of other questions or another sample."""
        self.path = path
        with self._file() as file:
            if not file.execute("select 1 from sqlite_master").fetchone():
                file.execute("begin immediate")
                # Of two who begin it at once, the second finds it begun.
                if not file.execute("select 1 from sqlite_master").fetchone():
                    self._begin(file, questions, share or 0.05, seed)
                file.execute("commit")
            digest, source, drawn, drawn_seed, ids = file.execute("select * from sample").fetchone()
        remedy = "give it another file with --review"
        if digest != questions.digest:
            problem = f"is a review of {source} as it was before it changed, or of other questions"
            raise InputError(problem, where=str(path), remedy=remedy)
        if share is not None and (share, seed) != (drawn, drawn_seed):
            problem = f"has a sample of {drawn:.3%} by seed {drawn_seed}"
            raise InputError(problem, where=str(path), remedy=f"leave out --sample, or {remedy}")
        by_id = {question.id: question for question in questions.questions}
        self.questions = [by_id[id] for id in orjson.loads(ids)]

    @staticmethod
    def _begin(file: sqlite3.Connection, questions: QuestionSet, share: float, seed: int) -> None:
        ids = draw(questions.questions, share, seed)
        for statement in _SCHEMA.split(";"):
            file.execute(statement)
        values = (questions.digest, questions.source, share, seed, orjson.dumps(ids).decode())
        file.execute("insert into sample values (?, ?, ?, ?, ?)", values)

    def grades(self, rater: str | None = None) -> HumanGrades:
        with self._file() as file:
            rows = file.execute("select rater, id, grade from grades order by rater, id").fetchall()
        kept = ((name, id, HumanGrade(**orjson.loads(grade))) for name, id, grade in rows)
        return {(name, id): grade for name, id, grade in kept if rater in (None, name)}

    def save(self, rater: str, id: str, grade: HumanGrade) -> None:
        """Commit what a rater says of a question, in place of what they said before."""
        values = (rater, id, orjson.dumps(grade).decode())
        with self._file() as file:
            file.execute("replace into grades (rater, id, grade) values (?, ?, ?)", values)

    @contextmanager
    def _file(self) -> Iterator[sqlite3.Connection]:
        """A connection that commits each statement and waits for another rater's."""
        try:
            file = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            try:
                yield file
            finally:
                file.close()
        except (sqlite3.Error, TypeError, ValueError) as error:
            problem = f"is not a review that can be read and written: {error}"
            remedy = "give another file with --review"
            raise InputError(problem, where=str(self.path), remedy=remedy) from None


def to_csv(review: HumanReview, raters: Sequence[str]) -> str:
    """The raters' grades as CSV, which `from_csv` reads: a line for each question, and one for each
    reading of an ambiguous one. What a rater has not graded is empty."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_COLUMNS)
    grades = review.grades()
    for rater in raters:
        for question in review.questions:
            grade = grades.get((rater, question.id), HumanGrade())
            natural = "" if grade.naturalness is None else grade.naturalness
            row = [rater, question.id, question.question, "", natural, _word(grade.correct), ""]
            table.writerow([*row, grade.why])
            for name in readings(question):
                helpful = _word(grade.helpful.get(name))
                table.writerow([rater, question.id, "", name, "", "", helpful, ""])
    return text.getvalue()


def _word(value: bool | None) -> str:
    return next(word for word, meaning in _YES.items() if meaning is value)


def from_csv(text: str, review: HumanReview, where: str) -> HumanGrades:
    """The grades of a CSV as `to_csv` writes it; empty cells grade nothing. Raises InputError, with
    the line, for another value, or an unknown question or reading."""
    table = csv.DictReader(io.StringIO(text), strict=True)
    grades: HumanGrades = {}
    by_id = {question.id: question for question in review.questions}
    try:
        if missing := {"rater", "id"} - set(table.fieldnames or ()):
            raise ValueError(f"there is no column {min(missing)!r}")
        for row in table:
            cells = {name: (row.get(name) or "").strip() for name in _COLUMNS}
            if not cells["rater"]:
                raise ValueError("the rater has no name")
            if cells["id"] not in by_id:
                raise ValueError(f"question {cells['id']!r} is not in the sample")
            key = (cells["rater"], cells["id"])
            grades[key] = _graded(cells, grades.get(key, HumanGrade()), by_id[cells["id"]])
    except (ValueError, csv.Error) as error:
        line = f"{where}:{max(table.line_num, 1)}"
        raise InputError(str(error), where=line, remedy="correct it as --csv writes it") from None
    return grades


def _graded(cells: Mapping[str, str], grade: HumanGrade, question: Question) -> HumanGrade:
    for name in ("correct", "helpful"):
        if cells[name].lower() not in _YES:
            raise ValueError(f"{name} is {cells[name]!r}, not yes or no")
    if cells["reading"]:
        if cells["reading"] not in readings(question):
            raise ValueError(f"question {question.id!r} has no reading {cells['reading']!r}")
        helpful = _YES[cells["helpful"].lower()]
        given = {} if helpful is None else {cells["reading"]: helpful}
        return replace(grade, helpful={**grade.helpful, **given})
    if cells["naturalness"] not in ("", "1", "2", "3"):
        raise ValueError(f"naturalness is {cells['naturalness']!r}, not 1, 2 or 3")
    natural = int(cells["naturalness"]) if cells["naturalness"] else None
    correct = _YES[cells["correct"].lower()]
    return replace(grade, naturalness=natural, correct=correct, why=cells["why"])


@dataclass(frozen=True)
class Measured:
    """One thing that raters graded: the mean over raters of each one's mean, and how they agree."""

    mean: float | None
    graded: int
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True)
class ReviewTable:
    """DeepAmbigQA's Table 3 for one half of the questions, with agreement. all_helpful: of
    ambiguous questions, whether every reading helps (Figure 11 grades the list); helpful: the share
    of single readings that do."""

    raters: int
    naturalness: Measured
    correct: Measured
    all_helpful: Measured
    helpful: Measured


def tabulate(review: HumanReview, *, ambiguous: bool) -> ReviewTable:
    ids = {question.id for question in review.questions if question.ambiguous is ambiguous}
    raters: dict[str, dict[str, HumanGrade]] = {}
    for (rater, id), grade in review.grades().items():
        if id in ids:
            raters.setdefault(rater, {})[id] = grade
    single = [
        {f"{id} {name}": int(helps) for id, g in own.items() for name, helps in g.helpful.items()}
        for own in raters.values()
    ]

    def ratings(part: str) -> list[dict[str, int]]:
        return [
            {id: int(value) for id, g in own.items() if (value := getattr(g, part)) is not None}
            for own in raters.values()
        ]

    return ReviewTable(
        len(raters),
        _measured(ratings("naturalness"), ordinal=True),
        _measured(ratings("correct")),
        _measured(ratings("all_helpful")),
        _measured(single),
    )


def _measured(raters: Sequence[Mapping[str, int]], *, ordinal: bool = False) -> Measured:
    means = [sum(own.values()) / len(own) for own in raters if own]
    return Measured(
        sum(means) / len(means) if means else None,
        len({item for own in raters for item in own}),
        pairwise_kappa(raters),
        krippendorff_alpha(raters, "ordinal" if ordinal else "nominal"),
    )


def corrected(review: HumanReview, questions: QuestionSet) -> tuple[list[Question], list[str]]:
    """The questions without what most raters call wrong, and what was left out, a line each. A
    question whose answers more raters call wrong than right is left out, and so is a reading that
    more call unhelpful than helpful; an ambiguous question that keeps fewer than two is left out.
    Each question names its parent in `meta`."""
    votes = Counter[tuple[str, str]]()
    for (_, id), grade in review.grades().items():
        if grade.correct is not None:
            votes[id, ""] += 1 if grade.correct else -1
        for name, helps in grade.helpful.items():
            votes[id, name] += 1 if helps else -1
    parent = {"source": questions.source, "digest": questions.digest}
    kept, left_out = [], []
    for question in questions.questions:
        wrong = [b.name for b in question.branches if votes[question.id, b.name] < 0]
        branches = tuple(b for b in question.branches if b.name not in wrong)
        if votes[question.id, ""] < 0 or (wrong and len(branches) < 2):
            left_out.append(f"{question.id}: {question.question}")
            continue
        left_out += [f"{question.id}: the reading {name}" for name in wrong]
        changed = {"branches": branches, "meta": {**question.meta, "parent": parent}}
        kept.append(question.model_copy(update=changed))
    return kept, left_out
