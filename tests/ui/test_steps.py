"""Steps in words, from whatever a model or a passage says."""

import pytest

from branchwise.ui.steps import MAX_LINE, describe

MODEL = {
    "turn": 2,
    "text": "",
    "tool_calls": [],
    "invalid_tool_calls": [],
    "reasoning": "",
    "finish": "stop",
    "usage": {"input": 120, "output": 7},
    "seconds": 0.25,
    "replayed": False,
}


def test_a_model_turn_names_its_calls():
    call = {"id": "c1", "name": "local_retriever", "args": {"query": "King Kong", "k": 3}}
    assert describe("model", MODEL | {"tool_calls": [call], "finish": "tool_calls"}) == [
        "turn 2    120 tokens in, 7 out, 0.25 s",
        "          calls local_retriever(query='King Kong', k=3)",
    ]


def test_a_cut_or_refused_answer_says_so():
    assert describe("model", MODEL | {"finish": "length"})[0].endswith("length")
    assert describe("model", MODEL | {"replayed": True})[0].endswith("replayed")


def test_a_tool_step_lists_passages_with_scores():
    passages = [{"id": f"p{n}", "title": f"T{n}", "text": "x", "score": 0.5} for n in range(7)]
    data = {
        "call": {"name": "local_retriever", "args": {"query": "heat"}},
        "content": "...",
        "artifact": {"passages": passages},
        "error": None,
    }
    lines = describe("tool", data)
    assert lines[0] == "tool      local_retriever: 7 passages for query='heat'"
    assert lines[1] == "          0.500  [p0] T0"
    assert lines[-1] == "          … and 2 more"
    assert len(lines) == 7


def test_a_failed_tool_says_why():
    data = {"call": {"name": "nope", "args": {}}, "error": "there is no tool 'nope'"}
    assert describe("tool", data) == ["tool      nope: there is no tool 'nope'"]


def test_hostile_text_cannot_steer_the_terminal():
    text = "\x1b]0;title\x07\x1b[31mred\u202e \u200b\r\n" + "x" * 10_000
    (_, line) = describe("model", MODEL | {"text": text})
    assert line.isprintable()
    assert len(line) < MAX_LINE + 30


def test_a_format_error_shows_the_raw_text():
    data = {"how": "failed", "problem": "no JSON object", "raw": "I do not know"}
    assert describe("answer", data) == [
        "answer    format error: no JSON object",
        "          raw: I do not know",
    ]


def test_every_step_kind_that_is_not_known_is_still_shown():
    assert describe("later", {"a": 1}) == ["later: {'a': 1}"]


@pytest.mark.parametrize(
    ("how", "first"),
    [
        ("strict", "answer"),
        ("tolerant", "answer    (not quite in the right form, but read)"),
        ("repaired", "answer    (after one repair call)"),
    ],
)
def test_an_answer_lists_its_branches_and_how_it_was_read(how, first):
    answers = {"Heat (1995 film)": ["Al Pacino", "Val Kilmer"], "Heat (1986 film)": []}
    data = {"how": how, "problem": None, "prediction": {"answers": answers}}
    assert describe("answer", data) == [
        first,
        "          Heat (1995 film): Al Pacino; Val Kilmer",
        "          Heat (1986 film): (none)",
    ]
