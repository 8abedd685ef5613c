"""The recorded runs load, trace, report and compare in every format, and stay as they are."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from branchwise.base.numbers import number
from branchwise.corpora.loaders import load_questions
from branchwise.report.run_folders import report_of_runs
from branchwise.report.study_report import StudyReport
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import open_run
from branchwise.ui.traces.runs import RunView

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[2] / "examples" / "recorded"
RUNS = ("base", "expand", "kg")
MISSING = {
    "base": {"science-91-0007": (2, 41), "music-91-0008": (1, 3), "book-91-0010": (1, 13)},
    "expand": {"science-91-0007": (3, 41), "book-91-0010": (1, 13)},
    "kg": {},
}
"""Answers that are missing of how many, by reading; every answer that was given is right."""
AMBIGUOUS = {"science-91-0007": 10}
"""Of so many ambiguous questions only this one lacks answers."""


def means(name: str) -> list[str]:
    """Strict precision, recall and EM of all questions; recall and EM of the ambiguous ones."""
    lost = {id: missing / gold for id, (missing, gold) in MISSING[name].items()}
    hard = [lost[id] for id in lost if id in AMBIGUOUS]
    figures = [1, 1 - sum(lost.values()) / 16, 1 - len(lost) / 16]
    return [number(one) for one in (*figures, 1 - sum(hard) / 10, 1 - len(hard) / 10)]


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


def test_the_runs_hold_the_questions_beside_them() -> None:
    questions = load_questions(str(RECORDED / "questions.jsonl"))
    for name in RUNS:
        reader = open_run(RECORDED / name)
        assert [one.id for one in reader.questions()] == [one.id for one in questions.questions]
        assert {row.status for row in reader.items()} == {"done"}
        reader.close()


def test_the_readme_has_the_numbers_of_the_runs(report: StudyReport) -> None:
    page = (RECORDED / "README.md").read_text("utf-8")
    rows = {cells[0].strip(" `"): cells for cells in map(_cells, page.splitlines()) if cells}
    columns = [("precision", "all"), ("recall", "all"), ("em", "all")]
    columns += [("recall", "ambiguous"), ("em", "ambiguous")]
    for system in report.systems:
        found = [number(system.mean(f"strict_{name}", subset).mean) for name, subset in columns]
        assert found == means(system.name) == rows[system.name][2:7]
        assert f"{tokens(system.name):,}" == rows[system.name][8]


def test_the_first_table_of_the_project_has_them_too(report: StudyReport) -> None:
    lines = (RECORDED.parents[1] / "README.md").read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ")[1:] for line in lines if line.startswith("| passages")]
    for row, (_, name, analysis) in zip(rows, report.analysed, strict=True):
        found = [(lost.label, lost.lost_at) for one in analysis.item_errors for lost in one.missing]
        never = sum(label == "incomplete_extraction" for label, _ in found)
        left_out = sum(place == "agent" for _, place in found)
        assert row == [*means(name)[:3], str(never), str(left_out), f"{tokens(name):,}"]


def test_a_lost_answer_was_retrieved_only_where_a_passage_supports_it(report: StudyReport) -> None:
    counts = {name: analysis.errors.subsets["all"] for _, name, analysis in report.analysed}
    told = {name: (found.lost_at["agent"], found.elsewhere) for name, found in counts.items()}
    assert told == {"base": (1, 2), "expand": (1, 3), "kg": (0, 0)}


def test_a_trace_says_of_an_answer_what_its_report_says(report: StudyReport) -> None:
    for _, name, analysis in report.analysed:
        with RunView.open(RECORDED / name) as view:
            for errors in analysis.item_errors:
                row = view.find(errors.id)
                assert row is not None
                assert view.trace(row).errors == errors


def _cells(line: str) -> list[str]:
    return line.strip("| ").split(" | ") if line.startswith("| `") else []


def tokens(name: str) -> int:
    """Those of all calls of a run, in and out."""
    with closing(open_run(RECORDED / name)) as reader:
        return sum(usage["input"] + usage["output"] for _, usage in reader.model_usage())


@pytest.mark.long
def test_the_commands_read_them(type_in: TypeIn) -> None:
    folders = [RECORDED / name for name in RUNS]
    code, out, err = type_in("report", *folders)
    assert (code, err) == (0, "")
    assert re.search(r"^kg +16 +±\.00 +1 +\+\.03 ", out, re.M)
    assert "-.02 to .07" in out
    code, out, _ = type_in("verify", *folders)
    assert code == 0
    assert out.count("whole, 16 of 16 items have ended") == 3
    for folder in folders:
        assert type_in("errors", folder)[0] == 0
        code, out, _ = type_in("export", folder, "--events")
        assert code == 0
        assert len(out.splitlines()) == 16
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
    allowed = {"localhost:8000", "www.w3.org", "www.wikidata.org", "schema.org"}
    for name in RUNS:
        with closing(open_run(RECORDED / name)) as reader:
            told = [reader.meta]
            for row in reader.items():
                events = [event.data for event in reader.events(row.item)]
                told += [row.outcome, *events, *reader.responses(row.item).values()]
        for said in map(str, told):
            assert {*re.findall(r"https?://([\w.:-]+)", said)} <= allowed
            assert not re.search(r"(?<!\w)/(home|tmp|root|usr|Users)/|sk-[A-Za-z0-9]{8}", said)
