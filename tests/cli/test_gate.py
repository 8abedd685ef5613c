import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, Skipped

from branchwise.base.text import printable
from branchwise.report.terminal.console import printable_json
from branchwise.runs.studies.folder import STUDY_FILE
from support.eval.judging_cases import an_item, make_run
from support.ui import written_runs
from support.ui.written_runs import failure, outcome, question

TypeIn = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`good` answers 20 questions, `bad` half of them, `few` two of three."""
    folder = tmp_path_factory.mktemp("runs")
    for name, asked, right in (("good", 20, 20), ("bad", 20, 10), ("few", 3, 2)):
        answers = [{"default": ["Ann"] if n < right else ["Bo"]} for n in range(asked)]
        items = [
            an_item(answer, {"default": ["Ann"]}, id=f"q{n}", text=f"Who made film {n}?")
            for n, answer in enumerate(answers)
        ]
        make_run(folder / name, items)
    return folder


def test_a_worse_run_exits_with_1_and_says_why(runs: Path, type_in: TypeIn) -> None:
    code, shown, _ = type_in("gate", runs / "good", runs / "bad")
    assert code == 1
    # Ten of ten questions lost: p = 2 / 2^10. Of one answer a question the metrics are one test.
    assert "worse  strict EM 1.00 to .50, -.50 [-.74, -.26] (p = .002, n = 20)" in shown
    assert type_in("gate", runs / "bad", runs / "good")[0] == 0
    assert type_in("gate", runs / "good", runs / "bad", "--margin", "0.4", "--drop", 0.6)[0] == 0


def test_too_few_questions_pass_and_are_said(runs: Path, type_in: TypeIn) -> None:
    code, shown, _ = type_in("gate", runs / "good", runs / "few", "--metrics", "strict_em")
    assert code == 0
    first, second = shown.splitlines()
    assert first.startswith("too few questions  strict EM 1.00 to .67, -.33")
    assert "a drop of .05 would show with probability .00;" in second


def test_json_and_junit_say_the_same(runs: Path, tmp_path: Path, type_in: TypeIn) -> None:
    code, shown, _ = type_in(
        "gate", runs / "good", runs / "bad", "--json", "--junit", tmp_path / "g" / "gate.xml"
    )
    document = json.loads(shown)
    assert (code, document["worse"]) == (1, True)
    assert [metric["verdict"] for metric in document["metrics"]] == ["worse"] * 3
    (suite,) = JUnitXml.fromfile(str(tmp_path / "g" / "gate.xml"))
    assert (suite.tests, suite.failures, suite.skipped) == (3, 3, 0)
    assert [case.classname for case in suite] == ["bad"] * 3
    assert all(isinstance(case.result[0], Failure) for case in suite)
    type_in("gate", runs / "good", runs / "few", "--junit", tmp_path / "few.xml")
    (suite,) = JUnitXml.fromfile(str(tmp_path / "few.xml"))
    assert all(isinstance(case.result[0], Skipped) for case in suite)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--metrics", "strict_emm"), "--metrics: unknown metric 'strict_emm'; did you mean"),
        (("--margin", ".1"), "the drop of 0.05 is not above the margin of 0.1; name a larger"),
        (("--junit", "."), ".: is a folder; name a file"),
    ],
)
def test_bad_input_is_one_line(
    runs: Path, options: tuple[str, str], why: str, type_in: TypeIn
) -> None:
    code, shown, error = type_in("gate", runs / "good", runs / "bad", *options)
    assert (code, shown, error.count("\n")) == (2, "", 1)
    assert why in error


@pytest.mark.slow
def test_what_is_no_finished_run_of_these_questions_is_refused(
    runs: Path, tmp_path: Path, type_in: TypeIn
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / STUDY_FILE).write_text("{}")
    asked = [question(n) for n in (1, 2)]
    base = written_runs.make_run(tmp_path / "base", asked, [outcome("Mann")] * 2)
    written_runs.make_run(tmp_path / "half", asked, [outcome("Mann"), None])
    reworded = [question(1), question(2, text="Who wrote film 2?")]
    written_runs.make_run(tmp_path / "reworded", reworded, [outcome("Mann")] * 2)
    written_runs.make_run(tmp_path / "none", [], [])
    label = {"prediction": {"answers": {}, "task_output": None}}
    asks = [outcome(**label)] * 2
    written_runs.make_run(tmp_path / "task", asked, asks, task="ambiguity")
    for name, why in (
        ("nowhere", "no such run"),
        ("study", "is not a run folder"),
        ("half", "1 of 2 items have not ended; finish the run with `branchwise resume`"),
        ("reworded", "question 'q2' is another one than in"),
        ("none", "no question in common"),
        ("task", "scores of the tasks branches and ambiguity have no metric in common"),
    ):
        code, shown, error = type_in("gate", base, tmp_path / name)
        assert (code, shown, error.count("\n")) == (2, "", 1), error
        assert why in error
    code, _, error = type_in("gate", tmp_path / "half", base)
    assert (code, error.count("\n")) == (2, 1)


@pytest.mark.slow
def test_what_else_may_explain_a_drop_is_said(tmp_path: Path, type_in: TypeIn) -> None:
    asked = [question(n) for n in (1, 2, 3)]
    base = written_runs.make_run(tmp_path / "base", asked, [outcome("Mann")] * 3)
    ends = [outcome("Mann"), failure()]
    new = written_runs.make_run(tmp_path / "new", [question(1, "Ann"), question(2)], ends)
    code, shown, error = type_in("gate", base, new)
    assert code == 0
    assert "n = 2; left out: 1 only in the base" in shown
    assert "caution: 1 question with other gold answers" in error
    assert f"caution: {new}: 1 item failed and count 0" in error.replace("\n", "")
    document = json.loads(type_in("gate", base, new, "--json")[1])
    assert len(document["cautions"][1:]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a<b>&\"'c", "two\nlines", "\x01\x1b[31m", "\u202e\ufffe"])
def test_names_of_runs_do_not_break_the_reports(
    name: str, runs: Path, tmp_path: Path, type_in: TypeIn
) -> None:
    shutil.copytree(runs / "few", tmp_path / name)
    report = tmp_path / "gate.xml"
    _, shown, _ = type_in("gate", runs / "few", tmp_path / name, "--json", "--junit", report)
    assert json.loads(shown)["new"] == str(tmp_path / name)
    (suite,) = JUnitXml.fromfile(str(report))
    assert {case.classname for case in suite} == {printable(name)}


def test_json_names_a_folder_whose_name_is_no_utf8() -> None:
    assert json.loads(printable_json({"new": "bad\udcff"})) == {"new": "bad\udcff"}
