"""`branchwise questions` on files: check and mend them, convert them, show what they may hold."""

import shlex
from collections import Counter, deque
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.atomic import new_file
from branchwise.base.errors import InputError
from branchwise.base.text import counted, printable
from branchwise.commands.options import (
    QUESTIONS,
    AsJson,
    Field,
    Separator,
    read_ids,
    read_questions,
)
from branchwise.corpora.loaders import SetCheck, each_question
from branchwise.corpora.loaders.format_fields import json_schema
from branchwise.corpora.loaders.forms import OWN
from branchwise.corpora.loaders.native import written
from branchwise.corpora.loaders.source import MENDED, PlacedQuestion
from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.selection import Selection
from branchwise.eval.tasks import gold_of
from branchwise.report.terminal.console import echo, print_json, printable_json
from branchwise.report.terminal.forms import forms_as_json, print_fields, print_forms

_SHOWN = 20
"""Mistakes of a kind that are shown; all others are counted."""

QuestionsArgument = Annotated[
    str, typer.Argument(metavar="SRC", help=f"Question set: {QUESTIONS}.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file if it is there already.")
]


def check(
    source: QuestionsArgument,
    field: Field = None,
    separator: Separator = None,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for the questions that are good or mended."),
    ] = None,
    overwrite: Overwrite = False,
    json_output: AsJson = False,
) -> None:
    """List every mistake in a question set (a file, or FORM:PATH). Exits with 1 if there are any
    that `--fix` does not mend.

    Example: branchwise questions check q.jsonl --fix mended.jsonl
    """
    checked = SetCheck(read_questions(source, field, separator), gold_of(None))
    if fix is not None:
        check_place(fix, overwrite=overwrite, option="--fix")
    try:
        if fix is not None:
            write_questions(fix, checked.questions())
        else:
            deque(checked.questions(), maxlen=0)
    except InputError:
        if not checked.rows or "unreadable" not in checked.counts:
            raise
        fix = None  # nothing was written: the file cannot be read to its end
    (_print_json if json_output else _print)(checked, fix)
    left = sum(checked.counts.values()) - (sum(checked.mended.values()) if fix else 0)
    if left:
        raise typer.Exit(1)


def convert(
    source: QuestionsArgument,
    out: Annotated[Path, typer.Option(help="JSONL file to write.")],
    field: Field = None,
    separator: Separator = None,
    ids: Annotated[
        Path | None, typer.Option(help="File with question ids, one a line: write only these.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Write at most this many.", min=1)] = None,
    sample: Annotated[
        int | None, typer.Option(help="Write this many, drawn by --sample-seed.", min=1)
    ] = None,
    sample_seed: Annotated[
        int, typer.Option(help="The same seed draws the same questions.", min=0)
    ] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Write a question set of any form (a file, or FORM:PATH) as JSONL in our own format: the
    same questions, asked and scored in the same way.

    Example: branchwise questions convert condambigqa:dev.json --out q.jsonl
    """
    check_place(out, overwrite=overwrite)
    named = read_questions(source, field, separator)
    questions = each_question(named)
    if (ids, limit, sample) != (None, None, None):
        placed = list(questions)
        whole = QuestionSet(named.text, placed[0].task, tuple(one.question for one in placed), "")
        part = Selection(read_ids(ids), limit, None, sample, sample_seed).of(whole)
        kept = {question.id for question in part}
        questions = (one for one in placed if one.question.id in kept)
    count = write_questions(out, questions)
    echo(f"{out}: {counted(count, 'question')}")


def forms(json_output: AsJson = False) -> None:
    """List the forms of question sets: their fields, where they come from, their licence.

    Example: branchwise questions forms
    """
    if json_output:
        echo(forms_as_json())
    else:
        print_forms()


def schema(json_output: AsJson = False) -> None:
    """Show every field of a question in our own format; as JSON, its JSON schema.

    Example: branchwise questions schema --json
    """
    if json_output:
        print_json(json_schema())
    else:
        print_fields()


def check_place(out: Path, *, overwrite: bool = True, option: str = "--out") -> None:
    """Raise InputError at once for what would otherwise fail after long work."""
    if out.is_dir():
        raise InputError("is a folder", where=str(out), remedy=f"name a file with {option}")
    if not out.parent.is_dir():
        raise InputError("there is no such folder", where=str(out.parent), remedy="make it first")
    if out.is_file() and not overwrite:
        remedy = "name another file, or add --overwrite"
        raise InputError("already exists", where=str(out), remedy=remedy)


def write_questions(out: Path, questions: Iterable[PlacedQuestion]) -> int:
    """Write questions as JSONL; returns how many. Raises InputError, and writes no file."""
    count = 0
    with new_file(out) as stream:
        for placed in questions:
            stream.write(written(placed))
            count += 1
    return count


def made_here(question: Question) -> PlacedQuestion:
    """A question that comes from no file, and is scored as most are."""
    return PlacedQuestion(f"question {question.id}", question, OWN.task)


def _print(checked: SetCheck, fix: Path | None) -> None:
    shown: Counter[str] = Counter()
    for mistake in checked.mistakes:
        shown[mistake.kind] += 1
        if shown[mistake.kind] <= _SHOWN:
            mends = " (--fix mends it)" if mistake.mended and fix is None else ""
            echo(printable(f"{mistake.error}{mends}"))
        elif shown[mistake.kind] == _SHOWN + 1:
            more = checked.counts[mistake.kind] - _SHOWN
            echo(f"… and {more:,} more of the kind {mistake.kind}: see --json")
    for line in (*checked.notes(), *_summary(checked, fix)):
        echo(printable(line))


def _summary(checked: SetCheck, fix: Path | None) -> Iterable[str]:
    mistakes, mended = sum(checked.counts.values()), sum(checked.mended.values())
    source = checked.source.text
    yield f"{source}: {counted(checked.rows, 'question')} read, {counted(mistakes, 'mistake')}"
    if fix is not None:
        yield f"{fix}: {counted(checked.good, 'question')}"
        for kind, count in checked.mended.items():
            yield f"  {MENDED[kind]}: {count:,}"
        if left := mistakes - mended:
            yield f"  yours to mend: {counted(left, 'mistake')}, as above"
    elif mended:
        words = shlex.join(checked.source.words)
        yield f"next: branchwise questions check {words} --fix FILE   # mends {mended:,} of them"


def _print_json(checked: SetCheck, fix: Path | None) -> None:
    mistakes = []
    for mistake in checked.mistakes:
        error = mistake.error
        words = {"where": error.where, "what": error.what, "remedy": error.remedy}
        mistakes.append({"kind": mistake.kind, **words, "mended": mistake.mended})
    record = {
        "source": checked.source.text,
        "questions": checked.rows,
        "good": checked.good,
        "counts": checked.counts,
        "mended": checked.mended,
        "mistakes": mistakes,
        "notes": [*checked.notes()],
        "written": None if fix is None else str(fix),
    }
    echo(printable_json(record))
