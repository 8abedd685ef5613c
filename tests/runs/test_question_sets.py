"""Several question sets in one run or study: each scored by its task, and all of them together."""

import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest

import branchwise
from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import DRAFT_FILE, STUDY_FILE, StudyFolder
from branchwise.runs.studies.running import StudyDesign, run_study
from branchwise.runs.studies.schema import load_study
from branchwise.runs.studies.sets import set_names
from support.runs.killing import Killer
from support.runs.studies import Counting, outcomes, reply

pytestmark = pytest.mark.slow

KILLS, CONCURRENCY, K = 2, 3, 2
STUDY = """
name: sets
questions:
- films.jsonl
- {{source: fan.jsonl, name: fan, limit: 4}}
base: {{model: "openai:scripted@{url}", corpus: {corpus}, k: 2}}
factors: {{k: [2, 1]}}
concurrency: 3
"""


def write(path: Path, numbers: range, task: str | None = None) -> Path:
    """A set whose questions `support.runs.studies.reply` answers; ids begin as the file's name."""
    lines = []
    for n in numbers:
        text = f"Question number {n:04d}: who directed Heat?"
        line: dict[str, Any] = {"id": f"{path.stem}{n}", "question": text, "answers": [text[:20]]}
        lines.append(json.dumps(line | ({"task": task} if task else {})))
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def sets(tmp_path: Path) -> list[Path]:
    """6 questions of one task, 5 of another."""
    films = write(tmp_path / "films.jsonl", range(6))
    return [films, write(tmp_path / "fan.jsonl", range(10, 15), "fanoutqa")]


@pytest.fixture
def study(sets: list[Path], chat_server: Any, corpus: Path, tmp_path: Path) -> Path:
    chat_server.play(reply)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(url=chat_server.url, corpus=corpus))
    return path


def words(chat_server: Any, corpus: Path, sets: list[Path]) -> list[object]:
    model = f"openai:scripted@{chat_server.url}"
    given = [word for path in sets for word in ("--questions", path)]
    return [*given, "--model", model, "--corpus", corpus, "--k", K, "--concurrency", CONCURRENCY]


