"""What is said of lost answers without support wherever a run is shown: by the command line."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise.runs.scoring import score
from branchwise.ui.trace_app.app import OpenQuestion, TraceApp
from branchwise.ui.traces.runs import RunView
from support.chat_server import ChatServer, call, say
from support.ui.trace_app.screen_text import screen_text

pytestmark = pytest.mark.slow

TypeIn = Callable[..., tuple[int, str, str]]
GOLD = ("1973", "1981", "Ann Lee", "Bo Diaz", "Cy Odum")
"""In an album's date; in the act asked about; in a passage that is not found; nowhere, twice."""
PASSAGES = {
    "act": ("Pine Act", "The Pine Act was passed in 1981."),
    "album": ("The Long Road", "An album of 1973, passed over by all critics."),
    "lee": ("Harbour", "Ann Lee swam there, and for years nobody passed her by on a day of wind."),
    "odum": ("Valley", "Nobody lives in it."),
}
NOTHING = say(json.dumps({"reasoning": "", "answers": {"default": []}}))


@pytest.fixture
def told(chat_server: ChatServer, tmp_path: Path, type_in: TypeIn) -> Path:
    """A run over the passages that found two of them and answered nothing."""
    lines = [json.dumps({"id": id, "title": t, "text": x}) for id, (t, x) in PASSAGES.items()]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    question = {"id": "q", "question": "When was the Pine Act passed?", "answers": GOLD}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))
    for command in (
        ["corpus", "build", "--from", tmp_path / "p.jsonl", "--out", tmp_path / "C"],
        ["corpus", "index", tmp_path / "C", "--kind", "bm25"],
    ):
        assert type_in(*command)[0] == 0
    chat_server.play([call("local_retriever", query="passed", k=2), NOTHING])
    model = f"openai:scripted@{chat_server.url}"
    asked = ["--questions", tmp_path / "q.jsonl", "--corpus", tmp_path / "C", "--model", model]
    code, _, err = type_in("run", *asked, "--out", tmp_path / "R")
    assert code == 0, err
    return tmp_path / "R"


def test_errors_and_the_trace_say_of_each_answer_where_it_was_lost(told, type_in):
    said = {
        "1973": "mentioned, perhaps not stated · step 2 [album]",
        "1981": "left out by the agent · step 2 [act]",
        "Ann Lee": "never retrieved · named in the corpus: [lee]",
        "Bo Diaz": "not in the corpus",
    }
    for command in (["errors", told], ["trace", told, "--print", "--question", "q"]):
        code, out, err = type_in(*command)
        assert code == 0, err
        words = " ".join(out.split())
        for name, why in said.items():
            assert f"{name} {why}" in words or f"{name}: {why}" in words, (command, name, out)
    ranked = "Ann Lee: never retrieved · named in the corpus: [lee], rank 3 at best in 1 search"
    assert ranked in words
    code, out, _ = type_in("errors", told, "--label", "not in the corpus", "--json")
    missing = {one["text"]: one for one in json.loads(out)["missing"]}
    assert {name: one["label"] for name, one in missing.items()} == {
        "1973": "perhaps_stated", "1981": "incorrect_reasoning", "Ann Lee": "incomplete_extraction",
        "Bo Diaz": "not_in_corpus", "Cy Odum": "not_in_corpus",
    }  # fmt: skip
    assert missing["Ann Lee"]["in_corpus"] == "lee"


