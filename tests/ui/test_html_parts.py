"""What the HTML report's figures and words are computed from."""

import importlib.resources
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.bootstrap import Aggregate
from branchwise.report.figures.cost import (
    CALLS,
    COST,
    TOKENS,
    Point,
    pareto_front,
    ratio_words,
    spending,
)
from branchwise.report.figures.drawing import paper_style
from branchwise.report.figures.lines import Lines, Series, draw_lines
from branchwise.report.html.figures import figures, inlined
from branchwise.report.html.summary import verdict
from branchwise.report.html.tables import short, shown
from support.ui.report_cases import BASE, EXPANDED, EXTRACTED, make_report

JOINERS = "\u200c\u200d\u00ad"


@given(st.text(alphabet=st.characters(), max_size=50))
def test_shown_text_has_nothing_that_steers(text):
    seen = shown(text)
    assert all(c.isprintable() or c in JOINERS for c in seen)
    assert shown(seen) == seen
    seen.encode()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\x1b[31m\x07", "a␛[31m␇"),
        ("\u202eabc\u2069", "⟨U+202E⟩abc⟨U+2069⟩"),
        ("half \ud800", "half \ufffd"),
        ("a\u00a0b\u2028c", "a b c"),
        ("नम\u200dस्ते العربية", "नम\u200dस्ते العربية"),
    ],
)
def test_invisible_characters_become_visible(text, seen):
    assert shown(text) == seen


def test_short_text_is_cut_with_an_ellipsis():
    assert short("a  b\nc", 5) == "a b c"
    assert short("abcdef", 5) == "abcd…"
    assert short("x" + " " * 100 + "y", 5).endswith("…")


def spent(index, cost, recall):
    return Point(index, f"s{index}", cost, Aggregate(recall, 9, None, None))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_every_system_is_on_the_front_or_beaten_by_one_that_is(pairs):
    systems = [spent(i, cost, recall / 5) for i, (cost, recall) in enumerate(pairs)]
    front = pareto_front(systems)
    for one in systems:
        beaten = any(
            other.spent <= one.spent
            and other.value >= one.value
            and (other.spent, other.value) != (one.spent, one.value)
            for other in front
        )
        assert (one in front) != beaten


def test_spending_is_in_the_unit_that_all_have():
    assert spending(make_report([BASE, EXPANDED])) is COST
    assert spending(make_report([BASE, EXTRACTED])) is TOKENS
    free = [case.__class__(**{**vars(case), "tokens": 0}) for case in (BASE, EXPANDED)]
    report = make_report(free)
    assert spending(report) is CALLS
    assert ratio_words(report, report.systems[1]) == "model calls ×1.33"  # four calls for three


def test_a_verdict_needs_a_small_p_after_correction():
    found = make_report([BASE, EXPANDED]).comparisons["+expansion"].find("strict_recall")
    changed = {"higher": 5, "lower": 1, "difference": 0.1}

    def judged(**values):
        return verdict(found.__class__(**{**vars(found), **changed, **values}))

    assert judged(p=0.01, p_holm=None) == "better"
    assert judged(p=0.01, p_holm=0.04, difference=-0.1) == "worse"
    assert judged(p=0.01, p_holm=0.05) == "unclear"
    assert judged(p=1.0, p_holm=1.0, higher=0, lower=0, difference=0.0) == "same"
    assert judged(difference=None) == "none"


HOSTILE = "<b>a & $b$</b>"


@pytest.fixture(scope="module")
def drawings():
    """Figures of a report of two systems, one with a hostile name, by title."""
    report = make_report([BASE, replace(EXPANDED, name=HOSTILE)])
    return {one.title: one.drawing for of in figures(report).values() for one in of}


def titles(root):
    return [one.text for one in root.iter("title")]


@pytest.mark.slow
def test_what_a_figure_draws_is_told_where_a_pointer_rests(drawings):
    changed = "ambiguous questions: +.50 [-1.62, 2.62]"
    for title, mark in {
        # By hand: of 6 gold answers of ambiguous questions and 3 of the others, 4 are right.
        "Where the gold answers are": "base: right: 4 of 9 (44%)",
        "Strict recall: change against the base": f"{HOSTILE}, {changed}",
        "Strict recall against steps": "base, 2: .67 [.33, 1.00]",
        "Errors on unambiguous questions": "base: incorrect reasoning: 1 of 1 that are not exact "
        "(100%), 1 of all 2 (50%)",
        "Ambiguous questions": "base, answered: .33 [.33, .33]",
    }.items():
        found = titles(ElementTree.fromstring(drawings[title]))
        assert mark in found, (title, found)
        assert found[0] == title


def test_each_mark_of_a_line_has_a_title_of_its_own():
    means = [(Aggregate(0.1 * n, n, None, None), n) for n in (9, 5, 4, 7)]
    lines = Lines("x", "X", "x", "y", ("1", "2", "3", "4"), (Series(0, "s", tuple(means)),), "")
    with paper_style():
        drawn = ElementTree.fromstring(inlined(draw_lines(lines), "r", "t", "d"))
    marks = [one.findtext("title") for one in drawn.iter("use") if one.find("title") is not None]
    alone = [one.findtext("title") for one in drawn.iter("g") if one.find("title") is not None]
    assert [*map(str.strip, marks)] == ["s, 1: .90", "s, 2: .50", "s, 4: .70"]
    assert [*map(str.strip, alone)] == ["s, 3: .40"]


def test_figures_have_the_page_s_colours_and_refer_to_themselves_alone(drawings):
    ids = []
    for title, drawing in drawings.items():
        assert not re.search("#[0-9a-f]{6}|rgb|style=|http", drawing), title
        own = re.findall(r'\bid="([^"]+)"', drawing)
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', drawing)) <= set(own)
        ids += own
    assert len(ids) == len(set(ids))
    styles = importlib.resources.files("branchwise.report.html") / "styles"
    known = set(re.findall(r"(--\w+): ", (styles / "colours.css").read_text(encoding="utf-8")))
    assert set(re.findall(r"var\((--\w+)\)", "".join(drawings.values()))) <= known
