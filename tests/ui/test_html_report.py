"""The HTML report as a file: its numbers, its policy, and hostile text in it."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.matcher import Agreement, Disagreement
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.report.html.page import render_html
from branchwise.report.study_report import SystemReport, study_report
from support.ui.hostile import SHOWN, hostile_report
from support.ui.page_reading import Page, words
from support.ui.report_cases import (
    BASE,
    EXPANDED,
    EXTRACTED,
    Case,
    factorial,
    make_report,
    two_models,
)

pytestmark = pytest.mark.slow

SCORES = "Results: answer sets"


@pytest.fixture(scope="module")
def page():
    return Page(render_html(make_report()))


def test_the_summary_says_each_change_with_its_interval_and_what_it_costs():
    told = words(Page(render_html(make_report([BASE, EXPANDED]))).text)
    lost = "+extraction: 1 of 4 items failed; each is 0."
    assert lost in words(Page(render_html(make_report([BASE, EXTRACTED]))).text)
    # By hand: changes of 2/3 and 1/3; t(.975, 1) = 12.71; two of four sign vectors are as extreme.
    change = "strict recall on ambiguous questions +.50 [-1.62, 2.62] (p = .500, n = 2)"
    assert f"+expansion: {change}, cost ×2.00" in told
    assert "5 of 9 gold answers are missing: 60% left out by the agent, 40% never retrieved" in told


def test_a_factorial_study_begins_with_what_its_factors_are_worth() -> None:
    told = words(Page(render_html(make_report(factorial()))).text)
    # Of q1 and q3, by hand: 5/6 and 1/3 with t(.975, 1) = 12.71.
    effect = "+expansion: strict recall on ambiguous questions +.58 [-2.59, 3.76] (p = 1 after Holm"
    assert told.index(effect) < told.index("base is the base that the others are compared with")
    assert told.index(effect) < told.index("Against it, question by question")
    # Further metrics stand with the effects alone.
    assert told.count("strict precision on ambiguous questions") == 2


def test_the_summary_says_once_what_holds_of_all() -> None:
    gold = tuple((f"q{n}", {"default": ["Mann"]}, 2) for n in range(3))
    cases = [Case(name, {}, {"Mann": 1}) for name in ("base", "one", "two")]
    report = make_report(cases, questions=gold)
    told = words(Page(render_html(report)).text)
    same = "Strict P, strict R and strict EM are the same for every question."
    assert told.count(same) == 1
    summary = told.partition("How to read this")[0]
    assert "strict recall" in summary
    assert "strict precision" not in summary
    assert "strict EM ." not in summary


def test_generated_questions_are_not_passed_off_as_the_benchmarks():
    meta = {"benchmark": "deepambigqa", "generated": True}
    text = words(Page(render_html(make_report([BASE], meta=meta))).text)
    assert "generated in the form of deepambigqa" in text
    assert "The questions of this report are not the paper's" in text
    own = words(Page(render_html(make_report([BASE], meta={"benchmark": "deepambigqa"}))).text)
    assert "generated in" not in own


def test_a_task_whose_answers_are_sentences_has_its_own_metrics():
    task = get_task("condambigqa")
    gold = (Branch(name="if cold", answers=(Answer(text="ice"),)),)
    questions = [
        Question(id=f"q{n}", question="?", ambiguous=True, branches=gold) for n in range(2)
    ]
    said = Prediction(answers={"cold": ("ice",)})
    scores = score_items(task, [AnsweredItem(question, said) for question in questions])
    run = replace(make_report().systems[0].run, scores=scores, analysis=None)
    report = study_report(
        "c", [SystemReport("a", run), SystemReport("b", run)], questions, "condambigqa:f"
    )
    page = Page(render_html(report))
    shown = {heading for table in page.tables.values() for heading in table[0]}
    assert {"answer F1", "condition F1", "answers +/-", "answers off by"} <= shown
    assert "The answers of this task are sentences" in words(page.text)


def test_nothing_in_the_page_points_outside(page):
    assert {tag for tag, _ in page.elements} & {"iframe", "object", "embed", "img", "base"} == set()
    assert page.attribute("src") == []
    for address in page.attribute("href"):
        assert address.startswith("#") or address == "data:,"
    assert not re.search(r"url\(|@import|https?:", "".join(page.styles))


def test_the_policy_allows_the_page_s_own_style_and_script_alone(page):
    metas = [found for tag, found in page.elements if tag == "meta"]
    policy = next(m["content"] for m in metas if m.get("http-equiv"))
    (script,) = [text for kind, text in page.scripts if "type" not in kind]
    (style,) = page.styles

    def allowed(text):
        return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src {allowed(style)}",
        f"script-src {allowed(script)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert page.attribute("style") == []


def test_hostile_text_is_text_everywhere():
    html = render_html(hostile_report())
    page = Page(html)
    tags = [tag for tag, _ in page.elements]
    harmless = Page(render_html(make_report([BASE, EXPANDED])))
    assert set(tags) <= {tag for tag, _ in harmless.elements}
    assert len(page.scripts) == 2
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    title = words(page.text.split(" · branchwise")[0])
    assert title == words(SHOWN)
    assert page.text.count("{{ 7 * 7 }}") > 20
    assert all(c.isprintable() or c == "\n" for c in html.replace("\xad", ""))
    html.encode()


def test_hostile_questions_come_back_as_they_are_shown():
    page = Page(render_html(hostile_report()))
    (data,) = [text for kind, text in page.scripts if kind.get("type") == "application/json"]
    assert not set("<>&\u2028") & set(data)
    first, odd = json.loads(data)["questions"]
    assert first["i"] == words(SHOWN)
    assert first["q"] == words(f"q{SHOWN}")
    (answer,) = first["s"]
    (branch,) = answer["b"]
    assert branch["r"] == [words(f"r{SHOWN}")]
    assert [text for text, *_ in branch["m"]] == [words(f"m{SHOWN}"), words(f"o{SHOWN}")]
    assert [text for text, *_ in branch["w"]] == [words(f"w{SHOWN}")]
    assert answer["u"][0][0] == words(f"u{SHOWN}")
    assert [name for name, _ in odd["g"]] == ["__proto__", "constructor", "toString"]


def test_endless_answers_are_cut_and_counted():
    report = hostile_report()
    (one, _), texts = report.questions, tuple(f"t{n} " + "y" * 10_000 for n in range(1_000))
    gold = {"default": texts}
    answer = replace(
        one.answers[0], answers=gold, aligned={"default": "default"}, right=gold, errors=None
    )
    report = replace(report, questions=(replace(one, gold=gold, answers=(answer,)),))
    (data,) = [t for k, t in Page(render_html(report)).scripts if "type" in k]
    (branch,) = json.loads(data)["questions"][0]["s"][0]["b"]
    assert len(branch["r"]) == 201
    assert branch["r"][-1] == "… and 800 more"
    assert max(map(len, branch["r"])) == 400


def test_each_model_has_a_base_that_its_systems_are_compared_with():
    report = make_report(two_models())
    page = Page(render_html(report))
    text = words(page.text)
    assert "The systems of each model are compared with that model's base. gpt reaches:" in text
    assert "qwen reaches:" in text
    assert "Against the base of the same model, question by question:" in text
    assert "Changes against the base of the same model" in page.tables


def test_agreement_of_the_matchers_is_shown_where_both_were_asked(page):
    assert "Agreement of the matchers" not in page.tables
    report = make_report([BASE])
    base = report.systems[0]
    # By hand: observed 9/10; by chance .4 x .3 + .6 x .7 = .54; kappa (.9 - .54) / .46 = .78.
    agreed = Agreement(3, 1, 0, 6, 4, (Disagreement("q1", 0, {"a": "b"}, {"a": None}),))
    run = replace(
        base.run, settled=replace(base.run.settled, agreement=agreed), lexical=base.run.scores
    )
    found = Page(render_html(replace(report, systems=(replace(base, run=run),))))
    assert found.tables["Agreement of the matchers"][1] == [
        "base", "4", "10", ".90", ".78", "3", "1", "0", "6", "1",
    ]  # fmt: skip
    assert len(found.tables[f"{SCORES} · base"]) == 1 + 3 * 2
