"""Steps in words, from whatever a model or a passage says."""

from dataclasses import dataclass
from typing import Any

import pytest

from branchwise.report.terminal.step_text import MAX_LINE
from branchwise.trace.events import Event
from branchwise.trace.parts import Body
from branchwise.ui.steps import words as steps
from branchwise.ui.steps.words import Around, words_of
from support.trace_records import whole_event

Data = dict[str, Any]
COST = {"usage": {"input": 120, "output": 7}, "seconds": 0.25}
TURN = "turn 2    120 tokens in, 7 out, 0.25 s"
READINGS = ["Who directed Heat (1995 film)?", "Who directed Heat (1986 film)?"]
FREE = {"usage": {"input": 0, "output": 0}, "seconds": 0.0}


def describe(kind: str, data: Data, **most: int) -> list[str]:
    return steps.describe(whole_event(kind, data), **most)


def called(name: str, **arguments: Any) -> Data:
    return {"id": "c1", "name": name, "args": arguments}


def query_of(text: str) -> Data:
    return called("wikisparql", query=text)


def model(*calls: Data, **more: Any) -> Data:
    return {"turn": 2, "finish": "stop", "tool_calls": [*calls], **COST, **more}


def rows(count: int) -> Data:
    lines = [f"{count} rows: ?film", *(f"wd:Q{n}" for n in range(count))]
    call = query_of("SELECT ?film WHERE { ?film ?p ?o }")
    return {"call": call, "content": "\n".join(lines), "artifact": {"rows": {}}}


def search_by_name(text: str, content: str) -> Data:
    call = called("wikidata_search", text=text, kind="item")
    return {"call": call, "content": content, "artifact": {"matches": [{"id": "Q1"}]}}


def answer(how: str, answers: Data, reasoning: str = "") -> Data:
    return {"how": how, "prediction": {"reasoning": reasoning, "answers": answers}}


def expansion(**changes: Any) -> Data:
    return (
        {"question": "Who directed Heat?", "readings": READINGS, "how": "readings"} | COST | changes
    )


def extraction(*passages: Data, **more: Any) -> Data:
    return {"call": called("local_retriever"), "passages": [*passages], **more}


def passage(id: str, *spans: str, **changes: Any) -> Data:
    found = {"id": id, "spans": [*spans], "how": "spans" if spans else "none", "dropped": []}
    return found | COST | changes


def dropped(*reasons: str) -> list[Data]:
    return [{"text": "some text", "why": why} for why in reasons]


