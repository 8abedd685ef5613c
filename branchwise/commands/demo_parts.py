"""The demo's parts after the first: a small world, a study of it, and a language model's runs."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from branchwise.base.atomic import write_bytes
from branchwise.base.files import parse_object, read_lines
from branchwise.commands.ask import watch
from branchwise.commands.question_files import made_here, write_questions
from branchwise.corpora.indexing import build_index
from branchwise.corpora.manifest import index_names
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System
from branchwise.kg.answers import Graph
from branchwise.kg.build import build_kg
from branchwise.kg.open import IN_A_WORLD, open_kg
from branchwise.kg.store import DESCRIPTION_FILE
from branchwise.kg.world_folder import KG_FILE, NAMES_FILE, WORLD_FILE
from branchwise.report.html.page import write_html
from branchwise.report.run_folders import report_of_runs
from branchwise.report.spending import ratio_words
from branchwise.report.study_report import StudyReport
from branchwise.report.terminal.cells import notes
from branchwise.report.terminal.console import console, print_line
from branchwise.report.terminal.error_table import error_tables
from branchwise.report.terminal.headline_tables import headline_tables
from branchwise.report.terminal.lost_answers import lost_lines
from branchwise.report.terminal.progress import StudyProgress
from branchwise.report.terminal.step_text import begun, branch_lines, count, indented
from branchwise.runs.costs.prices import Prices
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import ItemRow, RunReader, open_run
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.running import StudyDesign, StudyPace, run_study
from branchwise.runs.studies.schema import load_study
from branchwise.trace.events import AnswerRead, Event, Model, Start
from branchwise.trace.parts import Call
from branchwise.ui.steps.calls import arguments
from branchwise.ui.steps.describe import describe
from branchwise.worlds.make import make_world
from branchwise.worlds.questions.generate import generate
from branchwise.worlds.questions.sources import Settings, open_source


def show_story(reader: RunReader, row: ItemRow) -> None:
    """A line for each turn, without what came back; then the right answers."""
    for line in _steps(reader.events(row.item)):
        print_line(console(), f"  {line}")
    show_gold({one.name: [answer.text for answer in one.answers] for one in row.question.branches})


def show_gold(gold: Mapping[str, Sequence[str]]) -> None:
    """The right answers of each branch, below what the agent did."""
    for line in ("gold", *branch_lines(gold)):
        print_line(console(), f"  {line}")


def _steps(events: Iterable[Event]) -> Iterator[str]:
    for event in events:
        body = event.body
        if isinstance(body, Start | AnswerRead):
            yield from describe(event)
        elif isinstance(body, Model) and body.calls:
            searches = count(len(body.calls), "search", "searches")
            asked = "; ".join(map(_asked, body.calls))
            yield begun(f"turn {body.turn}", f"{searches}: {asked}")


def _asked(call: Call) -> str:
    """What a call looks for, and how many other queries go with it."""
    args, others = call.args, 0
    if isinstance(args, Mapping):
        more = args.get("more_queries")
        others = len(more) if isinstance(more, list) else 0
        args = {key: value for key, value in args.items() if key != "more_queries"}
    return arguments(args).removeprefix("query=") + (f" and {others} more" if others else "")


ENTITIES, SEED = 600, 7
_ASKED = {"P57": "Who directed {}?", "P175": "Who performed {}?"}


class Case(NamedTuple):
    """A question about a shared name, and for each bearer's title the right answers."""

    question: str
    gold: dict[str, list[str]]


def show_world(folder: Path) -> str:
    """Make the world and its graph under `folder`, ask the offline reader about a shared name.

    Returns the question that it was asked.
    """
    screen = console()
    screen.print(
        f"\n2. A world of {ENTITIES} entities that no model has seen, and its knowledge graph.",
        style="bold",
    )
    _prepare(folder)
    kg = open_kg(str(folder))
    case = find_case(folder, kg)
    agent = Agent(System(model="offline"), kg=kg)
    asyncio.run(watch(agent, case.question, screen, margin="  ", answer=True))
    show_gold(case.gold)
    return case.question


def _prepare(folder: Path) -> None:
    if not (folder / WORLD_FILE).exists():
        make_world(folder, ENTITIES, SEED)
    if not (folder / IN_A_WORLD / DESCRIPTION_FILE).exists():
        build_kg([folder / KG_FILE], folder / IN_A_WORLD)


