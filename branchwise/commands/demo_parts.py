"""The demo's parts after the first: a small world, a study of it, and a language model's runs."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree, ignore_patterns
from textwrap import wrap
from typing import NamedTuple

from branchwise.base.atomic import new_folder, write_bytes
from branchwise.base.files import parse_object, read_lines
from branchwise.commands.ask import watch
from branchwise.commands.question_files import made_here, write_questions
from branchwise.corpora.build import build_index
from branchwise.corpora.manifest import index_names
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System
from branchwise.kg.answers import Graph
from branchwise.kg.build import build_kg
from branchwise.kg.open import IN_A_WORLD, open_kg
from branchwise.kg.store import DESCRIPTION_FILE
from branchwise.kg.world_folder import KG_FILE, NAMES_FILE, WORLD_FILE
from branchwise.report.figures.cost import ratio_words
from branchwise.report.html.page import write_html
from branchwise.report.run_folders import report_of_runs
from branchwise.report.terminal.cells import notes
from branchwise.report.terminal.console import console, print_line
from branchwise.report.terminal.error_table import error_tables
from branchwise.report.terminal.lost_answers import lost_lines
from branchwise.report.terminal.progress import StudyProgress
from branchwise.report.terminal.report_table import headline_tables
from branchwise.report.terminal.step_text import begun, branch_lines, count, indented
from branchwise.runs.costs.prices import Prices
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import ItemRow, RunReader, open_run
from branchwise.runs.studies.running import StudyDesign, StudyPace, run_study
from branchwise.runs.studies.schema import load_study
from branchwise.trace.events import AnswerRead, Model, Start
from branchwise.trace.parts import Call
from branchwise.ui.steps.kinds.tool import arguments
from branchwise.ui.steps.words import describe
from branchwise.worlds.make import make_world
from branchwise.worlds.questions.generate import generate
from branchwise.worlds.questions.sources import Settings, open_source

ENTITIES, SEED = 600, 7
_ASKED = {"P57": "Who directed {}?", "P175": "Who performed {}?"}


def show_story(reader: RunReader, row: ItemRow) -> None:
    """What an agent did with a question, a line for each turn (and its first two calls), then the
    right answers."""
    for event in reader.events(row.item):
        body = event.body
        if isinstance(body, Start | AnswerRead):
            _print_lines([*describe(event)])
        elif isinstance(body, Model) and body.calls:
            searches = count(len(body.calls), "search", "searches")
            asked = [*map(_query, body.calls[:2]), *["…"] * (len(body.calls) > 2)]
            line = begun(f"turn {body.turn}", f"{searches}: {'; '.join(asked)}")
            print_line(console(), f"  {line}")
    branches = row.question.branches
    show_gold({branch.name: [answer.text for answer in branch.answers] for branch in branches})


def _query(call: Call) -> str:
    """What a call looks for, and how many other queries go with it."""
    args, others = call.args, 0
    if isinstance(args, Mapping):
        more = args.get("more_queries")
        others = len(more) if isinstance(more, list) else 0
        args = {key: value for key, value in args.items() if key != "more_queries"}
    return arguments(args).removeprefix("query=") + (f" and {others} more" if others else "")


def show_gold(gold: Mapping[str, Sequence[str]]) -> None:
    _print_lines(["gold", *branch_lines(gold)])


def _print_lines(lines: Sequence[str]) -> None:
    """Print lines as a terminal has room for them, each with what does not fit below it."""
    width = console().width if console().is_terminal else sys.maxsize
    for line in lines:
        for part in wrap(f"  {line}", width, subsequent_indent=indented("    ")):
            print_line(console(), part)


class Case(NamedTuple):
    """A question about a shared name, and for each bearer's title the right answers."""

    question: str
    gold: dict[str, list[str]]


def show_world(folder: Path) -> str:
    """Make a world, ask the offline reader about a shared name; returns the question."""
    screen = console()
    text = f"\n2. A world of {ENTITIES} entities that no model has seen, and its knowledge graph."
    screen.print(text, style="bold")
    if not (folder / WORLD_FILE).exists():
        make_world(folder, ENTITIES, SEED)
    if not (folder / IN_A_WORLD / DESCRIPTION_FILE).exists():
        build_kg([folder / KG_FILE], folder / IN_A_WORLD)
    kg = open_kg(str(folder))
    case = find_case(folder, kg)
    agent = Agent(System(model="offline"), kg=kg)
    asyncio.run(watch(agent, case.question, screen, margin="  ", answer=True))
    show_gold(case.gold)
    return case.question