TWO_FILMS = {"Heat (1995 film)": ["Al Pacino", "Val Kilmer"], "Heat (1986 film)": []}
LISTED = ["Heat (1995 film): Al Pacino; Val Kilmer", "Heat (1986 film): (none)"]
EDITED = model(called("local_retriever", query="King Kong", k=3), text="Look.", edited=True)
CASES = {
    "a query stands whole on lines of its own": (
        "model", model(query_of("SELECT ?film WHERE {\n  ?film wdt:P57 wd:Q1 .\n}")),
        [TURN, "calls wikisparql", "  SELECT ?film WHERE {", "    ?film wdt:P57 wd:Q1 .", "  }"]),
    "an edited step says so, with its text beside its calls": (
        "model", EDITED,
        [f"{TURN} (edited)", "calls local_retriever(query='King Kong', k=3)", "says: Look."]),
    "the text beside calls is not said else": (
        "model", EDITED | {"edited": False},
        [TURN, "calls local_retriever(query='King Kong', k=3)"]),
    "of an answer the reasoning is said": (
        "model", model(text='{"reasoning": "Two films.", "answers": {"default": ["x"]}}'),
        [TURN, "says: Two films."]),
    "of no answer nothing": ("model", model(text='{"reasoning": "x", "answers": {}}'), [TURN]),
    "other JSON stands as it is": ("model", model(text='{"a": 1}'), [TURN, 'says: {"a": 1}']),
    "rows come under their number without the query": (
        "tool", rows(2), ["tool      wikisparql: 2 rows: ?film", "wd:Q0", "wd:Q1"]),
    "matches come under their number": (
        "tool", search_by_name("Heat", "Q1  Heat: 1995 film [film; 9 statements]"),
        ["tool      wikidata_search: 1 match for text='Heat', kind='item'",
         "Q1 Heat: 1995 film [film; 9 statements]"]),
    "an error keeps its lines": (
        "tool", {"call": query_of("SELECT"), "error": "line 1, column 7: the end\nSELECT\n      ^"},
        ["tool      wikisparql: line 1, column 7: the end", "SELECT", "      ^"]),
    "a failed tool says why": (
        "tool", {"call": called("nope"), "error": "there is no tool 'nope'"},
        ["tool      nope: there is no tool 'nope'"]),
    "an answer lists its branches": ("answer", answer("strict", TWO_FILMS), ["answer", *LISTED]),
    "one that was read with patience says so": (
        "answer", answer("tolerant", TWO_FILMS),
        ["answer    (not quite in the right form, but read)", *LISTED]),
    "one that was repaired says so": (
        "answer", answer("repaired", TWO_FILMS), ["answer    (after one repair call)", *LISTED]),
    "no answer comes with its reasoning": (
        "answer", answer("strict", {}, "Nobody knows."), ["answer", "no answer: Nobody knows."]),
    "a format error shows the raw text": (
        "answer", {"how": "failed", "problem": "no JSON object", "raw": "I do not know"},
        ["answer    format error: no JSON object", "raw: I do not know"]),
    "what a server refused is said in words": (
        "left_out", {"role": "extractor", "field": "seed", "message": "422 unknown"},
        ["model     extractor: asked without seed (sampling cannot be repeated): 422 unknown"]),
    "and any other field": (
        "left_out", {"role": "agent", "field": "later", "message": "no"},
        ["model     asked without later: no"]),
    "a repair that failed says why": (
        "repair_failed", {"error": "timeout", "message": "no reply in 60 s"},
        ["repair    failed: timeout: no reply in 60 s"]),
    "an expansion lists its readings": (
        "expansion",
        expansion(reasoning="Two\nfilms.", dropped=dropped("repeated", "too many", "repeated")),
        ["expand    2 readings, 120 tokens in, 7 out, 0.25 s", "thinks: Two films.",
         *(f"- {reading}" for reading in READINGS), "dropped: 2 repeated, 1 too many"]),
    "and what it looked for first": (
        "expansion",
        expansion(looked=[
            {"tool": "local_retriever", "args": {"query": "Heat"}, "hits": 50, "found": [
                {"id": "p1", "title": "Heat (1995 film)", "name": "Heat", "about": "A film."}]},
            {"tool": "wikidata_search", "args": {"text": "Heat"}, "error": "ask again later"}]),
        ["expand    2 readings, 120 tokens in, 7 out, 0.25 s",
         "looks for 'Heat': local_retriever 1 title of 50",
         "looks for 'Heat': wikidata_search failed: ask again later",
         *(f"- {reading}" for reading in READINGS)]),
    "one without readings says what happens then": (
        "expansion", expansion(readings=[], how="none", replayed=True, dropped=dropped("no other")),
        ["expand    no readings: the question is asked as it stands, 120 tokens in, 7 out, 0.25 s, "
         "replayed", "dropped: 1 no other"]),
    "a failed one says why": (
        "expansion", expansion(readings=[], how="failed", error="server: m: 500 oh"),
        ["expand    failed: server: m: 500 oh; the question is asked as it stands"]),
    "an extraction counts spans, passages and what was not taken": (
        "extraction",
        extraction(
            passage("p1", "One.", "Two.", dropped=dropped("repeated")), passage("p2", "Three."),
            passage("p3"), passage("p4", dropped=dropped(*["not in the passage"] * 2)),
            passage("p5", how="failed", error="timeout: m: no answer in time", seconds=2.0)),
        ["extract   3 spans from 2 of 5 passages, 600 tokens in, 35 out, 3.00 s",
         "nothing in 2 passages", "dropped: 1 repeated, 2 not in the passage",
         "1 call failed, shown whole: timeout: m: no answer in time",
         "[p1] One. … Two.", "[p2] Three."]),
    "a shared request is counted once, and what was read before is told": (
        "extraction",
        extraction(
            passage("p1", "One.", shared=True, **FREE), passage("p2", shared=True, **FREE),
            passage("p3", "Three.", reused=True, **FREE), passage("p4", "Four."),
            requests=[{"passages": 3, "used": 2, **COST}]),
        ["extract   3 spans from 3 of 4 passages, 2 requests, 240 tokens in, 14 out, 0.50 s",
         "nothing in 1 passage", "read before: 1 passage",
         "[p1] One.", "[p3] Three.", "[p4] Four."]),
    "what was read before alone costs nothing": (
        "extraction", extraction(passage("p3", "Three.", reused=True, **FREE)),
        ["extract   1 span from 1 of 1 passage", "read before: 1 passage", "[p3] Three."]),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "lines"), CASES.values(), ids=CASES)
