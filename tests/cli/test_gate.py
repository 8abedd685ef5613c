import json
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, Skipped

from support.eval.judging_cases import an_item, make_run

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
    # Ten of ten questions lost: p = 2 / 2^10, three times that after Holm.
    assert "worse  strict EM 1.00 to .50, -.50 [-.74, -.26] (p = .006, n = 20)" in shown
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


def test_a_folder_that_is_no_run_is_refused(runs: Path, tmp_path: Path, type_in: TypeIn) -> None:
    code, _, error = type_in("gate", runs / "good", tmp_path)
    assert (code, error.count("\n")) == (2, 1)
