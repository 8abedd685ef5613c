"""Blocks, traces and gold answers as lines."""

from branchwise.report.terminal.blocks import Block, Mark
from branchwise.trace.events import Event
from branchwise.ui.traces.plain import plain_lines, trace_lines


def test_texts_stand_below_their_titles_folded_ones_too():
    found = [
        Block("heading", "step 1: tool"),
        Block("text", "one\n\ntwo  ", "result"),
        Block("text", "thoughts", "reasoning", folded=True),
    ]
    assert [*plain_lines(found)] == [
        "step 1: tool",
        *("result:", "  one", "", "  two"),
        *("reasoning:", "  thoughts"),
    ]


def test_a_passage_says_which_gold_answers_it_names():
    text = "Al\nPacino, Val Kilmer, AL PACINO"
    marks = (Mark(0, 9, "gold"), Mark(11, 21, "gold"), Mark(23, 32, "gold"), Mark(0, 32, "span"))
    title = (Mark(5, 9, "gold"),)
    block = Block("passage", text, "[p1] Heat", marks, passage="p1", title_marks=title)
    first, *_ = plain_lines([block])
    assert first == "[p1] Heat · names Heat, Al Pacino, Val Kilmer:"


def test_each_step_stands_under_its_number():
    budget = {"reason": "3 turns", "text": "x"}
    lines = {"how": "strict", "problem": None, "prediction": {"answers": {"default": ["Ann"]}}}
    events = [Event(9, "budget", 0.0, budget), Event(10, "answer", 0.0, lines)]
    assert [*trace_lines(events)] == [
        " 9  budget    spent: 3 turns; told to answer",
        "10  answer",
        "              default: Ann",
    ]
    assert [*trace_lines([])] == []
