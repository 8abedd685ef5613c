"""`branchwise demo`: the main workflow on the films example, without a key or a network."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.commands.demo_next import DemoResults, show_next
from branchwise.commands.demo_questions import run_demo_study, word_index
from branchwise.commands.demo_recorded import show_recorded
from branchwise.commands.demo_story import show_story
from branchwise.commands.demo_world import show_world
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