def find_case(folder: Path, kg: Graph) -> Case:
    """The first shared name of which two bearers at least have a director or performer."""
    for number, line in read_lines(folder / NAMES_FILE):
        shared = parse_object(line, f"{folder / NAMES_FILE}:{number}")
        titles = {entity["id"]: entity["title"] for entity in shared["entities"]}
        entities = " ".join(f"wd:{id}" for id in titles)
        for property, asked in _ASKED.items():
            answer = kg.query(
                f"SELECT ?thing ?nameLabel WHERE {{ VALUES ?thing {{ {entities} }} "
                f"?thing wdt:{property} ?name . }} ORDER BY ?thing ?nameLabel"
            )
            gold: dict[str, list[str]] = {}
            for entity, name in answer.rows:
                if entity and name:
                    gold.setdefault(titles[entity.value.rpartition("/")[2]], []).append(name.value)
            if len(gold) > 1:
                return Case(asked.format(shared["name"]), gold)
    raise AssertionError("a world of this size has such a name")


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
    """Run a study on questions about the world, in a `fresh` folder; returns its page."""
    questions, file = world / "questions.jsonl", world / "study.yaml"
    if not questions.exists():
        source = open_source(str(world))
        settings = Settings(40, 0.5, source.domains, source.common, 1)
        generated = generate(source.facts, source.names, settings, support=source.support)
        write_questions(questions, map(made_here, generated))
    write_bytes(file, _STUDY.replace("INDEX", word_index(world)).encode())
    design = StudyDesign.of(load_study(file))
    console().print(
        f"\n3. A study ({file}): {len(design.sets[0].questions)} questions made from plans over\n"
        f"this world, answered by {len(design.systems)} systems that differ in one thing each.",
        style="bold",
    )
    pace = StudyPace(prices=Prices.load())
    with StudyProgress(Prices.load(), pace.limits) as live:
        folder = run_study(design, fresh(world / "study"), pace, live).folder
    console().print(
        "\n  The baseline hardly moves: offline makes little of what these parts bring."
    )
    runs = [(name, score_answers(path)) for name, path in folder.runs()]
    page = folder.path / "report.html"
    write_html(report_of_runs(runs, folder.record.name, folder.record.systems), page)
    return page


def word_index(corpus: Path) -> str:
    """Name of the corpus's word index: built in half a second, without the `local` extra."""
    if "bm25" not in index_names(corpus):
        build_index(corpus, "bm25")
    return "bm25"


RUNS = {
    "base": "searches passages",
    "kg": "also queries the knowledge graph, which states all that is right",
}
"""What each recorded run may do; the others are compared with the first."""
QUESTION = "music-558-0014"
"""Of the answers that `base` lost one came with its last search."""
_LEGEND = (
    "P, R, EM: precision, recall, exact match; below each its 95% interval",
    "strict: an answer counts under the right reading only; p: after Holm",
)


def show_recorded(out: Path) -> None:
    """Compare the recorded runs and show where one lost a question's answers.

    `out` gets the comparison as a page, and a copy of the runs for the commands that follow: the
    package itself may lie in a cache, or be read-only.
    """
    folder, screen = out / "recorded", console()
    if not folder.exists():
        with new_folder(folder) as new, as_file(files("branchwise.examples.recorded")) as installed:
            copytree(installed, new, ignore=ignore_patterns("__*"), dirs_exist_ok=True)
    reading = ScoringSettings(asks=False, saves=False)
    runs = [(name, score_answers(folder / name, reading)) for name in RUNS]
    report = report_of_runs(runs, "A language model in a hard world (recorded)")
    asked = f"{len(report.questions)} questions about a world of 20,000 entities"
    more = "each with a hundred of them or more to look at (recorded beforehand)"
    screen.print(f"\n4. A language model on {asked},\n{more}.", style="bold")
    for name, does in RUNS.items():
        screen.print(f"  {name:<{max(map(len, RUNS))}}  {does}")
    lost = error_tables([(name, analysis.errors) for _, name, analysis in report.analysed])
    others = report.systems[1:]
    cost = (f"{system.name}: {ratio_words(report, system)} of base" for system in others)
    for part in (*headline_tables(report), notes((*_LEGEND, ", ".join(cost))), *lost):
        screen.print(part)
    base = report.systems[0].name
    screen.print(f"\nWhere {base} lost the answers of one question:", style="bold")
    with closing(open_run(folder / base)) as reader:
        row = next(row for row in reader.items() if row.question.id == QUESTION)
        show_story(reader, row)
    errors = {
        name: next(error for error in analysis.item_errors if error.id == QUESTION)
        for _, name, analysis in report.analysed
    }
    losses = lost_lines(row.question.question, errors[base])[1:]
    lines = ["lost", *(indented(line.removeprefix("  ")) for line in losses)]
    if whole := [name for name, error in errors.items() if not error.missing]:
        lines.append(indented(f"lost nothing here: {', '.join(whole)}"))
    _print_lines(lines)
    write_html(report, out / "recorded.html")