@pytest.mark.long
def test_a_study_of_two_sets_reports_them_apart_and_together(type_in, study, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, said, progress = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 0
    runs = dict(StudyFolder.open(tmp_path / "S").runs())
    assert list(runs) == ["films: base", "films: k=1", "fan: base", "fan: k=1"]
    assert {path.name for path in runs.values()} == {
        "films--base", "films--k-1", "fan--base", "fan--k-1",
    }  # fmt: skip
    assert "20 of 20 items" in progress
    tasks = [open_run(path).task for path in runs.values()]
    assert tasks == ["branches"] * 2 + ["fanoutqa"] * 2
    lines = [line.rstrip() for line in said.splitlines()]
    assert "films (task branches)" in lines
    assert "fan (task fanoutqa)" in lines
    assert max(map(len, said[: said.index("Study: ")].splitlines())) <= 80
    table = said[said.index("2 question sets together") :]
    rows = [line.split() for line in table.splitlines()]
    # Right with two passages are 0, 1, 2, 5 of films and 10, 11, 12 of fan; with one 0, 1, 5 and
    # 10, 11: 7 and 5 of 10, or the means of 4/6 and 3/4, of 3/6 and 2/4.
    found = [row for row in rows if row[:2] in (["base", "10"], ["k=1", "10"])]
    assert [row[2:] for row in found[:2]] == [[".70"] * 3, [".50"] * 3]
    means = [row for row in rows if row[1:2] == ["–"]]
    assert means == [["base", "–", *[".71"] * 3], ["k=1", "–", *[".50"] * 3]]
    assert "-.20" in table


def test_ablate_from_python_compares_each_set_and_all_of_them(study, tmp_path):
    compared = branchwise.ablate(study, out=tmp_path / "S")
    assert [*compared] == ["films", "fan"]
    # Right with two passages, but not with one: 2 of films, 12 of fan.
    assert compared["films"].difference("strict_recall").difference == pytest.approx(-1 / 6)
    assert compared["fan"].difference("strict_recall").difference == pytest.approx(-1 / 4)
    assert repr(compared).count("k=1: strict recall on all questions") == 2
    for shown in (str(compared), compared._repr_html_()):
        assert "2 question sets together" in shown
        assert "mean over sets" in shown


@pytest.mark.long
def test_files_and_json_have_all_sets_together(type_in, study, tmp_path):
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    for option, file in (("--html", "r.html"), ("--markdown", "r.md"), ("--latex", "r.tex")):
        assert type_in("report", tmp_path / "S", option, tmp_path / file)[0] == 0
        text = (tmp_path / file).read_text()
        assert "2 question sets together" in text
        assert "mean over sets" in text
    assert type_in("report", tmp_path / "S", "--csv", tmp_path / "csv")[0] == 0
    assert {path.name for path in (tmp_path / "csv").iterdir()} == {
        "films", "fan", "together.csv", "together-changes.csv", "columns.csv",
    }  # fmt: skip
    code, said, _ = type_in("report", tmp_path / "S", "--json")
    *runs, base, other = json.loads(said)
    assert [(run["set"], run["name"]) for run in runs] == [
        ("films", "base"), ("films", "k=1"), ("fan", "base"), ("fan", "k=1"),
    ]  # fmt: skip
    assert base["sets"] == ["films", "fan"]
    assert base["aggregates"]["strict_em"]["mean"] == pytest.approx(0.7)
    assert base["means_of_sets"]["strict_em"] == pytest.approx((4 / 6 + 3 / 4) / 2)
    [em] = [d for d in other["comparison"]["differences"] if d["metric"] == "strict_em"]
    assert (em["n"], em["lower"], em["higher"], em["test"]) == (10, 2, 0, "McNemar")
    assert em["p"] == pytest.approx(0.5)
    code, said, _ = type_in("score", tmp_path / "S", "--json")
    assert code == 0
    assert len(json.loads(said)) == 4


def test_two_runs_of_the_same_sets_are_compared_by_set(
    type_in, chat_server, corpus, sets, tmp_path
):
    chat_server.play(reply)
    for name, k in (("one", 2), ("two", 1)):
        code, _, _ = type_in(
            "run", *words(chat_server, corpus, sets), "--k", k, "--out", tmp_path / name
        )
        assert code == 0
    assert sorted(path.name for path in (tmp_path / "one" / "runs").iterdir()) == ["fan", "films"]
    code, said, _ = type_in("report", tmp_path / "one", tmp_path / "two", "--json")
    assert code == 0
    assert [(each["name"], each.get("set")) for each in json.loads(said)] == [
        ("one", "films"), ("two", "films"), ("one", "fan"), ("two", "fan"),
        ("one", None), ("two", None),
    ]  # fmt: skip


def test_limits_samples_and_ids_choose_of_each_set(chat_server, make_system, sets, tmp_path, capfd):
    chat_server.play(reply)
    system = make_system()

    def chosen(name: str, **options: Any) -> dict[str, list[str]]:
        made = branchwise.run(sets, system, out=tmp_path / name, **options)
        return {
            run: [question.id for question in open_run(result.path).questions()]
            for run, result in made.runs.items()
        }

    assert chosen("a", limit=1) == {"films": ["films0"], "fan": ["fan10"]}
    drawn = [load_questions(str(path)).sample(2, 5) for path in sets]
    ids = [[question.id for question in part] for part in drawn]
    assert [*chosen("b", sample=2, sample_seed=5).values()] == ids
    assert chosen("c", ids=["fan12", "films3"]) == {"films": ["films3"], "fan": ["fan12"]}
    with pytest.warns(UserWarning, match="nothing is chosen of the set films: it is left out"):
        made = branchwise.run(sets, system, out=tmp_path / "d", ids=["fan12"])
    assert made.state.done == 1
    with pytest.raises(InputError, match="no question of the 2 sets has the id 'nope'"):
        chosen("e", ids=["fan12", "nope"])


def test_from_python_a_list_of_sets_is_a_study_and_a_list_of_rows_is_a_set(
    chat_server, make_system, sets, tmp_path
):
    chat_server.play(reply)
    system = make_system()
    loaded = [load_questions(str(sets[0])), str(sets[1])]
    made = branchwise.run(loaded, system, out=tmp_path / "S", limit=3)
    assert (made.state.done, made.state.failed) == (6, 0)
    scores = made.scores()
    assert {name: own.counts.items for name, own in scores.items()} == {"films": 3, "fan": 3}
    assert "films" in repr(scores)
    assert "<table" in scores._repr_html_()
    assert repr(made).count("3 done") == 2
    assert "Question number 0010" in made.trace("fan10")._repr_html_()
    rows = [*load_questions(str(sets[0]))]
    assert branchwise.run(rows, system, out=tmp_path / "R", limit=2).state.done == 2
    assert not (tmp_path / "R" / STUDY_FILE).exists()
    with pytest.raises(InputError, match="some entries are sets and others are questions"):
        branchwise.run([str(sets[0]), rows[0]], system, out=tmp_path / "X")
    with pytest.raises(InputError, match="name one of its runs"):
        branchwise.score(made)


def test_what_a_set_cannot_have_is_refused_by_its_name_before_anything_is_asked(
    type_in, chat_server, corpus, sets, tmp_path
):
    counting = Counting()
    chat_server.play(counting)
    run = ("run", *words(chat_server, corpus, sets), "--out", tmp_path / "S")
    for more, problem in (
        (("--variant", "subsequence"), "set 'films': the task branches has no variant"),
        (("--shots", "1"), "--shots: set 'films': has no effect"),
        (("--questions", sets[0]), "the sets "),
        (("--questions", tmp_path / "gone.jsonl"), "set 'gone': no such file"),
        (("--field", "answers=a"), "--field: none of the sets has columns"),
    ):
        code, _, error = type_in(*run, *more)
        assert (code, error.count("\n")) == (2, 1), error
        assert problem in error
        assert not (tmp_path / "S").exists()
    assert counting.requests == 0


@pytest.mark.long
def test_a_study_that_is_not_yet_whole_goes_on_by_its_command_alone(
    type_in, chat_server, corpus, sets, tmp_path
):
    chat_server.play(reply)
    run = ("run", *words(chat_server, corpus, sets), "--out", tmp_path / "S")
    assert type_in(*run, "--pilot", "1")[0] == 0
    assert "of each system" in type_in(*run, "--dry-run")[1]
    (tmp_path / "S" / STUDY_FILE).rename(tmp_path / "S" / DRAFT_FILE)
    code, _, error = type_in("resume", tmp_path / "S")
    assert (code, "repeat the command that began it" in error) == (2, True)
    assert type_in(*run)[0] == 0
    counting = Counting()
    chat_server.play(counting)
    assert type_in("resume", tmp_path / "S")[0] == 0
    assert counting.requests == 0
    code, _, error = type_in(*run, "--limit", "2")
    assert (code, "contains another study" in error) == (2, True)
    code, _, error = type_in("merge", tmp_path / "S", tmp_path / "S", "--out", tmp_path / "M")
    assert (code, "name one of its runs" in error) == (2, True)


def test_a_record_whose_system_is_of_no_set_is_refused(type_in, study, tmp_path):
    assert type_in("ablate", study, "--out", tmp_path / "S", "--pilot", "1")[0] == 0
    file = tmp_path / "S" / STUDY_FILE
    record = json.loads(file.read_text())
    record["systems"][0]["set"] = "\x1b[2Jother"
    file.write_text(json.dumps(record))
    for command in ("report", "resume", "score", "verify"):
        code, _, error = type_in(command, tmp_path / "S")
        assert (code, error.count("\n"), "\x1b" in error) == (2, 1, False)
        assert "the system 'base' is of no set" in error


def test_names_of_sets_are_short_and_distinct():
    assert set_names(["ambignq:x/train.json", "W/questions.jsonl", "films.jsonl"]) == [
        "ambignq", "w", "films",
    ]  # fmt: skip
    assert set_names(["a/dev.jsonl", "b/dev.jsonl"]) == ["a", "b"]
    assert set_names(["a/q.jsonl", "b/q.jsonl", "b/q.jsonl"]) == ["a-q", "b-q", "b-q-2"]
    assert set_names(["../..", "\x1b[2J.jsonl", "é" * 90]) == ["set", "2j", "set-2"]


@pytest.mark.long
def test_sets_killed_again_and_again_end_with_the_scores_of_those_that_were_not(
    chat_server, study, corpus, sets, tmp_path, start
):
    killer, moments = Killer(lambda body, _: reply(body)), random.Random(3)
    chat_server.play(killer)
    commands = [("run", *words(chat_server, corpus, sets), "--out", tmp_path / "killed")]
    commands += [("resume", tmp_path / "killed")] * KILLS
    for command in commands[:-1]:
        killer.started.clear()
        process = start(*command)
        killer.aim(process, moments.randint(4, 8))
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
    last = start(*commands[-1])
    killer.aim(last, None)
    assert last.wait() == 0, last.stderr.read()
    sent = len(killer.requests)
    whole = branchwise.run(
        sets,
        branchwise.System(model=f"openai:scripted@{chat_server.url}", corpus=str(corpus), k=K),
        out=tmp_path / "whole",
    )
    killed = StudyFolder.open(tmp_path / "killed")
    assert outcomes(killed) == outcomes(StudyFolder.open(whole.path))
    # Only what was on its way at a kill was asked for again.
    assert sent - (len(killer.requests) - sent) <= KILLS * CONCURRENCY


@pytest.mark.long
def test_a_study_file_of_two_sets_goes_on_by_resume(type_in, study, chat_server, tmp_path):
    assert type_in("ablate", study, "--out", tmp_path / "S", "--pilot", "2")[0] == 0
    assert type_in("resume", tmp_path / "S")[0] == 0
    whole = run_study(StudyDesign.of(load_study(study)), tmp_path / "W").folder
    assert outcomes(StudyFolder.open(tmp_path / "S")) == outcomes(whole)
    counting = Counting()
    chat_server.play(counting)
    assert type_in("ablate", study, "--out", tmp_path / "S")[0] == 0
    assert counting.requests == 0
