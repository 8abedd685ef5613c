"""`branchwise ablate` as a person types it, and what it shows while it goes."""

import json
import re
import shutil

import pytest

from branchwise.base.errors import InputError
from branchwise.commands import studies as studies_module
from support.chat_server import fail
from support.runs.studies import reply

pytestmark = pytest.mark.slow

STUDY = """
name: small
questions: questions.jsonl
base:
  model: openai:scripted@{url}
  corpus: {corpus}
  k: 2
  max_tokens: 50
factors:
  expansion: [off, on]
  k: [2, 1]
prices: prices.yaml
"""
PRICES = "models: {openai:scripted: {input: 1000, output: 4000}}"


@pytest.fixture
def study(chat_server, corpus, question_file, tmp_path):
    chat_server.play(reply)
    question_file(6)
    (tmp_path / "prices.yaml").write_text(PRICES)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(url=chat_server.url, corpus=corpus))
    return path


def test_a_study_ends_with_tables_changes_and_what_to_type_next(type_in, study, tmp_path):
    code, said, progress = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 0
    lines = " ".join(said.split())
    # 4 of 6 questions are right, with readings 5, with one passage 3.
    assert "+expansion 6 +.17 1 +.17 1 +.17 1 -.26 to .60" in lines
    assert "k=1 6 -.17 1 -.17 1 -.17 1 -.60 to .26" in lines
    assert f"branchwise report {tmp_path}/S --html {tmp_path}/S/report.html" in said
    assert "base: 6/6 done, P .67 R .67 EM .67, " in progress
    assert "18 of 18 items, " in progress
    code, again, _ = type_in("ablate", study, "--out", tmp_path / "S")
    assert (code, again) == (0, said)


def test_a_report_knows_the_prices_that_the_study_went_by(type_in, study, tmp_path):
    def costs():
        code, said, _ = type_in("report", tmp_path / "S", "--json")
        assert code == 0
        return [system["costs"]["cost"] for system in json.loads(said)]

    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    first = costs()
    assert all(cost > 0 for cost in first)
    dear = tmp_path / "dear.yaml"
    dear.write_text(PRICES.replace("1000", "2000").replace("4000", "8000"))
    assert type_in("ablate", study, "--out", tmp_path / "S", "--prices", dear)[0] == 0
    dear.unlink()
    assert costs() == pytest.approx([2 * cost for cost in first])
    study.write_text(study.read_text().replace("prices: prices.yaml", ""))
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    assert costs() == pytest.approx([2 * cost for cost in first]), "once given they stay"


def test_without_a_folder_the_study_has_its_own(type_in, study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert type_in("ablate", study)[0] == 0
    assert (tmp_path / "studies" / "small" / "study.json").exists()


def test_the_command_that_continues_keeps_the_limits_that_were_given(
    type_in, study, chat_server, tmp_path
):
    chat_server.play(lambda body: fail(401, "no such key"))
    limits = ("--max-cost", "400.5", "--concurrency", "3", "--max-requests", "2")
    _, _, complaint = type_in("ablate", study, "--out", tmp_path / "S", *limits)
    again = f"branchwise ablate {study} --out {tmp_path}/S --concurrency 3 --max-requests 2"
    assert f"{again} --max-cost 400.5\n" in complaint
    chat_server.play(reply)
    _, _, complaint = type_in("ablate", study, "--out", tmp_path / "S", *limits[2:], "--max-cost=1")
    assert f"{again} --max-cost HIGHER\n" in complaint


@pytest.mark.parametrize("change", ["swap", "copy", "file"])
def test_a_run_that_is_not_the_one_of_its_system_is_read_by_no_command(
    type_in, study, tmp_path, change
):
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    one, two, *_ = runs = sorted((tmp_path / "S" / "runs").iterdir())
    match change:
        case "swap":
            for source, target in ((one, tmp_path / "x"), (two, one), (tmp_path / "x", two)):
                source.rename(target)
        case "copy":
            shutil.rmtree(one)
            shutil.copytree(two, one)
        case "file":
            shutil.copyfile(two / "run.sqlite", one / "run.sqlite")
    for command in (
        ("report", tmp_path / "S"),
        ("report", *runs),
        ("report", tmp_path / "S", "--html", tmp_path / "x.html"),
        ("score", one),
        ("trace", one, "--print"),
        ("errors", one),
        ("export", one),
        ("resume", one),
        ("recover", tmp_path / "S", "--out", tmp_path / "N"),
        ("ablate", study, "--out", tmp_path / "S"),
    ):
        code, _, err = type_in(*command)
        assert code == 2, command
        assert re.search(r"the run is of the system '.+', and the study has '.+' here", err)
        assert err.count("\n") == 1
    assert type_in("verify", tmp_path / "S")[0] == 1


def test_more_systems_than_open_files_are_refused(monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    studies_module._check_open_files(20)
    with pytest.raises(InputError, match="40 runs need 344 open files"):
        studies_module._check_open_files(40)
