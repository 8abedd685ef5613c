"""The demo's third part: questions made from plans over the world, answered by two systems."""

from collections.abc import Callable
from pathlib import Path

QUESTIONS, SHARE_AMBIGUOUS, SEED = 40, 0.5, 1
_SYSTEMS = {
    "retriever": ("local_retriever",),
    "with-graph": ("local_retriever", "wikidata_search", "wikisparql"),
}


def answer_questions(world: Path, fresh: Callable[[Path], Path]) -> None:
    """Make questions about the world, answer them without and with its graph, compare both.

    `world` has its graph built in it; `fresh` names a folder for a run that is not there yet.
    """
    from branchwise.commands.report import report
    from branchwise.corpora.loaders import load_questions
    from branchwise.eval import experiment
    from branchwise.graphs.system import System
    from branchwise.ui.console import console
    from branchwise.ui.progress import RunProgress

    source = _questions(world)
    index = _index(world)
    loaded = load_questions(str(source))
    console().print(
        f"\n{len(loaded)} questions made from plans over this world, answered from its passages "
        "alone, and from its passages and its graph:",
        style="bold",
    )
    runs = []
    for name, tools in _SYSTEMS.items():
        system = System(corpus=str(world), retriever=index, kg=str(world), tools=tools, k=5)
        with RunProgress(len(loaded)) as progress:
            made = experiment.run(
                loaded, system, out=fresh(world / "runs" / name), observer=progress
            )
        runs.append(made.path)
    report(runs)


def _questions(world: Path) -> Path:
    """The questions' file in the world's folder."""
    import orjson

    from branchwise.corpora.atomic import write_bytes
    from branchwise.corpora.synthesis.generate import generate
    from branchwise.corpora.synthesis.settings import Settings
    from branchwise.corpora.synthesis.sources import open_source

    path = world / "questions.jsonl"
    if not path.exists():
        source = open_source(str(world))
        settings = Settings(QUESTIONS, SHARE_AMBIGUOUS, source.domains, source.common, SEED)
        made = generate(source.facts, source.names, settings, support=source.support)
        lines = (orjson.dumps(question.model_dump(mode="json")) + b"\n" for question in made)
        write_bytes(path, b"".join(lines))
    return path


def _index(world: Path) -> str:
    """Name of the world's index by words: there in half a second."""
    from branchwise.corpora.indexing import build_index
    from branchwise.corpora.manifest import index_names

    if "bm25" not in index_names(world):
        build_index(world, "bm25")
    return "bm25"