def test_reports_say_first_what_the_corpus_lacks_and_what_is_an_upper_bound(
    told: Path, tmp_path: Path, type_in: TypeIn
) -> None:
    absent = "40% of gold is nowhere in this corpus (mean over questions)"
    lost = (
        "5 of 5 gold answers missing: 40% not in the corpus, 20% left out by the agent, "
        "20% mentioned, perhaps not stated, 20% never retrieved"
    )
    bound = "Mentioned, perhaps not stated, is an upper bound"
    files = ["--html", tmp_path / "r.html", "--csv", tmp_path / "tables"]
    assert type_in("report", told, *files)[0] == 0
    for command in (["report", told], ["score", told], ["report", told, "--full"]):
        code, out, err = type_in(*command)
        assert code == 0, err
        words = " ".join(out.split())
        assert words.startswith(f"R: {absent}"), out
        assert bound in words
        assert lost in words or "--full" in command
    page = (tmp_path / "r.html").read_text("utf-8")
    assert all(said in page for said in (absent, bound, "not in the corpus"))
    with (tmp_path / "tables" / "missing.csv").open(encoding="utf-8", newline="") as stream:
        row = next(csv.DictReader(stream))
    kinds = ("left_out", "perhaps_stated", "never_retrieved", "not_in_corpus")
    assert [row[f"missing_{kind}"] for kind in kinds] == ["1", "1", "1", "2"]


def test_a_corpus_is_read_for_the_first_score_and_not_again(told, tmp_path, type_in):
    (kept,) = (tmp_path / "C" / "mentions").iterdir()
    told_before = type_in("report", told, "--json")[1]
    kept.unlink()
    # What is kept with the run serves it; what is kept with the corpus serves other runs.
    assert type_in("report", told, "--json")[1] == told_before
    assert not kept.exists()


async def test_the_app_says_how_high_the_searches_rank_what_was_never_retrieved(told: Path) -> None:
    with RunView.open(told) as view:
        app = TraceApp([view], start=OpenQuestion("q"))
        async with app.run_test(size=(160, 50)) as pilot:
            await pilot.pause()
            for _ in range(3):  # 1973, 1981, Ann Lee
                await pilot.press("m")
            await app.workers.wait_for_complete()
            await pilot.pause()
            said = (
                "Ann Lee: never retrieved · named in the corpus: [lee], rank 3 at best in 1 search"
            )
            assert said in screen_text(app)
            assert "never retrieved: Ann Lee" in screen_text(app)
            assert f"[lee] {PASSAGES['lee'][0]}" in screen_text(app)
            await pilot.press("up")
            assert "never retrieved: Ann Lee" not in screen_text(app)


def test_support_that_the_corpus_lacks_is_not_in_it_whatever_else_mentions_the_answer(
    chat_server: ChatServer, told: Path, tmp_path: Path, type_in: TypeIn
) -> None:
    supported = {"1981": ["gone"], "Ann Lee": ["lee"], "Bo Diaz": ["gone", "odum"]}
    answers = [{"text": text, "support": ids} for text, ids in supported.items()]
    branches = [{"name": "default", "answers": answers}]
    question = {"id": "q", "question": "Who?", "branches": branches}
    (tmp_path / "s.jsonl").write_text(json.dumps(question))
    chat_server.play([call("local_retriever", query="passed", k=2), NOTHING])
    model = f"openai:scripted@{chat_server.url}"
    asked = ["--questions", tmp_path / "s.jsonl", "--corpus", tmp_path / "C", "--model", model]
    code, out, err = type_in("run", *asked, "--out", tmp_path / "S")
    assert code == 0, err
    assert "S: 33% of gold is nowhere in this corpus" in out
    missing = json.loads(type_in("errors", tmp_path / "S", "--json")[1])["missing"]
    assert [(one["text"], one["label"], one["in_corpus"]) for one in missing] == [
        ("1981", "not_in_corpus", None),
        ("Ann Lee", "incomplete_extraction", "lee"),
        ("Bo Diaz", "incomplete_extraction", "odum"),
    ]
    assert missing[0]["mentioned"] == 1


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No corpus is read unless someone asks for it."""
    monkeypatch.setattr(score, "QUICKLY", 0.0)


def test_what_was_read_on_request_is_shown_from_then_on(unhurried, told, type_in):
    assert "nowhere in this corpus" not in type_in("report", told)[1]
    assert "Bo Diaz  never retrieved\n" in type_in("errors", told)[1]
    assert "nowhere in this corpus" in type_in("score", told, "--scan-corpus")[1]
    assert "nowhere in this corpus" in type_in("report", told)[1]
    assert "Bo Diaz  not in the corpus\n" in type_in("errors", told)[1]
