"""`branchwise questions review`: people grade a sample of a question set in the terminal."""

import getpass
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError
from branchwise.base.files import cannot_read
from branchwise.base.text import counted, printable
from branchwise.commands.options import AsJson, Field, Separator, read_questions
from branchwise.commands.question_files import (
    Overwrite,
    QuestionsArgument,
    check_place,
    made_here,
    write_questions,
)
from branchwise.corpora.folder import Corpus
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.eval.human_review import (
    HumanGrade,
    HumanReview,
    corrected,
    from_csv,
    readings,
    tabulate,
    to_csv,
)
from branchwise.report.terminal.console import console, echo, print_json
from branchwise.report.terminal.review_table import print_review_table

_HELP = """\
naturalness: 3 reads like a person's question, 2 is clear in spite of slips, 1 is no human language
right: every answer satisfies the question, and none is missing; --corpus shows what states them
help: this reading of the name leads to at least one answer
s skips the question, b goes back to the one before, q stops; each grade is kept when it is given"""

CorrectedFile = Annotated[
    Path | None,
    typer.Option("--corrected", metavar="FILE", help="Write the set without what is wrong."),
]


def review(
    source: QuestionsArgument,
    sample: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Share of the questions to grade (5%).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the sample.")] = 1,
    rater: Annotated[str | None, typer.Option(help="Your name (the user's).")] = None,
    review_file: Annotated[
        Path | None, typer.Option("--review", metavar="FILE", help="Keeps the grades (SRC.review).")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Show the passages that state the answers.")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print means and agreement of all raters.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the grades, or empty cells to fill.")
    ] = None,
    from_csv_file: Annotated[
        Path | None, typer.Option("--from-csv", metavar="FILE", help="Take grades from a CSV.")
    ] = None,
    corrected_file: CorrectedFile = None,
    overwrite: Overwrite = False,
    field: Field = None,
    separator: Separator = None,
    json_output: AsJson = False,
) -> None:
    """Grade a sample of a question set: is each question natural, are its answers right, does each
    reading help? Several raters may grade at once; each grade is kept when it is given.

    Example: branchwise questions review q.jsonl --sample 5% --corpus C
    """
    questions = load_questions(read_questions(source, field, separator))
    path = review_file or Path(f"{source.split(':', 1)[-1]}.review")
    opened = HumanReview(path, questions, _share(sample), seed)
    if from_csv_file:
        _take(opened, from_csv_file)
    if csv:
        known = {who for who, _ in opened.grades()}
        raters = sorted(known | {rater} if rater else known or {_user()})
        write_named(csv, to_csv(opened, raters).encode())
        echo(f"{csv}: {counted(len(opened.questions), 'question')}")
    if corrected_file:
        check_place(corrected_file, overwrite=overwrite, option="--corrected")
        kept, left_out = corrected(opened, questions)
        write_questions(corrected_file, map(made_here, kept))
        for line in left_out:
            echo(f"left out: {printable(line)}")
        echo(f"{corrected_file}: {counted(len(kept), 'question')}")
    halves = {"one reading": False, "ambiguous": True}
    tables = {half: tabulate(opened, ambiguous=value) for half, value in halves.items()}
    if json_output:
        print_json({half: asdict(measured) for half, measured in tables.items()})
    elif table:
        print_review_table(tables)
    elif not (from_csv_file or csv or corrected_file):
        _Dialogue(opened, rater or _user(), Corpus.open(corpus) if corpus else None).run()


