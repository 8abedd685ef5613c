"""A run over questions with alternatives: everything that shows an item speaks of one gold set."""

import asyncio
import json

import pytest

from branchwise import score
from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.report.study_report import analysed_answer, question_report
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.store.results import save_scores
from branchwise.ui.traces.plain import markdown
from branchwise.ui.traces.runs import RunView
from support.chat_server import say
from support.eval.judging_cases import KEY, by_name, make_run
from support.eval.scoring_cases import branches

NIGHTS = {"the short film": ["1987"], "the whole night": ["1989"]}
PARTS = {"Heat (1986 film)": ["Reynolds"], "Heat (1995 film)": ["Pacino"]}
ONE = {"default": ["1989"]}


def question(id, *gold_sets):
    first, *others = map(branches, gold_sets)
    return Question(id=id, question=f"{id}?", branches=first, alternatives=tuple(others))


def an_item(question, answers):
    return AnsweredItem(question, Prediction(answers=answers))


ITEMS = [
    # By names the single answer suits best; with what the model says, the films do.
    an_item(
        question("q0", PARTS, {"default": ["Pacino"]}),
        {"the early one": ["Reynolds"], "of Pacino": ["Pacino"]},
    ),
    an_item(question("q1", NIGHTS, ONE), {"default": ["1989"]}),
    an_item(question("q2", ONE), {"default": ["1987"]}),
]
RIGHT = by_name({"the early one": "Heat (1986 film)", "of Pacino": "Heat (1995 film)"})


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    make_run(tmp_path / "R", ITEMS)
    return tmp_path / "R"


def chosen(scores):
    return {row.id: row.gold_set for row in scores.items}


def test_scores_errors_and_ceilings_are_of_the_same_gold_set(run):
    scored = score_answers(run)
    assert chosen(scored.scores) == {"q0": 1, "q1": 1, "q2": None}
    for errors in scored.analysis.item_errors:
        assert errors.gold_set == chosen(scored.scores)[errors.id]
    (films, night, _) = scored.analysis.item_errors
    assert [wrong.text for wrong in films.wrong] == ["Reynolds"]
    assert ([b.name for b in night.branches], night.missing, night.wrong) == (["default"], (), ())
    ceilings = {row.id: row for row in scored.analysis.ceilings.items}
    assert {id: row.gold_set for id, row in ceilings.items()} == chosen(scored.scores)
    assert ceilings["q1"].metrics["strict_recall"] == 1
    kept = json.loads(json.dumps(scored.to_json()))
    assert [row.get("gold_set") for row in kept["analysis"]["items"]] == [1, 1, None]


def test_a_view_shows_what_was_scored_whether_it_was_saved_or_not(run):
    def shown():
        with RunView.open(run) as view:
            traces = [view.trace(row) for row in range(view.count)]
            return [
                (trace.gold_set, trace.branches, view.line(row).scores)
                for row, trace in enumerate(traces)
            ]

    before = shown()
    score(run)
    assert shown() == before
    films, night, alone = before
    assert films[0] == night[0] == "gold: alternative 1 of 2 gold sets"
    assert alone[0] == ""
    assert [branch.name for branch in night[1]] == ["default"]
    assert (films[2], night[2]) == ((0.5, 1, 0), (1, 1, 1))
    with RunView.open(run) as view:
        assert "gold: alternative 1 of 2 gold sets" in markdown(view.trace(1), "R")


def test_a_saved_score_of_another_gold_set_is_what_a_view_shows(run):
    saved = score(run)
    rows = [row | {"gold_set": 0} for row in saved.to_json()["items"]]
    save_scores(run, saved.digest, saved.to_json() | {"items": rows})
    with RunView.open(run) as view:
        assert view.trace(1).gold_set == "gold: the first gold set of 2 gold sets"
    for damage in (7, -1, "x", [0]):
        save_scores(
            run, saved.digest, saved.to_json() | {"items": [r | {"gold_set": damage} for r in rows]}
        )
        with RunView.open(run) as view:
            assert view.trace(1).gold_set == "gold: alternative 1 of 2 gold sets"


def test_commands_say_which_gold_set(run, type_in):
    _, told, _ = type_in("errors", run)
    assert "q0 (scored against alternative 1)  q0?" in told
    _, told, _ = type_in("score", run)
    assert "2 of 3 questions have alternative gold answers" in " ".join(told.split())
    _, told, _ = type_in("trace", run, "--print", "--question", "q1")
    assert told.splitlines()[-2:] == [
        "gold: alternative 1 of 2 gold sets",
        "          default: 1989",
    ]
    _, told, _ = type_in("score", run, "--json")
    found = json.loads(told)
    assert [one.get("gold_set") for one in found["items"]] == [1, 1, None]
    assert [one.get("gold_set") for one in found["analysis"]["items"]] == [1, 1, None]
    _, told, _ = type_in("report", run, "--latex", "-")
    assert "2 of 3 questions have alternative gold answers" in " ".join(told.split())


def test_a_question_report_has_all_gold_sets_and_says_which_answers_stand_beside(run):
    analysis = score_answers(run).analysis
    pairs = zip(analysis.items, analysis.item_errors, strict=True)
    answers = [analysed_answer("R", one.item, one.metrics, errors) for one, errors in pairs]
    found = [
        question_report(item.question, [answer]).to_json()
        for item, answer in zip(ITEMS, answers, strict=True)
    ]
    assert found[1]["gold"] == NIGHTS
    assert found[1]["alternatives"] == [ONE]
    assert found[1]["answers"][0]["gold_set"] == 1
    assert found[1]["answers"][0]["aligned"] == {"default": "default"}
    assert "alternatives" not in found[2]
    assert "gold_set" not in found[2]["answers"][0]


@pytest.mark.slow
def test_a_page_has_the_branches_of_all_gold_sets_and_answers_beside_one(run, type_in, tmp_path):
    type_in("report", run, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "2 with alternative gold answers" in page
    start = page.index('{"systems"')
    data, _ = json.JSONDecoder().raw_decode(page[start:])
    asked = {one["i"]: one for one in data["questions"]}
    night = asked["q1"]
    assert [name for name, _ in night["g"]] == [*NIGHTS, "alternative 1: default"]
    assert night["s"][0]["b"] == [{}, {}, {"k": ["default"], "r": ["1989"]}]
    assert (night["o"], night["s"][0]["x"]) == (2, ["scored against alternative 1"])
    assert "o" not in asked["q2"]


async def test_a_model_aligns_by_every_gold_set_and_the_best_is_chosen_then(run, chat_server):
    chat_server.play(lambda body: say(RIGHT(body)))
    choice = ScoringChoice.parse(f"both:openai:scripted@{chat_server.url}")
    scored = await asyncio.to_thread(score_answers, run, ScoringSettings(choice))
    assert chosen(scored.scores) == {"q0": 0, "q1": 1, "q2": None}
    assert chosen(scored.lexical) == {"q0": 1, "q1": 1, "q2": None}
    exact = {row.id: row.metrics["strict_em"] for row in scored.scores.items}
    by_names = {row.id: row.metrics["strict_em"] for row in scored.lexical.items}
    assert (exact["q0"], by_names["q0"]) == (1, 0)
    assert len(chat_server.requests) == 1
    assert scored.analysis.item_errors[0].missing == ()
