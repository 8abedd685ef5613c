"""Searches at a server that is gone: agents and expanders wait for it, and are not told."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from branchwise.agents.journal import MemoryJournal
from branchwise.agents.outages import Outages, ServerGoneError
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.graphs.budget import Budget
from branchwise.graphs.expand_node import TitleSearcher
from branchwise.graphs.state import AgentState, ItemContext, Spent
from branchwise.graphs.tool_node import make_tool_node
from branchwise.kg.answers import KgError, Match, QueryResult, Term
from branchwise.tools.batcher import Batcher
from branchwise.tools.built_in import make_local_retriever, make_wikidata_search, make_wikisparql
from support.agents.clock import Clock
from support.kg.asking_remote import kg_of
from support.kg.sparql_server import FaultyServer, raw, reply, rows

SERVER = "http://127.0.0.1:9/retrieve"


class Away:
    """A retriever and a graph of a server that is away for its first searches."""

    name, identity = "away", {}
    address = name_address = SERVER

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.left, self.error, self.asked = times, error, 0

    def _ask(self, error: Exception) -> None:
        self.asked += 1
        if self.left:
            self.left -= 1
            raise self.error or error

    def search(self, queries: Any, k: Any = 0, limit: int = 8) -> list[Any]:
        if isinstance(queries, str):
            self._ask(KgError("endpoint", "it is away", "gone"))
            return [Match("Q1", "Heat", "a film", "Heat", ("film",), 3)]
        self._ask(RetrieverError("it is away", "gone"))
        return [list[Hit]() for _ in queries]

    def query(self, sparql: str, seconds: float = 1.0) -> QueryResult:
        self._ask(KgError("endpoint", "it is away", "gone"))
        return QueryResult(("x",), ((Term("good", "literal"),),))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def context_of(clock: Clock, patience: float = 120.0, question: str = "") -> ItemContext:
    outages = Outages(patience, sleep=clock.sleep, clock=clock)
    return ItemContext(MemoryJournal(), 60.0, question=question, outages=outages, clock=clock)


async def called(tool: Any, context: ItemContext, **args: Any) -> Any:
    """The event of a call."""
    made = {"name": tool.name, "args": args, "id": "c1", "type": "tool_call"}
    state = AgentState(messages=[AIMessage("", tool_calls=[made])], spent=Spent())
    await make_tool_node([tool], Budget())(state, runtime=Runtime(context=context))
    ((_, event),) = context.journal.events  # type: ignore[attr-defined]
    return event


TOOLS = pytest.mark.parametrize(
    ("make", "args"),
    [
        (make_local_retriever, {"query": "Heat"}),
        (make_wikisparql, {"query": "SELECT ?x { ?x ?y ?z }"}),
        (make_wikidata_search, {"text": "Heat"}),
    ],
    ids=["retriever", "endpoint", "names"],
)


@TOOLS
async def test_a_call_waits_for_its_server_and_then_has_its_result(clock, make, args):
    server, context = Away(4), context_of(clock)
    event = await called(make(server), context, **args)
    assert (event["error"], server.asked) == (None, 5)
    # One failure and three looks in vain: all of it waiting, none of it the question's.
    assert context.waited == pytest.approx(clock.now)
    assert context.elapsed == pytest.approx(0.0)


@TOOLS
async def test_a_server_that_stays_away_ends_the_pass_and_is_no_result(clock, make, args):
    context = context_of(clock, patience=10.0)
    with pytest.raises(ServerGoneError, match=r"no answer from 127\.0\.0\.1:9 for 10 s"):
        await called(make(Away(1000)), context, **args)
    assert context.journal.events == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("sign", ["answered", None])
async def test_what_the_server_says_no_to_is_told_at_once(clock: Clock, sign: Any) -> None:
    server = Away(1, RetrieverError("no such index", sign))
    event = await called(make_local_retriever(server), context_of(clock), query="Heat")
    assert event["error"].startswith("no such index; go on")
    assert (server.asked, clock.slept) == (1, [])


async def test_a_search_that_gets_no_answer_alone_is_given_up(clock: Clock) -> None:
    """Nothing says that it is the server's fault."""
    server = Away(1000, RetrieverError("it did not answer", "lost"))
    event = await called(make_local_retriever(server), context_of(clock), query="Heat")
    assert event["error"].startswith("it did not answer; go on")
    assert (server.asked, clock.slept) == (3, [])


async def test_without_patience_the_model_is_told(clock: Clock) -> None:
    server = Away(1000)
    event = await called(make_local_retriever(server), context_of(clock, 0.0), query="Heat")
    assert event["error"].startswith("it is away; go on")
    assert (server.asked, clock.slept) == (1, [])


async def test_an_expander_waits_for_what_it_looks_in(clock: Clock) -> None:
    passages, kg = Away(3), Away(0)
    context = context_of(clock, question="Who directed King Kong?")
    found = await TitleSearcher(Batcher(passages), kg).look(context)  # type: ignore[arg-type]
    assert [search.error for search in found] == [None, None]
    assert context.waited == pytest.approx(clock.now)
    gone = TitleSearcher(Batcher(Away(1000)))
    with pytest.raises(ServerGoneError):
        await gone.look(context_of(clock, 5.0, question="Who directed King Kong?"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("reaction", "sign"),
    [
        (raw(b""), "lost"),
        (reply(502), "gone"),
        (reply(503), "gone"),
        (reply(504), "answered"),  # the query takes too long there
        (reply(500), "answered"),
        (reply(400), "answered"),
        (reply(503, headers={"Retry-After": "9"}), "answered"),
    ],
)
def test_an_endpoints_failure_says_whether_it_is_there(reaction: Any, sign: str) -> None:
    with FaultyServer() as server:
        server.play(reaction)
        with pytest.raises(KgError) as raised:
            kg_of(server).query("SELECT ?x { ?x ?y ?z }")
    assert raised.value.sign == sign


def test_an_endpoint_where_nothing_listens_is_gone() -> None:
    with FaultyServer() as server:
        kg = kg_of(server)
        server.play(reply(body=rows("good")))
        assert kg.query("SELECT ?x { ?x ?y ?z }").rows
        assert kg.address == kg.name_address == server.url
    with pytest.raises(KgError) as raised:
        kg.query("SELECT ?x { ?x ?y ?z }")
    assert raised.value.sign == "gone"