def test_a_step_in_words(kind: str, data: Data, lines: list[str]):
    first, *rest = lines
    assert describe(kind, data) == [first, *(f"          {line}" for line in rest)]


def test_names_that_are_only_near_are_no_matches():
    said = "nothing is called 'Heet'; the nearest names are:\nQ1  Heat [1 statement]"
    first = describe("tool", search_by_name("Heet", said))[0]
    assert first == "tool      wikidata_search: text='Heet', kind='item'"


def test_a_query_on_one_line_is_wrapped_between_words():
    query = f"SELECT ?x WHERE {{ VALUES ?x {{ {'wd:Q2000000001 ' * 9}}} ?x wdt:P57 ?y }}"
    lines = describe("model", model(query_of(query)))[2:]
    assert max(map(len, lines)) <= 78
    assert " ".join(" ".join(lines).split()) == query


@pytest.mark.parametrize(("length", "shown"), [(12, 12), (13, 13), (14, 13), (40, 13)])
def test_a_long_query_is_cut_but_never_for_one_line(length: int, shown: int):
    query = "\n".join(f"?a{n} ?b ?c ." for n in range(length))
    lines = describe("model", model(query_of(query)))[2:]
    last = f"?a{length - 1} ?b ?c ." if length < 14 else f"… and {length - 12} more lines"
    assert (len(lines), lines[-1].strip()) == (shown, last)


def test_the_first_of_what_is_found_are_shown_and_the_rest_counted():
    passages = [{"id": f"p{n}", "title": f"T{n}", "text": "x", "score": 0.5} for n in range(7)]
    call = called("local_retriever", query="heat")
    lines = describe("tool", {"call": call, "content": "...", "artifact": {"passages": passages}})
    assert lines[:2] == [
        "tool      local_retriever: 7 passages for query='heat'",
        "          0.500  [p0] T0",
    ]
    assert (len(lines), lines[-1]) == (7, "          … and 2 more")
    assert describe("tool", rows(6))[-1] == "          wd:Q5"
    assert describe("tool", rows(7))[-1] == "          … and 2 more lines"
    found = extraction(*(passage(f"p{n}", "x") for n in range(9)))
    assert describe("extraction", found, passages=2)[1:] == [
        *("          [p0] x", "          [p1] x", "          … and 7 more")
    ]


@pytest.mark.parametrize("hostile", ["\x1b]0;t\x07\x1b[31m[red]\u202e \u200b\r\n", "x" * 100_000])
def test_no_text_can_steer_the_terminal(hostile: str):
    bad = [{"text": hostile, "why": hostile}]
    (_, said) = describe("model", model(text=f"{hostile}x"))
    assert said.isprintable()
    assert len(said) < MAX_LINE + 30
    extracted = passage("p1", hostile, dropped=bad), passage("p2", how="failed", error=hostile)
    for line in (
        *describe("expansion", expansion(readings=[hostile] * 2, dropped=bad, reasoning=hostile)),
        *describe("extraction", extraction(*extracted)),
    ):
        assert line.isprintable()
        assert len(line) < 300


def test_a_step_whose_form_is_not_known_is_still_shown():
    assert steps.describe(Event(0, "tool", 0.0, {"call": "c"})) == ["tool: {'call': 'c'}"]


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