def find_case(folder: Path, kg: Graph) -> Case:
    """The first shared name of which two bearers at least have a director or performer."""
    for number, line in read_lines(folder / NAMES_FILE):
        shared = parse_object(line, f"{folder / NAMES_FILE}:{number}")
        titles = {entity["id"]: entity["title"] for entity in shared["entities"]}
        for property, asked in _ASKED.items():
            gold = _values(kg, titles, property)
            if len(gold) > 1:
                return Case(asked.format(shared["name"]), gold)
    raise AssertionError("a world of this size has such a name")


def _values(kg: Graph, titles: dict[str, str], property: str) -> dict[str, list[str]]:
    values = " ".join(f"wd:{number}" for number in titles)
    answer = kg.query(
        f"SELECT ?thing ?nameLabel WHERE {{ VALUES ?thing {{ {values} }} "
        f"?thing wdt:{property} ?name . }} ORDER BY ?thing ?nameLabel"
    )
    found: dict[str, list[str]] = {}
    for thing, name in answer.rows:
        if thing and name:
            found.setdefault(titles[thing.value.rpartition("/")[2]], []).append(name.value)
    return found


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


RUNS = ("base", "expand", "kg")
QUESTION = "music-91-0008"
"""The first search of `base` brings an album by the singer that it leaves out."""
_SYSTEMS = """\
  base    searches passages
  expand  first writes out what the question may mean, then searches
  kg      searches passages and queries the knowledge graph; an upper end, since
          the graph states every right answer"""
_LEGEND = (
    "P, R, EM: precision, recall, exact match; below each its 95% interval",
    "strict: an answer counts under the right reading only; p: after Holm",
)
_TITLE = "A language model on 16 generated questions (recorded)"


class RecordedPart(NamedTuple):
    """Where the recorded runs are, and the page that compares them."""

    runs: Path
    page: Path


def show_recorded(page: Path) -> RecordedPart:
    """Compare the recorded runs, show where one lost an answer, write the comparison to `page`.

    The runs are read where they are installed; nothing is written there.
    """
    folder = recorded_folder()
    report = _report(folder)
    screen = console()
    screen.print(
        "\n4. A language model on 16 questions of the same kind (recorded beforehand).",
        style="bold",
    )
    screen.print(_SYSTEMS)
    lost = error_tables([(name, one.errors) for _, name, one in report.analysed])
    cost = (f"{one.name}: {ratio_words(report, one)} of base" for one in report.systems[1:])
    for part in (*headline_tables(report), notes((*_LEGEND, ", ".join(cost))), *lost):
        screen.print(part)
    _show_lost(folder / RUNS[0], report)
    write_html(report, page)
    return RecordedPart(folder, page)


def recorded_folder() -> Path:
    """The folder of the recorded runs. SQLite reads files, so they cannot be inside an archive."""
    return Path(str(files("branchwise.examples.recorded")))


def _report(folder: Path) -> StudyReport:
    reading = ScoringSettings(asks=False, saves=False)
    return report_of_runs([(name, score_answers(folder / name, reading)) for name in RUNS], _TITLE)


def _show_lost(run: Path, report: StudyReport) -> None:
    """What the run did with one question, and where it lost an answer."""
    screen = console()
    screen.print(f"\nOne answer that {run.name} lost:", style="bold")
    reader = open_run(run)
    try:
        row = next(row for row in reader.items() if row.question.id == QUESTION)
        show_story(reader, row)
    finally:
        reader.close()
    for line in _losses(report, row.question.question):
        print_line(screen, f"  {line}")


def _losses(report: StudyReport, question: str) -> Iterator[str]:
    """Where the base lost answers, and which systems lost none."""
    found = {
        name: next(one for one in analysis.item_errors if one.id == QUESTION)
        for _, name, analysis in report.analysed
    }
    yield "lost"
    for line in lost_lines(question, found[report.systems[0].name])[1:]:
        yield indented(line.removeprefix("  "))
    if whole := [name for name, one in found.items() if not one.missing]:
        yield indented(f"lost nothing here: {', '.join(whole)}")
