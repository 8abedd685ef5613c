"""The recorded runs load, trace, report and compare in every format, and stay as they are."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import pytest

from branchwise.base.numbers import number
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.report.run_folders import report_of_runs
from branchwise.report.study_report import StudyReport
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import open_run
from branchwise.ui.traces.runs import RunView

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[2] / "examples" / "recorded"
MISSING = {
    "base": {
        "movie-558-0001": (1, 2, 5),
        "book-558-0003": (4, 1, 9),
        "sports-558-0004": (4, 3, 27),
        "business-558-0005": (15, 17, 42),
        "science-558-0006": (10, 2, 22),
        "movie-558-0007": (2, 9, 31),
        "sports-558-0010": (16, 0, 29),
        "science-558-0012": (18, 3, 44),
        "movie-558-0013": (5, 11, 44),
        "music-558-0014": (3, 3, 9),
        "book-558-0015": (1, 3, 30),
        "sports-558-0016": (3, 2, 10),
        "business-558-0017": (2, 9, 26),
        "movie-558-0019": (6, 9, 24),
        "sports-558-0022": (12, 2, 41),
        "business-558-0023": (1, 11, 17),
        "science-558-0024": (10, 1, 20),
    },
    "kg": {},
}
"""By run the questions that lack answers: how many were left out by the agent, how many never
retrieved, of how many."""
WRONG = {"book-558-0021": (5, 8)}
"""Wrong answers of those given in both runs; all others are right."""
SPENT = {
    "base": {f"book-558-{n:04}" for n in (3, 15)}
    | {"science-558-0012", "movie-558-0013", "music-558-0014"}
    | {"sports-558-0016", "business-558-0017"},
    "kg": set(),
}
"""Questions that spent the budget."""


class Totals(NamedTuple):
    """Of a run: missing answers that the agent left out, and that were never retrieved, of these
    those that a passage mentions which does not state them; wrong answers; questions that spent the
    budget, and that are exact; missing answers that stand under another name."""

    left_out: int
    never: int
    mentioned: int
    wrong: int
    spent: int
    exact: int
    misplaced: int = 0


TOTALS = {
    "base": Totals(113, 88, 47, 5, 7, 6),
    "fan-out": Totals(51, 191, 15, 152, 17, 0, 140),
    "fan-out-titles": Totals(132, 153, 54, 6, 1, 4),
    "check": Totals(103, 81, 35, 5, 7, 4),
    "compact": Totals(118, 124, 51, 5, 4, 2),
    "tries": Totals(132, 134, 53, 6, 6, 5),
    "kg": Totals(0, 0, 0, 5, 0, 23),
}
RUNS = tuple(TOTALS)


def means(name: str) -> list[str]:
    """Strict precision, recall and EM of the 24 questions of a run that is told by question."""
    wrong = sum(wrong / given for wrong, given in WRONG.values())
    lost = sum((out + never) / gold for out, never, gold in MISSING[name].values())
    return [
        number(1 - wrong / 24),
        number(1 - lost / 24),
        number(1 - len({*MISSING[name], *WRONG}) / 24),
    ]


TypeIn = Callable[..., tuple[int, str, str]]


def files_of(folder: Path) -> dict[str, str]:
    """Each file's digest: a reader leaves nothing and changes nothing."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_written_there() -> Iterator[None]:
    before = files_of(RECORDED)
    yield
    assert files_of(RECORDED) == before


@pytest.fixture(scope="module")
def report() -> StudyReport:
    reading = ScoringSettings(asks=False, saves=False)
    return report_of_runs([(name, score_answers(RECORDED / name, reading)) for name in RUNS])


def test_every_run_in_the_folder_is_told_of() -> None:
    assert {path.parent.name for path in RECORDED.glob("*/run.sqlite")} == {*RUNS}
    assert [*readme_rows()] == [*RUNS]


def test_the_runs_hold_the_questions_beside_them() -> None:
    questions = load_questions(str(RECORDED / "questions.jsonl")).questions
    for name in RUNS:  # two contexts answered `base`, each its own part
        with closing(open_run(RECORDED / name)) as reader:
            assert sorted(reader.questions(), key=by_id) == sorted(questions, key=by_id)
            assert {row.status for row in reader.items()} == {"done"}


def by_id(question: Question) -> str:
    return question.id


def test_the_readme_says_what_the_questions_are() -> None:
    questions = load_questions(str(RECORDED / "questions.jsonl")).questions
    assert len(questions) == 24
    assert all(question.ambiguous for question in questions)
    branches = [branch for question in questions for branch in question.branches]
    assert (len(branches), sum(len(branch.answers) for branch in branches)) == (84, 486)
    looked = [int(question.meta["looked_at"]) for question in questions]
    assert (min(looked), round(mean(looked)), max(looked)) == (105, 545, 2385)
    assert median(looked) == 343.5
    page = " ".join((RECORDED / "README.md").read_text("utf-8").split())
    assert "105 to 2,385, 545 on average, with a median of 343" in page
    assert "for one of 84 readings" in page
    assert "Of 486 gold answers `base` lacks 201. It had retrieved 113 of these; for 88" in page


def readme_rows() -> dict[str, list[str]]:
    """The cells of the page's table by run."""
    page = (RECORDED / "README.md").read_text("utf-8")
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): cells[1:] for cells in lines}


