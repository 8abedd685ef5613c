"""A step in full: all that the trace has of it is there, and answers are marked in it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from branchwise.eval.errors.item_errors import ItemErrors, WrongAnswer
from branchwise.eval.errors.labels import Label
from branchwise.report.terminal.blocks import Block, harmless
from branchwise.report.terminal.console import harmless_json
from branchwise.runs.store import open_run
from branchwise.trace.events import Event
from branchwise.ui.steps.parts import MAX_CELLS, MAX_COLUMNS, MAX_SEARCHED
from branchwise.ui.traces.answers import trace_of
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.plain import plain_lines
from branchwise.ui.traces.trace import Trace, blocks
from support.trace_records import trace
from support.ui.hostile_trace import ATTACK, events, hostile_event, hostile_run

LINE = ItemLine(1, "q", 0, "Who?", False, "done")
PASSAGE = {"id": "p1", "title": "Heat", "text": "With Al Pacino\nand Val  Kilmer.", "score": 0.5}
CALL = {"id": "c1", "name": "local_retriever", "args": {"query": "Heat", "k": 3}}
RESULT = {"call": CALL, "of": 0, "seconds": 0.5, "replayed": False, "error": None, "failure": None}


def trace_with(*events: tuple[str, dict[str, Any]], names=(), errors=None) -> Trace:
    return Trace(LINE, trace(*events), (), (), errors, names)


def trace_as_written(*events: tuple[str, dict[str, Any]]) -> Trace:
    listed = [Event(seq, kind, 0.0, data) for seq, (kind, data) in enumerate(events)]
    return Trace(LINE, listed, (), ())


def blocks_of(kind: str, data: dict[str, Any], **more: Any) -> list[Block]:
    return blocks(trace_with((kind, data), **more), 0)[1:]


def marked(block: Block, kind: str) -> list[str]:
    return [block.text[mark.start : mark.end] for mark in block.marks if mark.kind == kind]


SAID = {
    "of": lambda of: [f"call {of + 1}"],
    "how": lambda how: [{"none": "nothing extracted", "spans": "span"}.get(how, how)],
}
"""What is said in words."""


def leaves(value: Any) -> Iterator[Any]:
    """All values of a record, and the keys of those objects whose keys are data."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from SAID[key](part) if key in SAID else leaves(part)
            if ATTACK in key:
                yield key
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def ways_to_show(leaf: Any) -> list[str]:
    """As it is, or within JSON, or as a rounded number."""
    if isinstance(leaf, str):
        return [harmless(leaf), harmless_json(json.dumps(leaf, ensure_ascii=False)[1:-1])]
    return [json.dumps(leaf), f"{leaf:.4g}"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "kind"), [*enumerate(kind for kind, _ in events())])
def test_everything_that_the_trace_has_of_a_step_is_in_its_blocks(number: int, kind: str):
    trace = trace_with(*events())
    shown = squeezed("\n".join(plain_lines(blocks(trace, number))))
    data = trace.events[number].data
    told = [leaf for leaf in leaves(dict(data)) if leaf is not None and not isinstance(leaf, bool)]
    assert told
    for leaf in told:
        assert any(squeezed(way) in shown for way in ways_to_show(leaf)), (kind, str(leaf)[:200])


@pytest.mark.parametrize("kind", [*dict.fromkeys(kind for kind, _ in events()), "new kind"])
@pytest.mark.parametrize("data", [{}, {"call": 3, "passages": 7, "artifact": []}, hostile_event()])
def test_a_step_of_a_form_that_is_not_known_is_shown_as_it_is(kind: str, data: dict[str, Any]):
    shown = blocks(trace_as_written((kind, data)), 0)
    assert shown[0].kind == "heading"
    text = "\n".join(plain_lines(shown))
    assert all(key in text for key in data if key.isprintable())


