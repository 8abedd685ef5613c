"""A scored run is saved and reused; whatever it was made from, a change makes it anew."""

import shutil
from pathlib import Path

import orjson
import pytest

from branchwise import resume, run
from branchwise.runs.costs.prices import Prices
from branchwise.runs.scoring import saved, score
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store import DamagedError, RunReader
from support.chat_server import search_then_answer
from support.rooms import ROOMS
from support.stores import damage, execute

pytestmark = pytest.mark.slow

READS = ScoringSettings(saves=False)
ANEW = ScoringSettings(saves=False, reuses=False)


def as_bytes(scored):
    options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(scored.to_json(), option=options)


@pytest.fixture
def made(chat_server, make_system, question_file, tmp_path) -> Path:
    """A run of three questions in two epochs, scored."""
    chat_server.play(search_then_answer)
    base = run(str(question_file(3)), make_system(), out=tmp_path / "base", epochs=2)
    score_answers(base)
    return base.path


@pytest.fixture
def scorings(monkeypatch) -> list[int]:
    """Gets one more number whenever items are scored."""
    counted: list[int] = []
    score_items = score.score_items

    def counting(*args, **kwargs):
        counted.append(1)
        return score_items(*args, **kwargs)

    monkeypatch.setattr(score, "score_items", counting)
    return counted


def test_it_is_reused_to_the_last_digit(made, scorings, type_in):
    reused = score_answers(made, READS)
    assert not scorings
    # Errors of items are in no summary: they are read again, which scores the items.
    assert as_bytes(reused) == as_bytes(score_answers(made, ANEW))
    scorings.clear()
    printed = type_in("report", made)
    assert not scorings
    assert type_in("score", made)[:2] == printed[:2]
    assert not scorings
    read = saved.SavedScores.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score.SavedScores, "read", lambda body: read(b"{}"))
        assert type_in("report", made) == printed
    assert scorings
    scorings.clear()
    assert type_in("report", made, "--full")[0] == 0
    assert not scorings
    by = type_in("report", made, "--by", "answers,calls")
    assert not scorings
    score_answers(made, ScoringSettings(reuses=False))
    assert type_in("report", made, "--by", "answers,calls") == by
    scorings.clear()
    errors = type_in("errors", made, "--json")
    assert not scorings
    execute(made, "DELETE FROM item_errors WHERE item = 1")
    assert type_in("errors", made, "--json") == errors
    assert scorings


def test_the_page_is_made_of_it_without_reading_traces(made, scorings, type_in, monkeypatch):
    page = made.parent / "page.html"

    def made_again() -> bytes:
        assert type_in("report", made, "--html", page)[0] == 0
        return page.read_bytes()

    with monkeypatch.context() as patch:
        patch.setattr(RunReader, "events", None)
        saved = made_again()
    assert not scorings
    monkeypatch.setattr(score, "_reused", lambda *_: None)
    assert made_again() == saved
    assert scorings


def test_items_that_are_not_those_that_were_saved_are_scored_anew(made, scorings, monkeypatch):
    analysis = score_answers(made, READS).analysis
    monkeypatch.setattr(score, "best_gold_sets", lambda _, items: items[:-1])
    assert not scorings
    assert len(analysis.answered) == 6
    assert scorings


def test_a_change_in_any_room_that_scoring_runs_makes_saved_scores_stale():
    below = ROOMS[ROOMS.index("runs") :]
    # A world is made before its corpus is: no score of a run depends on how.
    assert set(saved._SCORED_BY) == set(below) - {"worlds"}


CHANGES = {
    "an outcome": "UPDATE items SET outcome = CAST(replace(CAST(plain(outcome) AS TEXT), "
    "'number 0001', 'number 0002') AS BLOB) WHERE item = 1",
    "gold": "UPDATE questions SET body = CAST(replace(CAST(plain(body) AS TEXT), "
    "'number 0002', 'number 0001') AS BLOB)",
    "a trace": "DELETE FROM events WHERE item = 1 AND seq > 3",
    "an item": "UPDATE items SET status = 'failed' WHERE item = 1",
    "settings": "UPDATE meta SET value = '\"elsewhere\"' WHERE key = 'source'",
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_the_store_is_scored_anew(made, scorings, what):
    execute(made, CHANGES[what])
    scored = score_answers(made, READS)
    assert scorings
    assert as_bytes(scored) == as_bytes(score_answers(made, ANEW))


def test_a_change_of_how_it_is_scored_is_scored_anew(made, scorings, tmp_path, monkeypatch):
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  openai:scripted: {input: 1, output: 2}\n")
    changed = {
        "prices": ScoringSettings(saves=False, prices=Prices.load(prices)),
        "passages": ScoringSettings(saves=False, read_passages=True),
    }
    for what, settings in changed.items():
        scorings.clear()
        score_answers(made, settings)
        assert scorings, what
    scorings.clear()
    monkeypatch.setattr(saved, "_code_digest", lambda: "of another version")
    score_answers(made, READS)
    assert scorings


def test_what_is_settled_by_others_is_not_saved(made, scorings, tmp_path):
    metric = tmp_path / "m.py"
    metric.write_text(
        "from branchwise import metric\n\n\n@metric\ndef one(item):\n"
        '    """One."""\n    return 1.0\n'
    )
    with_metric = ScoringSettings(saves=True, metrics=(f"{metric}:one",))
    for _ in range(2):
        scorings.clear()
        assert "one" in score_answers(made, with_metric).scores.items[0].metrics
        assert scorings


def test_resuming_a_run_that_has_ended_reads_what_was_saved(made, scorings, type_in):
    before = (made / "run.sqlite").read_bytes()
    assert resume(made).state.done == 6
    assert type_in("resume", made)[0] == 0
    assert not scorings
    assert (made / "run.sqlite").read_bytes() == before


def test_a_copy_reuses_it_and_a_damaged_one_is_refused(made, scorings, tmp_path):
    copy = shutil.copytree(made, tmp_path / "copy")
    score_answers(copy, READS)
    assert not scorings
    damage(copy, "UPDATE scored_runs SET body = X'7B7D'")
    with pytest.raises(DamagedError):
        score_answers(copy, READS)
