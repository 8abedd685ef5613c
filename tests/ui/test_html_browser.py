"""The HTML report in headless Chromium: what it asks for, how it is used, how wide it is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer, WrongAnswer
from branchwise.eval.errors.labels import Label
from branchwise.report.html.page import write_html
from branchwise.report.study_report import QuestionReport, SystemAnswer
from support.needs import needs
from support.ui.chromium import Chromium, find_chromium
from support.ui.hostile import SHOWN, hostile_report
from support.ui.page_reading import words
from support.ui.report_cases import BASE, EXPANDED, EXTRACTED, make_report, two_models

PROGRAM = find_chromium()
pytestmark = needs("Chromium", PROGRAM is not None)
WIDTHS = (360, 1280)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Chromium(PROGRAM, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


class Pages(dict):
    """Addresses of reports by name, each written when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, name: str) -> str:
        path = self.folder / f"{name}.html"
        write_html(REPORTS[name](), path)
        self[name] = path.as_uri()
        return self[name]


REPORTS = {
    "modules": lambda: replace(make_report(), questions=questions()),
    "one": lambda: make_report([BASE]),
    "hostile": hostile_report,
    "models": lambda: make_report(two_models()),
    "many": lambda: replace(make_report(), questions=questions() * 1_200),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return Pages(tmp_path_factory.mktemp("pages"))


def answer(system, recall, **errors):
    found = ItemErrors("q", 0, ambiguous=True, traced=True, **errors)
    metrics = {"strict_precision": 0.5, "strict_recall": recall, "strict_em": float(recall == 1)}
    names = {"1995": ("Mann", "Lucas"), "1986": ("Pacino",)}
    aligned = {"1995": "Heat (1995 film)", "1986": None}
    return SystemAnswer(system, 0, names, aligned, {"1995": ("Mann",)}, metrics, found)


def questions():
    """Three: lost and wrong answers under the base, all right under the others."""
    missing = (
        MissingAnswer("Heat (1995 film)", "Pacino", None, Label.WRONG_BRANCH, under="1986"),
        MissingAnswer("Heat (1995 film)", "Kilmer", None, Label.INCOMPLETE_EXTRACTION),
    )
    wrong = (
        WrongAnswer("1995", "Lucas", Label.UNSUPPORTED_ANSWER),
        WrongAnswer("1986", "Pacino", Label.WRONG_BRANCH, "Heat (1995 film)"),
    )
    lost = answer(
        "base", 0.25, missing=missing, wrong=wrong,
        labels=(Label.INCOMPLETE_EXTRACTION, Label.UNSUPPORTED_ANSWER, Label.WRONG_BRANCH),
    )  # fmt: skip
    gold = {"Heat (1995 film)": ("Mann", "Pacino", "Kilmer")}
    others = [answer(case.name, recall) for case, recall in ((EXPANDED, 1.0), (EXTRACTED, 0.25))]
    first = QuestionReport("q1", "Who is in Heat?", True, gold, {}, (lost, *others))
    plain = replace(first, id="q2", question="Who made Jaws?", ambiguous=False, answers=())
    worse = replace(first, id="q3", answers=(answer("base", 1.0), answer("+expansion", 0.5)))
    return (first, plain, worse)


def listed(browser):
    return browser.run("[...document.querySelectorAll('.about')].map(e => e.innerText)")


def choose(browser, **fields):
    """Fill in the filters as a person does: the text, or the words of an option."""
    return browser.run(f"""(() => {{
      const form = document.getElementById("filters");
      form.reset();
      for (const [name, words] of Object.entries({json.dumps(fields)})) {{
        const field = form.elements[name];
        if (field.options) {{
          field.selectedIndex = [...field.options].findIndex((one) => one.text === words);
          if (field.selectedIndex < 0) throw words;
        }} else field.value = words;
      }}
      form.dispatchEvent(new Event("change"));
    }})()""")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["modules", "one", "hostile"])
def test_a_page_opens_without_complaint_or_request_and_is_no_wider_than_the_screen(
    browser, pages, name, dark, width
):
    browser.open(pages[name], width=width, height=800, dark=dark)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.run("new Promise((done) => setTimeout(done))")
    assert browser.complaints == []
    assert browser.requests == [pages[name]]
    assert browser.run("document.documentElement.scrollWidth") == width
    assert browser.run("document.querySelectorAll('#list details table').length > 0")


def test_hostile_text_runs_nothing_and_shows_as_text(browser, pages):
    browser.open(pages["hostile"])
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.run("new Promise((done) => setTimeout(done))")
    assert browser.run("document.title") == f"{words(SHOWN)} · branchwise"
    assert browser.run("document.querySelectorAll('img, iframe, b[onclick]').length") == 0
    assert browser.run("document.querySelectorAll('script').length") == 2
    table = words(browser.run("document.querySelector('.answers').textContent"))
    for letter in "rmowvku":
        assert words(f"{letter}{SHOWN}") in table
    assert browser.run("({}).polluted === undefined && ({}).x === undefined")


