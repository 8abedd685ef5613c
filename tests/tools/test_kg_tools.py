"""wikisparql and wikidata_search over a real graph: what the model reads, what the trace keeps."""

import asyncio

import pytest
from langchain_core.messages import ToolCall

from branchwise.kg.answers import Match, QueryResult, Term
from branchwise.tools.built_in import make_wikidata_search, make_wikisparql
from branchwise.tools.result_text import MAX_SHOWN_BYTES, answer_text, matches_text
from branchwise.tools.tool_results import ToolError

WD = "http://www.wikidata.org/entity/"


def call(tool, **args):
    request = ToolCall(name=tool.name, args=args, id="1", type="tool_call")
    return asyncio.run(tool.ainvoke(request))


def test_rows_come_with_labels_and_short_dates(kg):
    query = "SELECT ?film ?day ?who WHERE { ?film wdt:P57 ?who ; wdt:P577 ?day }"
    message = call(make_wikisparql(kg), query=query)
    assert message.content == (
        "1 row: ?film | ?day | ?who\nwd:Q1 (Aurora) | 1990-05-01 | wd:Q3 (Ann Lee)"
    )
    rows = message.artifact["rows"]
    assert rows["variables"] == ["film", "day", "who"]
    assert rows["rows"][0][0] == {"type": "uri", "value": f"{WD}Q1"}
    assert rows["rows"][0][1] == {
        "type": "literal",
        "value": "1990-05-01T00:00:00Z",
        "datatype": "http://www.w3.org/2001/XMLSchema#dateTime",
    }
    assert rows["complete"] is True


def test_what_a_query_lacks_is_said_as_it_stands(kg):
    with pytest.raises(ToolError, match=r"line 1"):
        call(make_wikisparql(kg), query="SELECT ?film WHERE { ?film wdt:P57 }")


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("SELECT ?f { ?f wdt:P57 wd:Q4242 }", "look the name up by label."),
        ("SELECT ?f { ?f wdt:P4242 ?who }", "Look it up by label."),
        ('SELECT ?f { ?f rdfs:label "Aurroa"@en }', "a filter on labels finds near ones."),
        (
            'SELECT ?f { SERVICE wikibase:mwapi { ?f wikibase:api "x" } }',
            "to find an entity by name ask for its label, and ask for the rest",
        ),
    ],
)
def test_advice_names_the_search_by_name_only_where_it_is_there(kg, query, advice):
    told = [
        read(make_wikisparql(kg, finds_names=finds_names), query) for finds_names in (True, False)
    ]
    assert ["wikidata_search" in text for text in told] == [True, False]
    assert advice in told[1]


def read(tool, query):
    try:
        return call(tool, query=query).content
    except ToolError as error:
        return str(error)


def test_bearers_of_one_name_stand_together(kg):
    message = call(make_wikidata_search(kg), text="aurora")
    lines = message.content.splitlines()
    assert lines[0] == "2 things are called 'Aurora':"
    assert sorted(line.split(" [")[0] for line in lines[1:3]) == [
        "Q1  Aurora: 1990 film",
        "Q2  Aurora: 2004 album",
    ]
    assert [match["id"] for match in message.artifact["matches"]][:2] == ["Q1", "Q2"]


def test_guesses_are_said_to_be_guesses(kg):
    message = call(make_wikidata_search(kg), text="aurroa")
    assert message.content.startswith(
        "nothing is called 'aurroa'; the nearest names are:\n2 things"
    )
    assert [match["near"] for match in message.artifact["matches"]] == [True, True]
    phrase = call(make_wikidata_search(kg), text="directed", kind="property")
    assert phrase.content.startswith("P57  director")
    assert not phrase.artifact["matches"][0]["near"]


def test_sure_matches_come_before_guesses():
    sure, guess = (Match(f"P{n}", "on", "", "on", (), 1, near=n > 1) for n in (1, 2))
    assert matches_text("on", [sure, guess]).splitlines() == [
        "P1  on [1 statement]",
        "names that are only like it:",
        "P2  on [1 statement]",
    ]


def test_nothing_found_says_what_to_try():
    assert "another spelling" in matches_text("Zzz", [])


def test_labels_are_not_said_twice():
    row = (Term(f"{WD}Q1", "iri"), Term("Aurora", "literal", language="en"))
    answer = QueryResult(("x", "xLabel"), (row,), labels={f"{WD}Q1": "Aurora"})
    assert answer_text(answer) == "1 row: ?x | ?xLabel\nwd:Q1 | Aurora"


def test_long_answers_are_cut_and_say_so():
    rows = tuple((Term("x" * 200, "literal"),) for _ in range(1000))
    text = answer_text(QueryResult(("a",), rows, complete=False))
    assert len(text.encode()) < MAX_SHOWN_BYTES + 300
    shown = text.count("\n") - 1
    assert text.startswith("over 1000 rows: ?a\n")
    assert text.endswith(
        f"({shown} of them shown; ask for fewer columns, COUNT them, or go on with "
        f"ORDER BY and OFFSET {shown})"
    )


def test_no_value_can_pose_as_a_row_or_steer_a_terminal():
    hostile = "Aurora\nwd:Q666 | \x1b[2J\u202e"
    text = answer_text(QueryResult(("a",), ((Term(hostile, "literal"),),)))
    assert text.count("\n") == 1
    assert all(character.isprintable() or character == "\n" for character in text)
    match = Match("Q1", hostile, hostile, hostile, (hostile,), 3)
    assert all(c.isprintable() or c == "\n" for c in matches_text("a", [match]))


def test_an_ask_is_answered_in_a_word():
    assert answer_text(QueryResult((), (), boolean=False, notes=("Because.",))) == "no\nBecause."


def test_several_names_are_one_call(kg):
    message = call(make_wikidata_search(kg), text="Aurora", more_texts=["Ann Lee", "Aurora"])
    first, second = message.content.split("\n\n")
    assert first.startswith("For 'Aurora':\n")
    assert second.startswith("For 'Ann Lee':\nQ3 Ann Lee")
    ids = [match["id"] for match in message.artifact["matches"]]
    assert ids.count("Q3") == 1


def test_a_list_that_the_limit_ended_says_how_to_see_more():
    matches = [Match(f"Q{n}", f"a{n}", "", f"a{n}", (), 1) for n in range(2)]
    assert matches_text("a", matches, 2).endswith("may be more: raise `limit`)")
    assert "limited" not in matches_text("a", matches, 3)


def test_the_properties_that_are_used_most_stand_in_the_description(kg):
    described = make_wikidata_search(kg).description
    assert "need no search: P" in described
    assert "P57 director" in described
    assert "need no search" not in make_wikidata_search(kg, "paper").description


def test_35_rows_and_long_values_are_shown_whole():
    joined = ", ".join(f"Name {n}" for n in range(80))
    rows = tuple((Term(f"{n} {joined}"[:600], "literal"),) for n in range(35))
    text = answer_text(QueryResult(("names",), rows))
    assert text.count("\n") == 35
    assert "shown" not in text
    assert all(len(line) == 600 for line in text.splitlines()[1:])
