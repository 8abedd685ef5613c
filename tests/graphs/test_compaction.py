"""Older results as titles and sentences: what is kept, when, and what the agent then has."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.base.errors import InputError
from branchwise.base.text import unbroken
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import get_task
from branchwise.graphs.agent import Agent
from branchwise.graphs.compaction import (
    compacted_text,
    due_compaction,
    in_view,
    nearest_sentences,
    with_compaction,
)
from branchwise.graphs.extraction.materials import GAP
from branchwise.graphs.messages import OMITTED
from branchwise.graphs.shown import ShownWhole
from branchwise.graphs.sources import check_system
from branchwise.graphs.state import Spent
from branchwise.graphs.system import System
from branchwise.tools.result_text import block, passages_text
from branchwise.trace.events import Compacted
from support.chat_server import call, say
from support.corpora.small import bm25_corpus

IDLE = "The reels were lost for years before anyone went looking for them in the vault."
HEAT = f"Heat is a film. {IDLE} Michael Mann directed the film Heat. {IDLE}"
KONG = f"King Kong is large. {IDLE}"
NOTE = "[compacted to titles and sentences; open_passages shows a passage whole]"


def passage(id, title, text, **more):
    return {"id": id, "title": title, "text": text, **more}


def result(content, passages=None, n=0, **more):
    artifact = {} if passages is None else {"passages": passages}
    return ToolMessage(content, tool_call_id=f"c{n}", artifact=artifact, **more)


def asked(n, query, tool="local_retriever"):
    arguments = {"query": query}
    calls = [{"name": tool, "args": arguments, "id": f"c{n}", "type": "tool_call"}]
    return AIMessage("", tool_calls=calls)


def test_a_passage_keeps_its_title_and_the_sentences_that_share_most_words():
    found = [passage("p1", "Heat (film)", HEAT, part=[1, 2]), passage("p2", "Kong", KONG)]
    whole = f"2 of 2 that match\n\n{passages_text(found)}\n\n[3 of 4 turns left]"
    sought = "Who directed Heat?\nheat film"
    assert compacted_text(result(whole, found), sought, reopens=True).split("\n") == [
        NOTE,
        "2 of 2 that match",
        "",
        "[p1] Heat (film) · 1 of 2",
        "Heat is a film. … Michael Mann directed the film Heat.",
        "",
        "[p2] Kong",  # nothing of it shares a word
        "",
        "",
        "[3 of 4 turns left]",
    ]
    bare = compacted_text(result(whole, found), sought, reopens=False)
    assert bare.startswith(
        "[compacted to titles and sentences; search in other words for the rest]\n"
    )


@pytest.mark.parametrize(
    ("sought", "kept"),
    [
        ({"heat"}, ["Heat is a film.", "Mann made Heat."]),
        ({"mann", "heat"}, ["Heat is a film.", "Mann made Heat."]),
        ({"2019"}, ["It is from 2019."]),
        ({"film", "2019", "heat"}, ["Heat is a film.", "It is from 2019."]),
        (set(), []),
    ],
)
def test_of_sentences_that_share_as_many_words_the_earlier_is_kept(sought, kept):
    text = "Heat is a film. It is from 2019. Mann made Heat. Heat, J. R.’s dog, ran off."
    assert nearest_sentences(text, sought) == kept


def test_rows_keep_their_count_and_the_first_ten():
    rows = [f"wd:Q{n} (name {n})" for n in range(40)]
    text = "\n".join(["40 rows: ?x", *rows])
    assert compacted_text(result(text), "x", reopens=True).split("\n") == [
        "[compacted to its first lines; call again for the rest]",
        "40 rows: ?x",
        *rows[:10],
        "[left out: 30 lines]",
    ]


def test_a_text_is_cut_at_whole_lines():
    text = "\n".join(["a" * 600, "b" * 600, "c"])
    kept = compacted_text(result(text), "x", reopens=True).split("\n")
    assert kept[1:] == ["a" * 600, "[left out: 2 lines]"]


def test_what_is_short_stays_as_it_is():
    short = passages_text([passage("p", "Heat", "Mann made Heat. It ran.")])
    assert compacted_text(result(short), "heat", reopens=True) == short


def test_a_passage_whose_spans_were_extracted_keeps_them():
    found = [passage("p1", "Heat", HEAT), passage("p2", "Kong", KONG + KONG)]
    spans = {"spans_of": ["p1"]}  # of p2 the extraction failed: it is shown whole
    message = result(passages_text(found), found, additional_kwargs=spans)
    text = compacted_text(message, "large Heat", reopens=True)
    assert block(found[0]) in text
    assert "\n".join(["[p2] Kong", "King Kong is large. … King Kong is large."]) not in text
    assert block(found[1]) not in text


TEXT = st.text(st.sampled_from("ab .!?\n”…AJ\u2028'"), max_size=80)
PASSAGES = st.lists(
    st.builds(passage, st.text("xyz]", min_size=1, max_size=4), TEXT, TEXT), max_size=4
)


@given(PASSAGES, TEXT, st.booleans())
def test_ids_and_titles_stay_spans_are_verbatim_and_nothing_grows(found, sought, reopens):
    whole = passages_text(found)
    text = compacted_text(result(whole, found), sought, reopens=reopens)
    assert len(text) <= len(whole)
    for one in found:
        assert block({**one, "text": ""}).rstrip("\n") in text
        words = frozenset(sought.split())
        spans = nearest_sentences(unbroken(one["text"]), words)
        assert len(spans) <= 2
        assert all(span in unbroken(one["text"]) for span in spans)
    known = {unbroken(one["text"]) for one in found}
    for line in text.split("\n") if text != whole else ():
        if not line.startswith("["):
            spans = line.split(GAP)
            assert line in known or all(any(span in one for one in known) for span in spans)


def conversation(*texts):
    messages = [HumanMessage("Who directed Heat?")]
    for n, text in enumerate(texts):
        found = [passage(f"p{n}", "Heat", text)]
        messages += [asked(n, "film"), result(passages_text(found), found, n)]
    return messages


def test_only_the_oldest_results_are_compacted_and_some_left_out_on_top():
    messages = conversation(HEAT, HEAT, HEAT)
    state = {"messages": messages, "compacted": 2, "reopens": True, "omitted": 1}
    texts = [m.text for m in in_view(messages, state) if isinstance(m, ToolMessage)]
    spans = "Heat is a film. … Michael Mann directed the film Heat."
    assert texts == [OMITTED, f"{NOTE}\n[p1] Heat\n{spans}", f"[p2] Heat\n{HEAT}"]
    assert next(m.text for m in messages if isinstance(m, ToolMessage)) == f"[p0] Heat\n{HEAT}"
    # Made anew, it is the same: what a fork or a resumed run sends.
    again = in_view(conversation(HEAT, HEAT, HEAT), state)
    assert [m.text for m in again] == [m.text for m in in_view(messages, state)]


def test_a_result_is_compacted_by_what_was_asked_before_it():
    messages = [*conversation(HEAT), HumanMessage("Which reels were lost?"), AIMessage("None.")]
    state = {"compacted": 1}
    earlier = with_compaction(messages[:3], state)
    assert with_compaction(messages, state)[2].text == earlier[2].text


def test_a_compacted_passage_is_known_to_a_search_for_the_same_alone():
    short = "Mann made the film."
    messages = [*conversation(HEAT, short), asked(2, "heat")]
    assert ShownWhole().before({"messages": messages}, "q") == [{"p0", "p1"}]
    compacted = {"messages": messages, "compacted": 2}
    # "Who directed Heat?" and "film" are what its sentences were chosen for.
    assert ShownWhole().before(compacted, "q") == [{"p0", "p1"}]
    messages[-1] = asked(2, "reels of Heat")
    assert ShownWhole().before(compacted, "q") == [{"p1"}]
    messages[-1] = asked(2, "heat", "open_passages")
    assert ShownWhole().before(compacted, "q") == [{"p1"}]


def due(limit, *, read=900, pending="x" * 400, **state):
    messages = [*conversation(HEAT, HEAT), AIMessage("y" * 40)]
    whole = {"messages": messages, "pending": [HumanMessage(pending)], "spent": Spent(), **state}
    return due_compaction({**whole, "read": read}, limit, [])


def test_it_is_due_where_what_was_counted_and_what_is_pending_exceed_the_limit():
    assert due(None) is None
    # 900 as counted, 440 bytes since: 110 tokens.
    assert due(1010) is None
    assert due(1009) == Compacted(results=2, newly=2, tokens=1010)
    assert due(1009, compacted=1) == Compacted(results=2, newly=1, tokens=1010)
    assert due(1009, compacted=2) is None
    # Where the server counts nothing: a quarter of the bytes of all.
    assert due(100, read=0).tokens > 110 + 2 * len(HEAT) // 4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    passages = {f"p{n}": f"Heat {n}\nHeat {n} is a film. {IDLE * 3}" for n in range(9)}
    return str(bm25_corpus(tmp_path_factory.mktemp("corpus"), passages))


ANSWER = say(json.dumps({"reasoning": "", "answers": {}}))


def counted(tokens, answer):
    usage = {"prompt_tokens": tokens, "completion_tokens": 1}
    return type(answer)(**{**vars(answer), "usage": usage})


@pytest.mark.slow
def test_an_agent_reads_on_with_its_older_results_compacted(chat_server, corpus):
    searches = [call("local_retriever", query=f"Heat {n} film") for n in range(4)]
    counts = [500, 1500, 700, 800]
    chat_server.play([*map(counted, counts, searches), ANSWER])
    system = System(
        model=f"openai:scripted@{chat_server.url}",
        decoding=Decoding(attempts=1),
        **{"corpus": corpus, "k": 2, "budget_shown": "off", "compact": 1510},
    )
    task, journal = get_task("branches"), MemoryJournal()
    agent = Agent(system, task.flow)
    brief = task.brief(Question(id="q", question="What is Heat?"), has_tools=True)
    asyncio.run(agent.answer(brief, journal))
    events = [event for event in journal.events if event[0] == "compacted"]
    assert [(e["results"], e["newly"], e["reopens"]) for _, e in events] == [(1, 1, True)]
    requests = [
        [m["content"].startswith("[compacted") for m in body["messages"] if m["role"] == "tool"]
        for body in chat_server.requests
    ]
    # Counted 1,500 of the second turn: its results would exceed the limit; then there is room.
    assert requests == [[], [False], [True, False], [True, False, False], [True, *[False] * 3]]
    before, after = (chat_server.requests[n]["messages"] for n in (3, 4))
    assert after[: len(before)] == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"compact": 10}, "1000"), ({"compact": 5000, "tools": ()}, "no tool returns results")],
)
def test_what_does_nothing_or_is_too_small_is_refused_in_one_line(changes, said):
    with pytest.raises(InputError, match=said) as refusal:
        check_system(System(**changes))
    assert "\n" not in str(refusal.value)


def test_it_is_in_the_identity_only_if_it_is_set(corpus):
    assert "compact" not in Agent(System(corpus=corpus)).identity
    assert Agent(System(corpus=corpus, compact=4000)).identity["compact"] == 4000