def test_the_policy_stops_a_script_that_gets_into_the_page(browser, pages):
    browser.open(pages["modules"])
    browser.run("""(() => {
      const made = document.createElement("script");
      made.textContent = "document.title = 'broken'";
      document.body.append(made);
      document.body.insertAdjacentHTML("beforeend", "<img src='http://127.0.0.1:9/x'>");
    })()""")
    assert browser.run("document.title") == "modules · branchwise"
    browser.run("new Promise((done) => setTimeout(done, 50))")
    assert any("Content Security Policy" in said for said in browser.complaints)


def test_a_question_shows_gold_and_predicted_answers_side_by_side(browser, pages):
    browser.open(pages["modules"])
    browser.run("document.querySelector('#list details').open = true")
    browser.run("new Promise((done) => setTimeout(done))")
    rows = browser.run("""[...document.querySelectorAll('.answers tr')].map((row) =>
      [...row.cells].map((cell) => cell.innerText))""")
    head, heat, lonely, closing = [[words(cell) for cell in row] for row in rows]
    assert head == ["branch", "gold", "base", "+expansion", "+extraction"]
    assert heat[:2] == ["Heat (1995 film)", "Mann Pacino Kilmer"]
    assert heat[2] == (
        "answered as 1995 ✓ Mann ⇄ Pacino under '1986' ○ Kilmer never retrieved "
        "✗ Lucas nowhere in the evidence"
    )
    assert lonely[2] == "1986 ⇄ Pacino belongs to 'Heat (1995 film)'"
    assert closing[2].startswith("P .50 · R .25 · EM .00 ")
    assert "an answer was never retrieved" in closing[2]
    signs = browser.run("""[...document.querySelectorAll('.answers td .sign')].map((one) =>
      one.getAttribute('aria-label')).slice(0, 4)""")
    assert signs == ["right", "under the wrong branch", "missing", "wrong"]


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({}, ["q1", "q2", "q3"]),
        ({"text": "jaws"}, ["q2"]),
        ({"text": "KILMER"}, ["q1", "q2", "q3"]),
        ({"kind": "ambiguous"}, ["q1", "q3"]),
        ({"error": "an answer was never retrieved"}, ["q1"]),
        ({"error": "an answer was never retrieved", "system": "+expansion"}, []),
        ({"error": "none", "system": "base"}, ["q2", "q3"]),
        ({"change": "higher recall"}, ["q1"]),
        ({"change": "same recall", "system": "+extraction"}, ["q1"]),
        ({"change": "lower recall"}, ["q3"]),
        ({"order": "lowest recall first", "system": "+expansion"}, ["q3", "q1", "q2"]),
        ({"order": "largest change first"}, ["q1", "q3", "q2"]),
    ],
)
def test_filters_choose_questions(browser, pages, fields, ids):
    browser.open(pages["modules"])
    choose(browser, **fields)
    assert [line.split(" ")[0] for line in listed(browser)] == ids
    said = browser.run("document.getElementById('found').textContent")
    assert said.startswith(f"{len(ids)} of 3" if ids else "none of 3")


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        # Strict recall of q1 to q4: gpt 1/3, 1, 1/3, 0, with readings 1, 1, 2/3, 1; qwen as those,
        # with extraction 0, 1/2, 1/3, 0. Of changes as large as each other, gpt's is the first.
        ({"change": "higher recall"}, ["q3", "q4"]),
        ({"change": "higher recall", "system": "gpt, +expansion"}, ["q1", "q3", "q4"]),
        ({"change": "lower recall", "system": "qwen, +extraction"}, ["q1", "q2", "q3", "q4"]),
        ({"change": "same recall", "system": "qwen"}, []),
    ],
)
def test_a_change_is_against_the_base_of_the_same_model(browser, pages, fields, ids):
    browser.open(pages["models"])
    choose(browser, **fields)
    assert [line.split(" ")[0] for line in listed(browser)] == ids


def test_thousands_of_questions_are_listed_a_page_at_a_time(browser, pages):
    browser.open(pages["many"])
    assert browser.run("document.getElementById('found').textContent").startswith("3,600 of 3,600")
    assert len(listed(browser)) == 25
    before = browser.run("document.querySelectorAll('*').length")
    browser.run("document.getElementById('more').click()")
    assert len(listed(browser)) == 50
    assert browser.run("document.querySelectorAll('*').length") - before < 25 * 20
    choose(browser, kind="unambiguous", text="jaws")
    assert browser.run("document.getElementById('found').textContent").startswith("1,200 of 3,600")


def test_the_button_changes_between_light_and_dark_and_is_remembered(browser, pages):
    def colour():
        return browser.run("getComputedStyle(document.body).backgroundColor")

    browser.open(pages["modules"], dark=True)
    dark = colour()
    browser.open(pages["modules"])
    light = colour()
    assert light == "rgb(255, 255, 255)" != dark
    browser.run("document.getElementById('theme').click()")
    assert colour() == dark
    browser.open(pages["modules"])
    assert colour() == dark
    browser.media("print")
    assert colour() == light
    browser.media("screen")
    browser.run("document.getElementById('theme').click()")
    assert colour() == light
