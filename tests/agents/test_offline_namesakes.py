"""The offline reader as an expander that is shown namesakes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage

from branchwise.agents.offline.modules import ListedNames, Namesake, listed_readings, module_reply
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.expand_node import expander_message
from branchwise.trace.parts import FoundTitle

PROMPT = Prompts.load().texts["expander_with_titles"]


def readings(question: str, **listed: list[str]) -> list[str]:
    things = {
        name.replace("_", " "): [
            FoundTitle("", *title.split(": ", 1)[:1], name, *title.split(": ", 1)[1:])
            for title in titles
        ]
        for name, titles in listed.items()
    }
    said = module_reply([SystemMessage(PROMPT), HumanMessage(expander_message(question, things))])
    assert said is not None
    return said.split("\n")


EVERY_KIND = [
    *("actor", "actor, born 1970", "entrepreneur", "footballer", "footballer, born 1991"),
    *("scientist", "band", "2001 band", "company", "company founded in 1950"),
    *("film", "2001 film", "album", "2001 album", "song"),
]


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Which films starred Reef?", {"actor"}),
        ("Who starred in Reef?", {"film"}),
        ("Which films did Reef direct?", {"actor"}),
        ("Who founded Reef?", {"company"}),
        ("Where was Reef born?", {"actor", "entrepreneur", "footballer", "scientist"}),
        ("Who produced the film that Reef scored?", {"band"}),
        ("Which film awards shortlisted Reef?", {"film"}),
        ("Which music awards shortlisted Reef?", {"album", "song"}),
        ("Which actors played in Reef?", {"film"}),
        ("Which musicians played in Reef?", {"band"}),
        ("Who was hired by a scientist employed by the clubs that fielded Reef?", {"footballer"}),
        ("Which clubs fielded Ada of Holm (footballer) but not Reef?", {"footballer"}),
    ],
)
def test_the_nearest_word_that_takes_the_name_says_what_it_may_be(question, kinds):
    kept = readings(question, Reef=[f"Reef ({kind})" for kind in EVERY_KIND])
    told = [reading[reading.index("Reef (") + 6 :].partition(")")[0] for reading in kept]
    assert {re.sub(r"^\d+ |,.*| founded.*", "", kind) for kind in told} == kinds


@pytest.mark.parametrize(
    ("question", "kinds", "kept"),
    [
        ("What about Reef{}?", ["song", "film"], [" (song)", " (film)"]),
        ("Who performed Reef{}?", ["song"], [""]),
        ("Who performed Reef{}?", ["song", "footballer"], [""]),
    ],
    ids=["no word tells", "one", "one that fits"],
)
def test_all_are_readings_where_no_word_tells_and_one_is_none(question, kinds, kept):
    named = [f"Reef ({kind})" for kind in kinds]
    assert readings(question.format(""), Reef=named) == [question.format(kind) for kind in kept]


@given(st.text(max_size=300))
def test_any_message_is_read(message):
    listed = ListedNames.read(f"Question: {message}\n\nFound for 'Kong':\n- Kong\n{message}")
    assert listed is None or listed_readings(listed)
    assert all(kind == kind.lower() for kind in Namesake(message, message).kinds)