def test_the_readme_has_the_numbers_of_the_runs(report: StudyReport) -> None:
    rows = readme_rows()
    for system in report.systems:
        found = [system.mean(f"strict_{name}", "all") for name in ("precision", "recall", "em")]
        if system.name in MISSING:
            assert [number(one.mean) for one in found] == means(system.name)
        assert found[2].mean == TOTALS[system.name].exact / 24
        intervals = [f"{number(one.mean)} [{number(one.low)}, {number(one.high)}]" for one in found]
        calls, read = usage(system.name)
        totals = TOTALS[system.name]
        right = 486 - totals.left_out - totals.never - totals.misplaced
        spent = f"{totals.spent} of 24"
        cost = [str(calls), f"{read:,}", f"{round(read / right):,}", spent]
        assert rows[system.name][1:] == [*intervals, *cost]


def test_the_first_table_of_the_project_has_them_too(report: StudyReport) -> None:
    lines = (RECORDED.parents[1] / "README.md").read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ")[1:] for line in lines if line.startswith("| passages")]
    assert len(rows) == len(MISSING)
    for row, name in zip(rows, MISSING, strict=True):
        lost = [str(TOTALS[name].never), str(TOTALS[name].left_out)]
        assert row == [*means(name), *lost, f"{usage(name)[1]:,}"]


def test_an_answer_is_lost_where_its_passages_say(report: StudyReport) -> None:
    for _, name, analysis in report.analysed:
        lost: dict[str, tuple[int, int]] = {}
        misplaced = 0
        for item in analysis.item_errors:
            left_out = sum(one.lost_at == "agent" for one in item.missing)
            never = sum(one.label == "incomplete_extraction" for one in item.missing)
            under = sum(one.label == "wrong_branch" for one in item.missing)
            assert left_out + never + under == len(item.missing)
            misplaced += under
            if item.missing:
                lost[item.id] = (left_out, never)
        wrong = {item.id: len(item.wrong) for item in analysis.item_errors if item.wrong}
        spent = {item.id for item in analysis.item_errors if item.budget_spent}
        if name in MISSING:
            assert lost == {id: (out, never) for id, (out, never, _) in MISSING[name].items()}
            assert wrong == {id: wrong for id, (wrong, _) in WRONG.items()}
            assert spent == SPENT[name]
        found = Totals(
            sum(out for out, _ in lost.values()),
            sum(never for _, never in lost.values()),
            analysis.errors.subsets["all"].elsewhere,
            sum(wrong.values()),
            len(spent),
            sum(item.id not in lost and item.id not in wrong for item in analysis.item_errors),
            misplaced,
        )
        assert found == TOTALS[name]


@pytest.mark.long
def test_a_trace_says_of_an_answer_what_its_report_says(report: StudyReport) -> None:
    for _, name, analysis in report.analysed:
        with RunView.open(RECORDED / name) as view:
            for errors in analysis.item_errors:
                row = view.find(errors.id)
                assert row is not None
                assert view.trace(row).errors == errors


def usage(name: str) -> tuple[int, int]:
    """The model calls of a run, and their tokens, in and out."""
    with closing(open_run(RECORDED / name)) as reader:
        tokens = [usage["input"] + usage["output"] for _, usage in reader.model_usage()]
    return len(tokens), sum(tokens)


@pytest.mark.long
def test_the_commands_read_them(type_in: TypeIn) -> None:
    folders = [RECORDED / name for name in RUNS]
    code, out, err = type_in("report", *folders)
    assert (code, err) == (0, "")
    assert re.search(r"^kg +\+\.35 ▲ +\[\.24, \.46\] <\.001 +±\.00 +\+\.71 ▲", out, re.M)
    code, out, err = type_in("report", *(RECORDED / name for name in MISSING))
    assert (code, err) == (0, "")
    assert re.search(r"^kg +24 +±\.00 +1 +\+\.35 +<\.001 +\+\.71 +<\.001", out, re.M)
    assert re.search(r"^ +\.00–\.00 +\.24–\.46 +\.51–\.90", out, re.M)
    code, out, _ = type_in("verify", *folders)
    assert code == 0
    assert out.count("whole, 24 of 24 items have ended") == len(RUNS)
    for folder in (RECORDED / name for name in ("base", "fan-out", "kg")):
        assert type_in("errors", folder)[0] == 0
        code, out, _ = type_in("export", folder, "--events")
        assert code == 0
        assert len(out.splitlines()) == 24
        assert type_in("trace", folder, "--print")[0] == 0
        assert type_in("report", folder, "--json", "--by", "steps")[0] == 0


def test_every_step_is_understood() -> None:
    from branchwise.trace.events import Unknown
    from branchwise.ui.steps.words import describe

    for name in RUNS:
        reader = open_run(RECORDED / name)
        for row in reader.items():
            for event in reader.events(row.item):
                assert not isinstance(event.body, Unknown)
                assert not event.body.problems
                assert describe(event)
        reader.close()


@pytest.mark.long
def test_no_place_or_address_is_in_them() -> None:
    allowed = {"www.w3.org", "www.wikidata.org", "schema.org"}
    for name in RUNS:
        with closing(open_run(RECORDED / name)) as reader:
            told = [reader.meta]
            for row in reader.items():
                events = [event.data for event in reader.events(row.item)]
                told += [row.outcome, *events, *reader.responses(row.item).values()]
        for said in map(str, told):
            assert {*re.findall(r"https?://([\w.:-]+)", said)} <= allowed
            assert not re.search(r"(?<!\w)/(home|tmp|root|usr|Users)/|sk-[A-Za-z0-9]{8}", said)