@pytest.mark.slow
def test_no_text_from_outside_gets_past_harmless(tmp_path: Path):
    reader = open_run(hostile_run(tmp_path / "R"))
    for row in reader.items():
        line = ItemLine(row.item, row.question.id, 0, row.question.question, True, row.status)
        trace = trace_of(reader, line, row.question, row.outcome)
        for step in trace.steps:
            assert step.label.isprintable()
            for block in blocks(trace, step.seq):
                assert block.title.isprintable()
                assert all(part.isprintable() for part in block.text.split("\n"))
                assert all(0 <= m.start < m.end <= len(block.text) for m in block.marks)
                assert all(0 <= m.start < m.end <= len(block.title) for m in block.title_marks)
        for branch in trace.branches:
            assert all(key.isprintable() for key in branch.keys)
            for answer in (*branch.gold, *branch.predicted):
                assert answer.text.isprintable()
                assert answer.why.isprintable()
    reader.close()


def test_a_passage_has_gold_answers_and_extracted_spans_marked():
    tool = ("tool", {**RESULT, "content": "", "artifact": {"passages": [PASSAGE]}})
    record = {"id": "p1", "spans": ["and Val Kilmer."], "how": "spans", "whole": False}
    extraction = ("extraction", {"of": 0, "call": CALL, "passages": [record]})
    turn = ("model", {"tool_calls": [CALL], "invalid_tool_calls": []})
    trace = trace_with(turn, tool, extraction, names=(("Al Pacino",), ("Val Kilmer", "V. Kilmer")))
    (passage,) = [block for block in blocks(trace, 1) if block.kind == "passage"]
    assert passage.passage == "p1"
    assert passage.title == "[p1] Heat · 0.5 · 1 span"
    assert marked(passage, "gold") == ["Al Pacino", "Val  Kilmer"]
    assert marked(passage, "span") == ["and Val  Kilmer."]


def test_a_wrong_answer_is_marked_where_it_was_read():
    wrong = (
        WrongAnswer("default", "Val Kilmer", None),
        WrongAnswer("default", "Al Pacino", Label.WRONG_BRANCH, "another"),
    )
    errors = ItemErrors("q", 0, False, True, wrong=wrong)
    result = {**RESULT, "content": "", "artifact": {"passages": [PASSAGE]}}
    found = blocks_of("tool", result, errors=errors)
    (passage,) = (block for block in found if block.kind == "passage")
    assert marked(passage, "wrong") == ["Val  Kilmer"]


@pytest.mark.slow
def test_a_step_of_many_long_passages_is_searched_in_bounds():
    passages = [{**PASSAGE, "id": f"p{n}", "text": "Al Pacino " * 20_000} for n in range(9)]
    found = blocks_of("tool", {**RESULT, "artifact": {"passages": passages}}, names=[["Al Pacino"]])
    marks = [len(block.marks) for block in found if block.kind == "passage"]
    assert len(marks) == 9
    assert all(marks[:1])
    assert not any(marks[3:])
    assert sum(marks) * len("Al Pacino ") <= MAX_SEARCHED


@pytest.mark.slow
def test_a_table_of_too_many_cells_says_what_is_laid_out():
    cell = {"type": "literal", "value": "x"}
    names = [f"v{number}" for number in range(MAX_COLUMNS + 20)]
    record = {"variables": names, "rows": [[cell] * len(names)] * 300, "labels": {}}
    found = blocks_of("tool", {**RESULT, "content": "", "artifact": {"rows": record}})
    (table,) = (block for block in found if block.kind == "table")
    assert len(table.text.split("\n")) == 2 + MAX_CELLS // MAX_COLUMNS
    note = next(block.text for block in found if block.kind == "note" and "rows" in block.text)
    assert note == "300 rows · the first 100 are laid out · the first 100 columns are laid out"
    recorded = next(block for block in found if block.title == "as recorded")
    assert json.loads(recorded.text) == record


