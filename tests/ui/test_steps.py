"""Steps in words, from whatever a model or a passage says."""

from dataclasses import dataclass

import pytest

from branchwise.report.terminal.step_text import MAX_LINE
from branchwise.trace.events import Body, Event
from branchwise.ui.steps import words as steps
from branchwise.ui.steps.words import Around, words_of
from support.trace_records import whole_event


def describe(kind, data):
    return steps.describe(whole_event(kind, data))


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


def query_call(query):
    return {"id": "c1", "name": "wikisparql", "args": {"query": query}}


def test_a_query_is_shown_whole_on_lines_of_its_own():
    query = "SELECT ?film WHERE {\n  ?film wdt:P57 wd:Q1 .\n}"
    assert describe("model", MODEL | {"tool_calls": [query_call(query)]})[1:] == [
        "          calls wikisparql",
        "            SELECT ?film WHERE {",
        "              ?film wdt:P57 wd:Q1 .",
        "            }",
    ]


def test_a_query_on_one_line_is_wrapped_between_words():
    query = f"SELECT ?x WHERE {{ VALUES ?x {{ {'wd:Q2000000001 ' * 9}}} ?x wdt:P57 ?y }}"
    lines = describe("model", MODEL | {"tool_calls": [query_call(query)]})[2:]
    assert max(map(len, lines)) <= 78
    assert " ".join(" ".join(lines).split()) == query


@pytest.mark.parametrize(("length", "shown"), [(12, 12), (13, 13), (14, 13), (40, 13)])
def test_a_long_query_is_cut_but_never_for_one_line(length, shown):
    query = "\n".join(f"?a{n} ?b ?c ." for n in range(length))
    lines = describe("model", MODEL | {"tool_calls": [query_call(query)]})[2:]
    assert len(lines) == shown
    assert lines[-1].strip() == (
        f"?a{length - 1} ?b ?c ." if length < 14 else f"… and {length - 12} more lines"
    )


def rows_of(count):
    lines = [f"{count} rows: ?film", *(f"wd:Q{n}" for n in range(count))]
    return {
        "call": query_call("SELECT ?film WHERE { ?film ?p ?o }"),
        "content": "\n".join(lines),
        "artifact": {"rows": {}},
        "error": None,
    }


def test_rows_come_under_their_number_without_the_query():
    assert describe("tool", rows_of(2)) == [
        "tool      wikisparql: 2 rows: ?film",
        "          wd:Q0",
        "          wd:Q1",
    ]
    assert describe("tool", rows_of(6))[-1] == "          wd:Q5"
    assert describe("tool", rows_of(7))[-1] == "          … and 2 more lines"


def test_matches_come_under_their_number():
    data = {
        "call": {"name": "wikidata_search", "args": {"text": "Heat", "kind": "item"}},
        "content": "Q1  Heat: 1995 film [film; 9 statements]",
        "artifact": {"matches": [{"id": "Q1"}]},
        "error": None,
    }
    assert describe("tool", data) == [
        "tool      wikidata_search: 1 match for text='Heat', kind='item'",
        "          Q1 Heat: 1995 film [film; 9 statements]",
    ]


def test_names_that_are_only_near_are_no_matches():
    data = {
        "call": {"name": "wikidata_search", "args": {"text": "Heet", "kind": "item"}},
        "content": "nothing is called 'Heet'; the nearest names are:\nQ1  Heat [1 statement]",
        "artifact": {"matches": [{"id": "Q1"}]},
        "error": None,
    }
    assert describe("tool", data)[0] == "tool      wikidata_search: text='Heet', kind='item'"


def test_an_error_of_several_lines_keeps_them():
    data = {
        "call": query_call("SELECT"),
        "error": "line 1, column 7: unexpected end\nSELECT\n      ^",
    }
    assert describe("tool", data) == [
        "tool      wikisparql: line 1, column 7: unexpected end",
        "          SELECT",
        "                ^",
    ]


def test_of_an_answer_only_the_reasoning_is_said():
    text = '{"reasoning": "Two films.", "answers": {"default": ["x"]}}'
    assert describe("model", MODEL | {"text": text})[1:] == ["          says: Two films."]
    assert describe("model", MODEL | {"text": '{"reasoning": "x", "answers": {}}'})[1:] == []
    assert describe("model", MODEL | {"text": '{"a": 1}'})[1:] == ['          says: {"a": 1}']


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


def test_a_step_whose_form_is_not_known_is_still_shown():
    assert steps.describe(Event(0, "tool", 0.0, {"call": "c"})) == ["tool: {'call': 'c'}"]


def test_what_a_server_refused_is_said_in_words():
    for role, of in {"agent": "", "extractor": "extractor: "}.items():
        seed = {"role": role, "field": "seed", "message": "422 unknown field"}
        assert describe("left_out", seed) == [
            f"model     {of}asked without seed (sampling cannot be repeated): 422 unknown field"
        ]
    newer = {"role": "agent", "field": "later", "message": "no"}
    assert describe("left_out", newer) == ["model     asked without later: no"]
    failed = {"error": "timeout", "message": "no reply in 60 s"}
    assert describe("repair_failed", failed) == ["repair    failed: timeout: no reply in 60 s"]


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


def test_no_answer_comes_with_its_reasoning():
    prediction = {"reasoning": "Nobody knows.", "answers": {}}
    data = {"how": "strict", "problem": None, "prediction": prediction}
    assert describe("answer", data) == ["answer", "          no answer: Nobody knows."]


def test_an_edited_step_says_so_and_shows_the_text_beside_calls():
    call = {"id": "c1", "name": "local_retriever", "args": {"query": "King Kong"}}
    turn = MODEL | {"tool_calls": [call], "finish": "tool_calls", "text": "Look for the ape."}
    assert describe("model", turn | {"edited": True}) == [
        "turn 2    120 tokens in, 7 out, 0.25 s (edited)",
        "          calls local_retriever(query='King Kong')",
        "          says: Look for the ape.",
    ]
    assert not any("Look for" in line or "edited" in line for line in describe("model", turn))


@dataclass(frozen=True, kw_only=True)
class Waited(Body):
    """A kind for which no module has words."""

    KIND = "waited"
    role: str
    message: str = ""
    places: tuple[int, ...] = ()
    wait: float | None = None


def test_a_kind_without_words_of_its_own_is_said_by_its_fields():
    body = Waited(role="agent", message="the server\nis busy", places=(1, 2))
    words = words_of(body)
    assert [*words.lines(body, 5)] == [
        "waited    role: agent, message: the server is busy, places: [1, 2]"
    ]
    facts, text, rest = words.blocks(body, Around())
    assert (facts.kind, facts.text) == ("note", "role: agent · wait: None")
    assert (text.title, text.text) == ("message", "the server\nis busy")
    assert (rest.title, "".join(rest.text.split())) == ("also", '{"places":[1,2]}')
    assert words.brought(body) is None