def _take(opened: HumanReview, file: Path) -> None:
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise cannot_read(file, error) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", where=str(file), remedy="save it as CSV UTF-8") from None
    grades = from_csv(text, opened, str(file))
    for (rater, id), grade in grades.items():
        opened.save(rater, id, grade)
    echo(f"{opened.path}: grades of {counted(len(grades), 'question')} taken from {file}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise InputError("is not known", where="your name", remedy="give it by --rater") from None


def _share(sample: str | None) -> float | None:
    if sample is None:
        return None
    try:
        share = float(sample.rstrip("%")) / (100 if sample.endswith("%") else 1)
    except ValueError:
        share = 0
    if not 0 < share <= 1:
        problem = f"{sample[:40]!r} is no share of the questions"
        raise InputError(problem, where="--sample", remedy="write a share such as 5% or .05")
    return share


class _LeaveError(Exception):
    """The rater leaves a question: s skips it, b goes back, q quits."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


class _Dialogue:
    def __init__(self, review: HumanReview, rater: str, corpus: Corpus | None) -> None:
        self.review, self.rater, self.corpus = review, rater, corpus
        self._rows = {corpus.id(row): row for row in range(len(corpus))} if corpus else {}

    def run(self) -> None:
        """Ask from the first question that is not graded, until the last or until they quit."""
        if not sys.stdin.isatty():
            remedy = "run it there, or use --csv and --from-csv"
            raise InputError("grading needs a terminal", where="questions review", remedy=remedy)
        questions = self.review.questions
        count = counted(len(questions), "question")
        echo(f"{self.review.path}: {count}, rater {printable(self.rater)}; ? explains the grades")
        at = next((at for at, done in enumerate(self._graded()) if not done), 0)
        while at < len(questions):
            self._show(at)
            try:
                self._grade(questions[at])
                at += 1
            except _LeaveError as leaving:
                if leaving.how == "q":
                    break
                at = max(0, at - 1) if leaving.how == "b" else at + 1
        echo(f"{sum(self._graded())} of {count} graded; --table compares the raters")

    def _graded(self) -> list[bool]:
        grades = self.review.grades(self.rater)
        return [
            grades.get((self.rater, question.id), HumanGrade()).is_complete(question)
            for question in self.review.questions
        ]

    def _show(self, at: int) -> None:
        question, screen = self.review.questions[at], console()

        def show(text: str, style: str = "") -> None:
            screen.print(printable(text), style=style, markup=False)

        screen.print()
        screen.rule(f"{at + 1} of {len(self.review.questions)}")
        show(question.question, "bold")
        for step in question.meta.get("plan", ()):
            show(f"  {step}", "dim")
        for branch in question.branches:
            if question.ambiguous:
                show(branch.name, "cyan")
            for answer in branch.answers:
                also = f" (also {', '.join(answer.aliases)})" if answer.aliases else ""
                show(f"  - {answer.text}{also}")
        for id in sorted(question.support & self._rows.keys()):
            passage = self.corpus.passage(self._rows[id])  # type: ignore[union-attr]
            show(f"  [{passage.title}] {passage.text}", "dim")
        if question.support and not self._rows:
            show(f"  {counted(len(question.support), 'passage')} behind them: --corpus DIR", "dim")

    def _grade(self, question: Question) -> None:
        grade = self.review.grades(self.rater).get((self.rater, question.id), HumanGrade())

        def keep(**given: object) -> None:
            nonlocal grade
            grade = replace(grade, **given)  # type: ignore[arg-type]
            self.review.save(self.rater, question.id, grade)

        keep(naturalness=int(_asked("natural? 1 to 3", "123", grade.naturalness)))
        correct = _yes("are the answers right and complete?", grade.correct)
        keep(correct=correct, why="" if correct else grade.why)
        if not correct:
            before = f"[{printable(grade.why)}] " if grade.why else ""
            keep(why=_typed(f"why not? {before}").strip() or grade.why)
        for name in readings(question):
            helps = _yes(f"does {printable(name)} help?", grade.helpful.get(name))
            keep(helpful={**grade.helpful, name: helps})


def _yes(text: str, before: bool | None) -> bool:
    return _asked(f"{text} y/n", "yn", None if before is None else "ny"[before]) == "y"


def _asked(text: str, choices: str, before: object) -> str:
    """The letter that was chosen; Enter takes the one of before. Raises _LeaveError."""
    while True:
        typed = _typed(f"{text}{'' if before is None else f' [{before}]'}: ").strip().lower()
        typed = typed or ("" if before is None else str(before))
        if len(typed) == 1 and typed in choices:
            return typed
        if typed in ("s", "b", "q"):
            raise _LeaveError(typed)
        echo(_HELP if typed == "?" else f"type {', '.join(choices)}, s, b, q or ?")


def _typed(prompt: str) -> str:
    echo(prompt, newline=False)
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        line = ""
    if not line:
        echo("")
        raise _LeaveError("q")
    return line.rstrip("\n")
