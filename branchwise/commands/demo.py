"""`branchwise demo`: the main workflow on the films example, without a key or a network."""

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from typing import Annotated, NamedTuple

import typer

from branchwise.base.errors import InputError
from branchwise.commands.demo_parts import (
    QUESTION,
    RecordedPart,
    run_demo_study,
    show_recorded,
    show_story,
    show_world,
    word_index,
)
from branchwise.commands.running import finish
from branchwise.commands.score import score_and_save
from branchwise.corpora.build import build_corpus
from branchwise.corpora.loaders import load_questions
from branchwise.eval.selection import Selection
from branchwise.graphs.system import System
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.terminal.console import console
from branchwise.report.terminal.progress import RunProgress
from branchwise.report.terminal.report_table import score_tables
from branchwise.runs import experiment
from branchwise.runs.experiment import Run
from branchwise.runs.scoring.score import ScoringSettings
from branchwise.runs.store import ItemRow, RunReader


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the corpus, the index and the run.")] = Path(
        "runs/demo"
    ),
    questions: Annotated[
        int | None, typer.Option(help="Answer only this many questions.", min=1)
    ] = None,
) -> None:
    """See what a language model did with questions of several readings, and where it lost answers.

    First `offline`, a rule-based reader with no language model, answers questions about films that
    share their names: a baseline. Then a small world that no model has seen is made, and a study is
    run on questions about it. Last comes a language model on such questions, from recorded runs. No
    key and no network are needed.

    Example: branchwise demo --out /tmp/demo
    """
    run = _show_floor(out, questions)
    asked = show_world(out / "world")
    study = run_demo_study(out / "world", _fresh)
    recorded = show_recorded(out / "recorded.html")
    show_next(DemoResults(run, study, recorded), asked)


def _show_floor(out: Path, questions: int | None) -> Path:
    """Answer the questions about films; returns the run's folder."""
    _refuse_a_corpus(out)
    console().print(
        "1. A baseline: questions about films that share names, answered by offline,\n"
        "a rule-based reader with no language model.",
        style="bold",
    )
    corpus, source = _prepare(out)
    system = System(
        model="offline",
        corpus=str(corpus),
        tools=("local_retriever",),
        retriever=word_index(corpus),
        k=5,
    )
    loaded = load_questions(str(source))
    selection = Selection(limit=questions)
    with RunProgress(len(selection.of(loaded))) as progress:
        made = experiment.run(
            loaded, system, out=_fresh(out / "run"), selection=selection, observer=progress
        )
    _show_scores(made)
    console().print("\nOne of the questions:", style="bold")
    reader = made.open()
    show_story(reader, _telling_item(reader))
    reader.close()
    return made.path


def _show_scores(made: Run) -> None:
    """The main table; how to go on where the run was stopped."""
    if made.state.stopped:
        finish(made)
    scored = score_and_save(made.path, ScoringSettings())
    report = StudyReport.beside([SystemReport(made.path.name, scored)])
    for part in score_tables(report, only=("answer sets",)):
        console().print(part)


def _refuse_a_corpus(out: Path) -> None:
    if (out / "corpus.jsonl").exists():
        raise InputError(
            "the folder is a corpus", where=str(out), remedy="choose another folder with --out"
        )


def _prepare(out: Path) -> tuple[Path, Path]:
    """The films corpus, built under `out`, and its questions."""
    corpus, source = out / "corpus", out / "questions.jsonl"
    with as_file(files("branchwise.examples.films")) as films:
        if not (corpus / "corpus.jsonl").exists():
            build_corpus(str(films / "corpus.jsonl"), corpus)
        shutil.copyfile(films / "questions.jsonl", source)
    return corpus, source


def _fresh(path: Path) -> Path:
    """A run folder that does not exist yet."""
    n = 2
    candidate = path
    while candidate.exists():
        candidate = path.with_name(f"{path.name}-{n}")
        n += 1
    return candidate


def _telling_item(reader: RunReader) -> ItemRow:
    """The first ambiguous question, or the first of all."""
    ended = [row for row in reader.items() if row.outcome]
    ambiguous = [row for row in ended if row.question.ambiguous]
    return (ambiguous or ended)[0]


class DemoResults(NamedTuple):
    """What the demo made: the run on films, the study's page, the comparison of recorded runs."""

    run: Path
    study: Path
    recorded: RecordedPart


def show_next(made: DemoResults, asked: str) -> None:
    """Print commands that go on from the demo; `asked`: a question about its world."""
    console().print("\nNext:", style="bold")
    for line in _lines(made, asked):
        console().print(f"  {line}", markup=False, soft_wrap=True)


def _lines(made: DemoResults, asked: str) -> Iterator[str]:
    program, runs = _program(), made.recorded.runs
    base, kg = (_short(runs / name) for name in ("base", "kg"))
    world = made.study.parent.parent
    yield f"{_opening(made.recorded.page)}    # part 4 as a page"
    yield f"{program} errors {base}    # each lost answer"
    yield f"{program} trace {base} {kg} --question {QUESTION}"
    yield f"{program} ask {quote(asked)} --kg {_short(world)}"
    yield f"{program} trace {_short(made.run)}"
    yield f"{program} report {_short(made.study.parent)}    # part 3"
    yield f"{program} ablate {_short(world / 'study.yaml')} --dry-run    # with your model in it"
    yield f"How part 4 was recorded, with caveats: {_short(runs / 'README.md')}"


def _program() -> str:
    """What to type for this program: its name, or its path if the name is not found."""
    started = Path(sys.argv[0])
    found = shutil.which("branchwise")
    if found and Path(found).resolve() == started.resolve():
        return "branchwise"
    return os.path.relpath(started) if started.name == "branchwise" else "python -m branchwise"


def _opening(page: Path) -> str:
    """What opens a page here in a browser."""
    known = ("open",) if sys.platform == "darwin" else ("xdg-open", "wslview")
    for program in filter(shutil.which, known):
        return f"{program} {_short(page)}"
    return f"python3 -m webbrowser {page.resolve().as_uri()}"


def _short(path: Path) -> str:
    """A path as it is typed, from the current folder where that is shorter."""
    return quote(min(str(path), os.path.relpath(path), key=len))
