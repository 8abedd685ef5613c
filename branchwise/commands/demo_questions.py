"""The demo's third part: questions made from plans over the world, and a study of four systems."""

from collections.abc import Callable
from pathlib import Path

from branchwise.base.atomic import write_bytes
from branchwise.commands.question_files import made_here, write_questions
from branchwise.corpora.build import build_index
from branchwise.corpora.manifest import index_names
from branchwise.report.html.page import write_html
from branchwise.report.run_folders import report_of_runs
from branchwise.report.terminal.console import console
from branchwise.report.terminal.progress import StudyProgress
from branchwise.runs.costs.prices import Prices
from branchwise.runs.scoring.score import score_answers
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.running import StudyDesign, StudyPace, run_study
from branchwise.runs.studies.schema import load_study
from branchwise.worlds.questions.generate import generate
from branchwise.worlds.questions.sources import Settings, open_source

QUESTIONS, SHARE_AMBIGUOUS, SEED = 40, 0.5, 1
_STUDY = """\
# Which part helps? The base, and the effect of each single change.
name: modules
questions: questions.jsonl
base: {model: offline, corpus: ., kg: ., retriever: INDEX, k: 5, tools: [local_retriever]}
factors:
  expansion: [off, on]
  extraction: [off, on]
  tools: [[local_retriever], [local_retriever, wikidata_search, wikisparql]]
"""


def run_demo_study(world: Path, fresh: Callable[[Path], Path]) -> Path:
    """Make questions about the world, run the study on them, write its report.

    `world` contains its built graph; `fresh` names a folder that does not exist yet. Returns the
    path of the report's page.
    """
    _questions(world)
    file = world / "study.yaml"
    write_bytes(file, _STUDY.replace("INDEX", word_index(world)).encode())
    design = StudyDesign.of(load_study(file))
    console().print(
        f"\n3. A study ({file}): {len(design.questions)} questions made from plans over\n"
        f"this world, answered by {len(design.systems)} systems that differ in one thing each.",
        style="bold",
    )
    pace = StudyPace(prices=Prices.load())
    with StudyProgress(Prices.load(), pace.limits) as live:
        made = run_study(design, fresh(world / "study"), pace, live)
    console().print(
        "\n  The baseline hardly moves: offline makes little of what these parts bring."
    )
    return _page(made.folder)


def _page(study: StudyFolder) -> Path:
    """The study's report, beside it."""
    runs = [(name, score_answers(path)) for name, path in study.runs()]
    page = study.path / "report.html"
    write_html(report_of_runs(runs, study.record.name, study.record.systems), page)
    return page


def _questions(world: Path) -> Path:
    """The questions' file in the world's folder."""
    path = world / "questions.jsonl"
    if not path.exists():
        source = open_source(str(world))
        settings = Settings(QUESTIONS, SHARE_AMBIGUOUS, source.domains, source.common, SEED)
        made = generate(source.facts, source.names, settings, support=source.support)
        write_questions(path, map(made_here, made))
    return path


def word_index(corpus: Path) -> str:
    """Name of the corpus's word index: built in half a second, without the `local` extra."""
    if "bm25" not in index_names(corpus):
        build_index(corpus, "bm25")
    return "bm25"
