"""A system as one LangGraph graph, for Python: a question in, its answers out.

`build` is a system as runs ask it; `build_clarify` asks a person back in between.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from branchwise.agents.journal import MemoryJournal
from branchwise.base.arguments import typed_arguments
from branchwise.base.errors import InputError
from branchwise.base.text import one_line, whole_characters
from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.graphs.agent import Agent
from branchwise.graphs.base import recursion_limit
from branchwise.graphs.clarify import ClarifyState, different_options
from branchwise.graphs.flows import FLOWS, Brief, Flow, default_flow
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.own_settings import PROTOCOL
from branchwise.graphs.pipeline import Person, PersonAsked
from branchwise.graphs.state import AgentState, ItemContext
from branchwise.graphs.system import System

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.types import Checkpointer

    _Steps = CompiledStateGraph[AgentState, ItemContext, Any, Any]


MAX_QUESTION_CHARS = 100_000
NODE = "branchwise"


class Asked(TypedDict):
    """What a graph of `build` takes."""

    question: str


class Answered(TypedDict):
    """What it gives; plain JSON, so that any checkpointer can keep it.

    `answers`: by branch, its entities. `prediction`: the whole of what was read: `reasoning`,
    `answers`, and `citations` where the format has them. `how`: strict, tolerant, repaired or
    failed; then `problem` says what could not be read. `evidence`: ids of the passages that were
    retrieved, each once, in order. `usage`: by role, model calls, their tokens and seconds.
    """

    answers: dict[str, list[str]]
    prediction: dict[str, Any]
    how: str
    problem: str | None
    evidence: list[str]
    usage: dict[str, dict[str, Any]]


class AskedAndAnswered(Asked, Answered):
    """The state between the two."""


class Clarified(TypedDict):
    """What a graph of `build_clarify` gives; plain JSON.

    `ambiguous`: None where no verdict could be read. `clarification_question` and its `options`:
    what the person was asked; empty where nothing was. `chosen`: what they chose, each an option or
    their own words. `answers`: by what they chose, its answers; where nobody was asked, by reading,
    as `build` gives them. `evidence`: the same of ids of passages; where nobody was asked, all
    under `default`. `how`, `problem` and `usage` as in `Answered`; `usage` counts the calls since
    the last choice.
    """

    ambiguous: bool | None
    clarification_question: str
    options: list[str]
    chosen: list[str]
    answers: dict[str, list[str]]
    evidence: dict[str, list[str]]
    how: str
    problem: str | None
    usage: dict[str, dict[str, Any]]


class AskedAndClarified(Asked, Clarified):
    """The state between the two."""


@typed_arguments
def build(
    system: System,
    answer_format: str | None = None,
    *,
    model: "BaseChatModel | None" = None,
    checkpointer: "Checkpointer" = None,
) -> "CompiledStateGraph[AskedAndAnswered, None, Asked, Answered]":
    """Compile the whole graph of a system: `{"question": str}` in, `Answered` out.

    Its one node, `branchwise`, is the graph that runs use (`[expand]? -> agent <-> (tools ->
    [extract]?) -> answer`), which streams (`subgraphs=True`) and is drawn (`xray=True`) step by
    step. It takes no context: each invocation has a journal of its own, in memory, and nothing is
    recorded. It can be a node of another graph, and be invoked many times at once, from any event
    loop, or without one by `invoke`. With a `checkpointer`, its own or an outer graph's, a question
    whose model failed goes on at the step that failed.

    `answer_format`: one of `FLOWS`, such as free texts by condition, put by the system's protocol;
    by default entities by branch. `model`: a LangChain chat model in the place
    of the system's.

    Raises:
        InputError: what `system` names cannot be had, before anything is asked; or, when it is
            invoked, `question` is not a text.
    """
    known = {name: flow for name, flow in FLOWS.items() if not flow.asks_person}
    flow = default_flow() if answer_format is None else known.get(answer_format)
    if flow is None:
        raise InputError(
            f"unknown answer format {answer_format!r}", remedy=f"known are {', '.join(known)}"
        )
    graph: StateGraph[AskedAndAnswered, None, Asked, Answered] = StateGraph(
        AskedAndAnswered, input_schema=Asked, output_schema=Answered
    )
    _add_node(graph, system, _by_protocol(flow, system), _answered, model)
    return graph.compile(from_any_loop(checkpointer), name=NODE)


@typed_arguments
def build_clarify(
    system: System,
    *,
    model: "BaseChatModel | None" = None,
    checkpointer: "Checkpointer" = None,
) -> "CompiledStateGraph[AskedAndClarified, None, Asked, Clarified]":
    """Compile a graph that asks back: `{"question": str}` in, `Clarified` out.

    A question that the system finds ambiguous is interrupted: `__interrupt__` holds one `Interrupt`
    whose `value` is a `PersonAsked`, the clarification question and its options. Resume the thread
    with numbers, a text or "all": `Command(resume="1,3")`. The choice's answer follows; what is no
    choice is interrupted again, with its `problem`. A question with one reading is answered as it
    is. Nothing is asked again behind an interrupt, in this process or another, so there must be a
    `checkpointer`, its own or an outer graph's. Else as `build`, of whose answer formats it has the
    protocols of the whole pipeline.

    Raises InputError as `build` does.
    """
    graph: StateGraph[AskedAndClarified, None, Asked, Clarified] = StateGraph(
        AskedAndClarified, input_schema=Asked, output_schema=Clarified
    )
    live = next(flow for flow in FLOWS.values() if flow.asks_person)
    _add_node(graph, system, _by_protocol(live, system), _clarified, model, _interrupted)
    return graph.compile(from_any_loop(checkpointer), name=NODE)


async def _interrupted(asked: PersonAsked) -> Any:
    return interrupt(asked)


def _add_node(
    graph: "StateGraph[Any, None, Any, Any]",
    system: System,
    flow: Flow,
    read: "Callable[[Any, Ledger], Any]",
    model: "BaseChatModel | None",
    person: Person | None = None,
) -> None:
    """Add the one node; `read` makes what the graph gives of the state in which the steps end."""
    agent = Agent(system, flow, model=model)
    agent.check_settings()
    steps = agent.graph
    limit = recursion_limit(system.budget, len(agent.nodes))
    loop = _Loop()

    async def answer(steps: "_Steps", state: Asked) -> Any:
        brief = _brief(state, flow, has_tools=bool(agent.tools))
        ledger = Ledger()
        context = ItemContext(
            MemoryJournal(),
            system.budget.seconds,
            question=brief.question,
            ledger=ledger,
            person=person,
        )
        start = agent.beginning(brief).state
        end = await steps.ainvoke(start, {"recursion_limit": limit}, context=context)
        return read(end, ledger)

    # Both name `steps` themselves: LangGraph looks there for the graph within a node.
    async def ask(state: Asked) -> Any:
        return await answer(steps, state)

    def ask_blocking(state: Asked) -> Any:
        return loop.run(answer(steps, state))

    graph.add_node(NODE, RunnableLambda(ask_blocking, ask, name=NODE))
    graph.add_edge(START, NODE)
    graph.add_edge(NODE, END)


def _by_protocol(flow: Flow, system: System) -> Flow:
    """How the system puts such questions, which come without gold."""
    protocol = system.asked(PROTOCOL)
    try:
        asked = flow.by(protocol)
    except KeyError:
        what = f"the answer format {flow.name} has no protocol {protocol!r}"
        raise InputError(what, remedy="leave it out") from None
    if asked.tells_gold:
        what = f"the protocol {protocol} tells what a question set has"
        raise InputError(what, remedy="leave it out")
    return asked


def _brief(state: Mapping[str, Any], flow: Flow, *, has_tools: bool) -> Brief:
    question = state.get("question")
    if not isinstance(question, str) or not question.strip():
        raise InputError(
            "no question was given", remedy='invoke the graph with {"question": "..."}'
        )
    if len(question) > MAX_QUESTION_CHARS:
        raise InputError(
            f"the question has {len(question)} characters",
            remedy=f"use at most {MAX_QUESTION_CHARS}",
        )
    line = one_line(whole_characters(question))
    return Brief(flow.prompts[flow.setting(has_tools=has_tools)], line, line)


def _answered(end: AgentState, ledger: Ledger) -> Answered:
    prediction = end["prediction"].model_dump(mode="json")
    return Answered(
        answers=prediction["answers"],
        prediction=prediction,
        how=end["how"],
        problem=end["problem"],
        evidence=list(dict.fromkeys(end["evidence"])),
        usage=ledger.record(),
    )


def _clarified(end: ClarifyState, ledger: Ledger) -> Clarified:
    asked, chosen = end.get("asked", ""), end.get("chosen", [])
    evidence = {option["option"]: option["evidence"] for option in end.get("answered", ())}
    if not chosen:
        evidence = {DEFAULT_BRANCH: list(dict.fromkeys(end["evidence"]))}
    return Clarified(
        ambiguous=end["ambiguous"],
        clarification_question=asked if chosen else "",
        options=different_options(asked) if chosen else [],
        chosen=chosen,
        answers=end["prediction"].model_dump(mode="json")["answers"],
        evidence=evidence,
        how=end["how"],
        problem=end["problem"],
        usage=ledger.record(),
    )


class _Loop:
    """One event loop for all that is invoked without one: connections stay open between calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, Answered]) -> Answered:
        """Run it there, in the caller's context, and wait; a wait that ends early cancels it."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name=NODE, daemon=True).start()
        done = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return done.result()
        except BaseException:
            done.cancel()
            raise


def from_any_loop(checkpointer: "Checkpointer") -> "Checkpointer":
    """The same checkpointer, also usable in an event loop. The steps are asynchronous even where
    `invoke` is not, and `SqliteSaver` and others have no asynchronous methods: what is missing is
    called on a thread."""
    if isinstance(checkpointer, BaseCheckpointSaver):
        return _FromAnyLoop(checkpointer)
    return checkpointer


class _FromAnyLoop(BaseCheckpointSaver[Any]):
    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver

    @property
    def config_specs(self) -> list[Any]:
        return self._saver.config_specs

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "_FromAnyLoop":
        return _FromAnyLoop(self._saver.with_allowlist(extra_allowlist))

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._saver.get_next_version(current, channel)

    def get_tuple(self, *given: Any, **named: Any) -> Any:
        return self._saver.get_tuple(*given, **named)

    def list(self, *given: Any, **named: Any) -> Iterator[Any]:
        return self._saver.list(*given, **named)

    def put(self, *given: Any, **named: Any) -> Any:
        return self._saver.put(*given, **named)

    def put_writes(self, *given: Any, **named: Any) -> None:
        self._saver.put_writes(*given, **named)

    def delete_thread(self, *given: Any, **named: Any) -> None:
        self._saver.delete_thread(*given, **named)

    async def aget_tuple(self, *given: Any, **named: Any) -> Any:
        return await self._either("get_tuple", *given, **named)

    async def alist(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        try:
            async for one in self._saver.alist(*given, **named):
                yield one
        except NotImplementedError:
            for one in await asyncio.to_thread(lambda: [*self._saver.list(*given, **named)]):
                yield one

    async def aput(self, *given: Any, **named: Any) -> Any:
        return await self._either("put", *given, **named)

    async def aput_writes(self, *given: Any, **named: Any) -> None:
        await self._either("put_writes", *given, **named)

    async def adelete_thread(self, *given: Any, **named: Any) -> None:
        await self._either("delete_thread", *given, **named)

    async def _either(self, method: str, *given: Any, **named: Any) -> Any:
        try:
            return await getattr(self._saver, f"a{method}")(*given, **named)
        except NotImplementedError:
            return await asyncio.to_thread(getattr(self._saver, method), *given, **named)