def test_rows_are_a_table_with_labels_and_gold_answers_marked():
    film = {"type": "uri", "value": "http://www.wikidata.org/entity/Q1"}
    year = {"type": "literal", "value": "1976"}
    rows = {
        "variables": ["film", "year"],
        "rows": [[film, year], [None, year]],
        "complete": True,
        "boolean": None,
        "labels": {film["value"]: "King Kong"},
    }
    call = {"id": "c", "name": "wikisparql", "args": {"query": "SELECT ?film {\n}"}}
    result = {**RESULT, "call": call, "content": "2 rows", "artifact": {"rows": rows}}
    query, _, count, table, *_ = blocks_of("tool", result, names=[["King Kong"]])
    assert (query.kind, query.text) == ("sparql", "SELECT ?film {\n}")
    assert marked(query, "word") == ["SELECT"]
    assert count.text == "2 rows"
    assert [line.rstrip() for line in table.text.split("\n")] == [
        "?film              ?year",
        "─────────────────  ─────",
        "King Kong (wd:Q1)  1976",
        "-                  1976",
    ]
    assert table.row == 0
    assert marked(table, "gold") == ["King Kong"]
    assert marked(table, "strong") == ["?film", "?year"]


def test_a_class_says_its_size_and_a_record_of_an_older_run_does_not():
    old = {"id": "Q1", "label": "film", "name": "film", "types": [], "statements": 0}
    matches = [old, {**old, "id": "Q2", "types": ["genre"], "members": 1204}]
    found = blocks_of("tool", {**RESULT, "content": "", "artifact": {"matches": matches}})
    (table,) = (block for block in found if block.kind == "table")
    first, second = table.text.split("\n")[2:]
    assert "genre, class of 1,204 things" in second
    assert "class" not in first


def test_an_answer_says_which_of_its_texts_are_right():
    wrong = (WrongAnswer("Heat (1995)", "Tom Cruise", Label.UNSUPPORTED_ANSWER),)
    errors = ItemErrors("q", 0, False, True, wrong=wrong)
    answers = {"Heat (1995)": ["Al Pacino", "tom cruise"], "Heat (1986)": []}
    prediction = {"reasoning": "Two films.", "answers": answers, "citations": {}}
    data = {"how": "strict", "problem": None, "raw": None, "prediction": prediction}
    _, reasoning, first, second = blocks_of("answer", data, errors=errors)
    assert reasoning.text == "Two films."
    assert (first.title, marked(first, "gold")) == ("Heat (1995)", ["Al Pacino"])
    assert marked(first, "wrong") == ["tom cruise"]
    assert (second.title, second.text, second.marks) == ("Heat (1986)", "(none)", ())


def test_a_turn_folds_its_reasoning_and_shows_json_as_json():
    data = {
        "turn": 3,
        "text": '{"reasoning": "x", "answers": {"default": ["Al Pacino"]}}',
        "tool_calls": [CALL],
        "invalid_tool_calls": [{"id": None, "name": "find", "args": '{"a": '}],
        "reasoning": "long thoughts",
        "finish": "stop",
        "usage": {"input": 12, "output": 3, "cached": 0, "reasoning": 2},
        "seconds": 1.5,
        "replayed": True,
    }
    cost, thoughts, text, call, bad = blocks_of("model", data, names=[["Al Pacino"]])
    assert cost.text == ("12 tokens in · 3 out · 2 for reasoning · 1.5 s · replayed · finish: stop")
    assert (thoughts.folded, thoughts.text) == (True, "long thoughts")
    assert (text.kind, marked(text, "gold")) == ("json", ["Al Pacino"])
    assert json.loads(text.text) == json.loads(data["text"])
    assert call.title == "call 1 local_retriever · c1"
    assert marked(call, "key") == ['"query"', '"k"']
    assert (marked(call, "string"), marked(call, "number")) == (['"Heat"'], ["3"])
    assert (bad.title, bad.text) == ("call 2 (cannot be made) find", '{"a": ')


def test_a_step_that_is_not_there_has_no_blocks():
    assert blocks(trace_with(("budget", {})), 7) == []


def test_an_edited_step_says_so_in_words_and_in_no_json():
    found = blocks_of("budget", {"reason": "3 turns", "text": "Answer.", "edited": True})
    assert (found[0].kind, found[0].text.split(":")[0]) == ("note", "edited")
    assert not any(block.title == "also" or "true" in block.text for block in found)
    odd = ("budget", {"reason": "3 turns", "text": "Answer.", "edited": "yes"})
    assert any("yes" in block.text for block in blocks(trace_as_written(odd), 0))
