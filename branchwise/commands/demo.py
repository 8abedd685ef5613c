"""`branchwise demo`: the main workflow on the films example, without a key or a network."""

import os
import shutil
import sys
from contextlib import closing
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.commands.demo_parts import (
    QUESTION,
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
from branchwise.runs.scoring.score import ScoringSettings


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
    study = run_demo_study(out / "world", _fresh).parent
    show_recorded(out)
    show_next(out, run, asked, study)


def _show_floor(out: Path, questions: int | None) -> Path:
    if (out / "corpus.jsonl").exists():
        raise InputError(
            "the folder is a corpus", where=str(out), remedy="choose another folder with --out"
        )
    console().print(
        "1. A baseline: questions about films that share names, answered by offline,\n"
        "a rule-based reader with no language model.",
        style="bold",
    )
    corpus, source = out / "corpus", out / "questions.jsonl"
    with as_file(files("branchwise.examples.films")) as films:
        if not (corpus / "corpus.jsonl").exists():
            build_corpus(str(films / "corpus.jsonl"), corpus)
        shutil.copyfile(films / "questions.jsonl", source)
    system = System(
        model="offline",
        corpus=str(corpus),
        tools=("local_retriever",),
        retriever=word_index(corpus),
        k=5,
    )
    chosen = Selection(limit=questions).of(load_questions(str(source)))
    with RunProgress(len(chosen)) as progress:
        made = experiment.run(chosen, system, out=_fresh(out / "run"), observer=progress)
    if made.state.stopped:
        finish(made)
    scored = score_and_save(made.path, ScoringSettings())
    report = StudyReport.beside([SystemReport(made.path.name, scored)])
    for part in score_tables(report, only=("answer sets",)):
        console().print(part)
    console().print("\nOne of the questions:", style="bold")
    with closing(made.open()) as reader:
        ended = [row for row in reader.items() if row.outcome]
        show_story(reader, next((row for row in ended if row.question.ambiguous), ended[0]))
    return made.path


def _fresh(path: Path) -> Path:
    n, candidate = 2, path
    while candidate.exists():
        candidate, n = path.with_name(f"{path.name}-{n}"), n + 1
    return candidate


def show_next(out: Path, run: Path, asked: str, study: Path) -> None:
    """Print commands that go on from the demo in `out`; `asked`: a question about its world."""
    world, recorded = out / "world", out / "recorded"
    base, kg = (_short(recorded / name) for name in ("base", "kg"))
    alias, program = _program()
    lines = (
        *alias,
        f"{_opening(out / 'recorded.html')}    # part 4 as a page",
        f"{program} errors {base}    # each lost answer",
        f"{program} trace {base} {kg} --question {QUESTION}",
        f"{program} ask {quote(asked)} --kg {_short(world)}",
        f"{program} trace {_short(run)}",
        f"{program} report {_short(study)}    # part 3",
        f"{program} ablate {_short(world / 'study.yaml')} --dry-run    # with your model in it",
        f"How part 4 was recorded, with caveats: {_short(recorded / 'README.md')}",
    )
    console().print("\nNext:", style="bold")
    for line in lines:
        console().print(f"  {line}", markup=False, soft_wrap=True)


def _program() -> tuple[tuple[str, ...], str]:
    """What to type for this program, after an alias if its path is far from here."""
    started = Path(sys.argv[0]).absolute()
    # What uv starts finds its environment on the PATH; who started uv does not.
    found = None if "UV" in os.environ else shutil.which("branchwise")
    if found and Path(found).resolve() == started.resolve():
        return (), "branchwise"
    is_script = started.name == "branchwise"
    path, words = (started, "") if is_script else (Path(sys.executable), " -m branchwise")
    if path.is_relative_to(Path.cwd()):
        return (), _short(path) + words
    alias = f"alias branchwise={quote(quote(str(path)) + words)}    # for the commands below"
    return (alias,), "branchwise"


def _opening(page: Path) -> str:
    known = ("open",) if sys.platform == "darwin" else ("xdg-open", "wslview")
    for program in filter(shutil.which, known):
        return f"{program} {_short(page)}"
    return f"python3 -m webbrowser {page.resolve().as_uri()}"


def _short(path: Path) -> str:
    """A path as it is typed, from the current folder where that is shorter."""
    return quote(min(str(path), os.path.relpath(path), key=len))
