"""Expansions and extractions in words."""

import pytest

from branchwise.ui.steps import words as steps
from support.trace_records import whole_event

CALL = {
    "reasoning": "",
    "error": None,
    "usage": {"input": 120, "output": 7, "cached": 0, "reasoning": 0},
    "seconds": 0.25,
    "replayed": False,
}
EXPANSION = CALL | {
    "question": "Who directed Heat?",
    "readings": ["Who directed Heat (1995 film)?", "Who directed Heat (1986 film)?"],
    "dropped": [],
    "how": "readings",
    "text": "...",
}


def describe(kind, data, **most):
    return steps.describe(whole_event(kind, data), **most)


def passage(id, **changes):
    plain = {"id": id, "spans": [], "dropped": [], "how": "none", "whole": False}
    return CALL | plain | changes


def dropped(why, text="some text"):
    return {"text": text, "why": why}


def extraction(*passages):
    call = {"id": "c1", "name": "local_retriever"}
    return {"call": call, "of": 0, "passages": list(passages), "content": "..."}


def test_an_expansion_lists_its_readings():
    repeats = [dropped("repeated"), dropped("too many"), dropped("repeated")]
    data = EXPANSION | {"dropped": repeats, "reasoning": "Two\nfilms."}
    assert describe("expansion", data) == [
        "expand    2 readings, 120 tokens in, 7 out, 0.25 s",
        "          thinks: Two films.",
        "          - Who directed Heat (1995 film)?",
        "          - Who directed Heat (1986 film)?",
        "          dropped: 2 repeated, 1 too many",
    ]


def test_an_expansion_says_what_it_looked_for_first():
    found = [{"id": "p1", "title": "Heat (1995 film)", "name": "Heat", "about": "A crime film."}]
    looked = [
        {"tool": "local_retriever", "args": {"query": "Heat"}, "hits": 50, "found": found},
        {"tool": "wikidata_search", "args": {"text": "Heat"}, "error": "ask again later"},
    ]
    assert describe("expansion", EXPANSION | {"looked": looked})[1:3] == [
        "          looks for 'Heat': local_retriever 1 title of 50",
        "          looks for 'Heat': wikidata_search failed: ask again later",
    ]


def test_an_expansion_without_readings_says_what_happens_then():
    none = {"readings": [], "how": "none", "dropped": [dropped("no other reading beside it")]}
    assert describe("expansion", EXPANSION | none | {"replayed": True}) == [
        "expand    no readings: the question is asked as it stands, 120 tokens in, 7 out, 0.25 s, "
        "replayed",
        "          dropped: 1 no other reading beside it",
    ]


def test_a_failed_expansion_says_why():
    failed = {"readings": [], "how": "failed", "error": "server: m: 500 oh"}
    assert describe("expansion", EXPANSION | failed) == [
        "expand    failed: server: m: 500 oh; the question is asked as it stands"
    ]


def test_an_extraction_counts_spans_passages_and_what_was_not_taken():
    data = extraction(
        passage("p1", how="spans", spans=["One.", "Two."], dropped=[dropped("repeated")]),
        passage("p2", how="spans", spans=["Three."]),
        passage("p3"),
        passage("p4", dropped=[dropped("not in the passage"), dropped("not in the passage")]),
        passage("p5", how="failed", error="timeout: m: no answer in time", seconds=2.0),
    )
    assert describe("extraction", data) == [
        "extract   3 spans from 2 of 5 passages, 600 tokens in, 35 out, 3.00 s",
        "          nothing in 2 passages",
        "          dropped: 1 repeated, 2 not in the passage",
        "          1 call failed, shown whole: timeout: m: no answer in time",
        "          [p1] One. … Two.",
        "          [p2] Three.",
    ]


def test_spans_of_the_first_passages_are_shown_and_the_rest_counted():
    data = extraction(*(passage(f"p{n}", how="spans", spans=["x"]) for n in range(9)))
    lines = describe("extraction", data, passages=2)
    assert lines[1:] == ["          [p0] x", "          [p1] x", "          … and 7 more"]


@pytest.mark.parametrize("hostile", ["\x1b[2J[red]\n\u202e", "x" * 100_000])
def test_no_reading_span_or_reason_can_steer_a_terminal(hostile):
    bad = [dropped(hostile, hostile)]
    expansion = EXPANSION | {"readings": [hostile, hostile], "dropped": bad, "reasoning": hostile}
    extracted = extraction(
        passage("p1", how="spans", spans=[hostile], dropped=bad),
        passage("p2", how="failed", error=hostile),
    )
    for kind, data in (("expansion", expansion), ("extraction", extracted)):
        for line in describe(kind, data)[1:]:
            assert line.isprintable()
            assert len(line) < 300


def test_a_shared_request_is_counted_once_and_what_was_read_before_is_told():
    nothing = {"usage": dict.fromkeys(CALL["usage"], 0), "seconds": 0.0}
    data = extraction(
        passage("p1", how="spans", spans=["One."], shared=True, **nothing),
        passage("p2", shared=True, **nothing),
        passage("p3", how="spans", spans=["Three."], reused=True, **nothing),
        passage("p4", how="spans", spans=["Four."]),
    )
    shared = {name: CALL[name] for name in ("reasoning", "error", "usage", "seconds", "replayed")}
    data["requests"] = [{"passages": 3, "used": 2, **shared}]
    assert describe("extraction", data) == [
        "extract   3 spans from 3 of 4 passages, 2 requests, 240 tokens in, 14 out, 0.50 s",
        "          nothing in 1 passage",
        "          read before: 1 passage",
        "          [p1] One.",
        "          [p3] Three.",
        "          [p4] Four.",
    ]
    data = extraction(passage("p3", how="spans", spans=["Three."], reused=True, **nothing))
    assert describe("extraction", data)[0] == "extract   1 span from 1 of 1 passage"
