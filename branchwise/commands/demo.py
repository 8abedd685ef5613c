"""`branchwise demo`: the main workflow on the films example, without a key or a network."""

import os
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from branchwise.eval.store import ItemRow, RunReader


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the corpus, the index and the run.")] = Path(
        "runs/demo"
    ),
    questions: Annotated[
        int | None, typer.Option(help="Answer only this many questions.", min=1)
    ] = None,
) -> None:
    """Answer questions about films that share their names, score them, show one trace.

    Then make a small world that no model has seen, query its knowledge graph, and run a study on
    questions made from plans over it: which part of a system helps? The model is `offline`, a
    reader without a language model: a floor, not a contender.

    Example: branchwise demo --out /tmp/demo
    """
    from branchwise.corpora.loaders import load_questions
    from branchwise.eval import experiment
    from branchwise.graphs.system import System
    from branchwise.ui.console import console
    from branchwise.ui.progress import RunProgress

    screen = console()
    corpus, source = _prepare(out)
    system = System(model="offline", corpus=str(corpus), tools=("local_retriever",), k=5)
    loaded = load_questions(str(source))
    selection = experiment.Selection(limit=questions)
    screen.print(f"Answering {len(selection.of(loaded))} questions with the offline reader …")
    with RunProgress(len(selection.of(loaded))) as progress:
        made = experiment.run(
            loaded, system, out=_fresh(out / "run"), selection=selection, observer=progress
        )
    from branchwise.commands.demo_questions import run_demo_study
    from branchwise.commands.demo_world import show_world
    from branchwise.commands.run import finish

    finish(made)
    reader = made.open()
    _show_trace(reader)
    reader.close()
    asked = show_world(out / "world")
    page = run_demo_study(out / "world", _fresh)
    _show_next(made.path, corpus, asked, page)


def _prepare(out: Path) -> tuple[Path, Path]:
    """The films corpus, built and indexed under `out`, and its questions."""
    from branchwise.commands.passage_progress import showing
    from branchwise.corpora.build import build_corpus
    from branchwise.corpora.errors import InputError
    from branchwise.corpora.indexing import build_index

    if (out / "corpus.jsonl").exists():
        raise InputError(
            "the folder is a corpus", where=str(out), remedy="choose another folder with --out"
        )
    corpus, source = out / "corpus", out / "questions.jsonl"
    with as_file(files("branchwise.examples.films")) as films, showing("encoding") as progress:
        if not (corpus / "corpus.jsonl").exists():
            build_corpus(str(films / "corpus.jsonl"), corpus)
        if not (corpus / "index" / "flat" / "manifest.json").exists():
            build_index(corpus, "flat", progress=progress)
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


def _show_trace(reader: "RunReader") -> None:
    """The trace of the first ambiguous question, and its gold."""
    from branchwise.commands.demo_world import show_gold
    from branchwise.ui.console import console, print_line
    from branchwise.ui.steps.describe import describe

    screen = console()
    row = _telling_item(reader)
    screen.print("\nOne question, step by step:", style="bold")
    for event in reader.events(row.item):
        for line in describe(event, passages=2):
            print_line(screen, f"  {line}")
    show_gold({b.name: [answer.text for answer in b.answers] for b in row.question.branches})


def _telling_item(reader: "RunReader") -> "ItemRow":
    ended = [row for row in reader.items() if row.outcome]
    ambiguous = [row for row in ended if row.question.ambiguous]
    return (ambiguous or ended)[0]


def _show_next(run: Path, corpus: Path, asked: str, page: Path) -> None:
    from shlex import quote

    from branchwise.ui.console import console

    program, at = _program(), quote(str(corpus))
    world, study = quote(str(corpus.parent / "world")), quote(str(page.parent))
    lines = [
        f"\nThe study as a page: {page.resolve().as_uri()}",
        "\nNext:",
        f'  {program} ask "Who directed King Kong?" --corpus {at} --expand --extract',
        f'  {program} ask "{asked}" --kg {world}',
        f"  {program} errors {quote(str(run))} --limit 3",
        f"  {program} trace {quote(str(run))}",
        f"  {program} report {study} --by steps",
        "  with a language model (any OpenAI-compatible server): put it in place of offline in",
        f"  {world}/study.yaml, then",
        f"  {program} ablate {world}/study.yaml --dry-run",
    ]
    console().print("\n".join(lines), markup=False, soft_wrap=True)


def _program() -> str:
    """What to type for this program: its name, or its path if the name is not found."""
    started = Path(sys.argv[0])
    found = shutil.which("branchwise")
    if found and Path(found).resolve() == started.resolve():
        return "branchwise"
    return os.path.relpath(started) if started.name == "branchwise" else "python -m branchwise"
