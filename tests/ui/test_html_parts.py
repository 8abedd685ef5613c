"""What the HTML report's figures and words are computed from."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.reporting.figures.cost import Cost, Point, pareto_front
from branchwise.eval.reporting.figures.lines import Lines, Series
from branchwise.eval.reporting.figures.losses import PLACES, Bar
from branchwise.eval.reporting.spending import CALLS, COST, TOKENS, ratio_words, spending
from branchwise.eval.tasks import get_task
from branchwise.ui.html.bars import draw_stacked
from branchwise.ui.html.charts import draw_lines, draw_scatter
from branchwise.ui.html.summary import verdict
from branchwise.ui.html.svg import around_zero, digits, from_zero, tick_words
from branchwise.ui.html.text import short, shown
from support.ui.report_cases import BASE, EXPANDED, EXTRACTED, make_report

NUMBERS = st.floats(0, 1e9, allow_subnormal=False).filter(lambda x: x == 0 or x > 1e-6)
JOINERS = "\u200c\u200d\u00ad"


@given(st.text(alphabet=st.characters(), max_size=50))
def test_shown_text_has_nothing_that_steers(text):
    seen = shown(text)
    assert all(c.isprintable() or c in JOINERS for c in seen)
    assert shown(seen) == seen
    seen.encode()


@given(st.text(max_size=50).filter(str.isprintable))
def test_printable_text_is_shown_as_it_is(text):
    assert shown(text) == text


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


@given(st.lists(NUMBERS, max_size=8))
def test_a_scale_from_zero_holds_all_values(values):
    scale = from_zero(values, 200, 10)
    assert scale.ticks[0] == 0
    assert scale.high >= max(values, default=0) * (1 - 1e-6)
    assert 2 <= len(scale.ticks) <= 7
    assert all(10 - 1e-6 <= scale.place(value) <= 200 + 1e-6 for value in values)
    assert len(set(tick_words(scale.ticks))) == len(scale.ticks)


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), max_size=8))
def test_a_scale_around_zero_has_zero_and_all_values(values):
    values = [round(value, 4) for value in values]
    scale = around_zero(values, 0, 100)
    assert 0 in scale.ticks
    assert scale.low <= min(values, default=0)
    assert scale.high >= max(values, default=0)
    assert len(scale.ticks) <= 9


def test_ticks_have_the_digits_that_tell_them_apart():
    assert tick_words((0, 0.05, 0.1)) == ["0", ".05", ".10"]
    assert tick_words((-0.1, 0.0, 0.1), with_sign=True) == ["-.1", "0", "+.1"]
    assert tick_words((0, 500_000, 1_000_000)) == ["0", "500k", "1000k"]
    assert tick_words((0, 5_000_000, 10_000_000)) == ["0", "5M", "10M"]
    assert digits((0, 0.025)) == 3


def spent(index, cost, recall):
    return Point(index, f"s{index}", cost, Aggregate(recall, 9, None, None))


def scatter(points):
    cost = Cost(COST, get_task("branches").main, "ambiguous questions", tuple(points), ())
    return draw_scatter(cost)


def test_the_front_is_what_no_other_beats():
    systems = [spent(0, 1, 0.2), spent(1, 2, 0.5), spent(2, 2, 0.4), spent(3, 3, 0.5)]
    assert [one.index for one in pareto_front(systems)] == [0, 1]
    twins = [spent(0, 1, 0.2), spent(1, 1, 0.2)]
    assert pareto_front(twins) == twins
    assert pareto_front([]) == []


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


def coordinates(drawing):
    root = ET.fromstring(drawing)
    places = ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2")
    box = [float(value) for value in root.attrib["viewBox"].split()]
    found = [
        (float(one.attrib[name]), box[2] if "x" in name else box[3])
        for one in root.iter()
        for name in places
        if name in one.attrib
    ]
    return root, found


@pytest.mark.parametrize("columns", [1, 3, 40])
def test_a_line_chart_stays_in_its_box(columns):
    means = tuple(Aggregate(i / columns, 5, max(0, i / columns - 0.1), 1.0) for i in range(columns))
    pairs = tuple((mean, mean.n) for mean in means)
    series = (Series(0, "a", pairs), Series(7, "<b>", (None, *pairs[1:])))
    chart = Lines("n", "t", "x", "recall", tuple(map(str, range(columns))), series, "")
    root, found = coordinates(draw_lines(chart))
    assert all(0 <= value <= most for value, most in found)
    marks = [one for one in root.iter() if "mark" in one.attrib.get("class", "")]
    assert len(marks) == 2 * columns - 1


def test_parts_of_a_bar_are_as_long_as_their_shares():
    bar = Bar(0, "<a>", (1, 0, 3, *[0] * (len(PLACES) - 3)))
    root, _ = coordinates(draw_stacked("t", [bar]))
    widths = [float(one.attrib["width"]) for one in root.iter("rect")]
    assert widths == [93, 279]
    assert [one.text for one in root.iter("text")] == ["<a>", "25%", "75%"]


def test_a_scatter_draws_every_system_and_rings_the_front():
    systems = [spent(0, 1, 0.2), spent(1, 2, 0.5), spent(2, 2, 0.4)]
    root, found = coordinates(scatter(systems))
    assert all(0 <= value <= most for value, most in found)
    rings = [one for one in root.iter("circle") if one.attrib["class"] == "ring"]
    assert len(rings) == 2


def places_of_marks(root):
    for one in root.iter():
        if one.attrib.get("class", "").startswith("mark"):
            corners = [
                tuple(map(float, corner.split(",")))
                for corner in one.attrib.get("points", "").split()
            ] or [(float(one.attrib["cx"]), float(one.attrib["cy"]))]
            yield tuple(sum(values) / len(corners) for values in zip(*corners, strict=True))


def boxes_of_names(root):
    for one in root.iter("text"):
        if one.attrib["class"] == "name":
            x, baseline, width = float(one.attrib["x"]), float(one.attrib["y"]), 6 * len(one.text)
            left = x if one.attrib["text-anchor"] == "start" else x - width
            yield left, left + width, baseline - 10, baseline + 2


@pytest.mark.parametrize(
    "places",
    [
        [(0.2, 0.4), (0.5, 0.4), (5, 0.8)],
        [(0.1, 0.4), (0.3, 0.4), (0.2, 0.5), (0.35, 0.45), (5, 0.4), (4.9, 0.41), (0.1, 0)],
        [(1, 0), (1.1, 0), (1.2, 0), (1.3, 0), (5, 1), (4.9, 1), (4.8, 1), (4.7, 1)],
    ],
)
def test_the_names_of_a_scatter_cover_no_point_and_no_other_name(places):
    systems = [
        replace(spent(index, *place), name=f"model={index}") for index, place in enumerate(places)
    ]
    root, _ = coordinates(scatter(systems))
    marks, names = list(places_of_marks(root)), list(boxes_of_names(root))
    assert len(marks) == len(names) == len(places)
    for n, (left, right, top, bottom) in enumerate(names):
        assert 0 < top < bottom < 240
        assert not any(left < x < right and top < y < bottom for x, y in marks)
        for other in names[:n]:
            is_beside = right <= other[0] or other[1] <= left
            assert is_beside or bottom <= other[2] or other[3] <= top
