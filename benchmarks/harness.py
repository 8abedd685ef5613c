"""What the harness costs beside a bare loop that makes the same calls.

An in-process model without latency makes five retrieval calls of fifteen passages and then
answers: 6 model turns and 5 tool calls an item. Measured whole: graph, run store on disk, scoring.
The bare loop calls the same model and the same retrieval tool and keeps nothing; LangGraph with
its own tool node makes the same calls in a graph, and keeps nothing either.

    python benchmarks/harness.py [--items 256] [--repeats 5]
"""

import argparse
import asyncio
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from machine import describe_machine

from branchwise.corpora.passages import make_passage
from branchwise.corpora.questions import Answer as GoldAnswer
from branchwise.corpora.questions import Branch, Question
from branchwise.corpora.retrieval import Hit
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System
from branchwise.runs.runner import Part, run_parts
from branchwise.runs.store import RunSpec, RunStore, create_run
from branchwise.runs.store.results import save_scores

Answer = Callable[[Question], Coroutine[Any, Any, None]]

CALLS, PASSAGES, WORDS = 5, 15, 100
TURNS = CALLS + 1
ANSWER = orjson.dumps({"reasoning": "r", "answers": {"default": ["Ann Bell"]}}).decode()


class ScriptedModel(BaseChatModel):
    """Calls the retriever five times, then answers. Takes no time of its own."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        turn = sum(isinstance(message, ToolMessage) for message in messages)
        call = {"name": "local_retriever", "args": {"query": f"query {turn}"}, "id": f"c{turn}"}
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        message = (
            AIMessage("", tool_calls=[call], usage_metadata=usage)
            if turn < CALLS
            else AIMessage(ANSWER, usage_metadata=usage)
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)


class FixedRetriever:
    """Returns fifteen passages out of a thousand at once: retrieval is measured elsewhere."""

    name = "fixed"

    def __init__(self) -> None:
        self.identity: Mapping[str, Any] = {"kind": "fixed"}
        text = " ".join(f"word{n % 37}" for n in range(WORDS))
        self._passages = [make_passage(f"Title {n}", f"{n} {text}") for n in range(1000)]
        self._calls = 0

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self._calls += 1
        start = self._calls * 7 % 900
        return [
            [Hit(p, 1.0 - n / 100) for n, p in enumerate(self._passages[start : start + k])]
            for _ in queries
        ]


class Cost(NamedTuple):
    """Of one pass: wall and processor seconds."""

    wall: float
    cpu: float


def make_questions(count: int) -> list[Question]:
    """`count` ambiguous questions with two branches."""
    gold = (
        Branch(name="Heat (1986 film)", answers=(GoldAnswer(text="Ann Bell"),)),
        Branch(
            name="Heat (1995 film)",
            answers=(GoldAnswer(text="Bob Cole"), GoldAnswer(text="Cy Dane")),
        ),
    )
    return [
        Question(id=f"q{n}", question=f"Who is in Heat {n}?", ambiguous=True, branches=gold)
        for n in range(count)
    ]


def measure(work: Callable[[], Coroutine[Any, Any, None]]) -> Cost:
    """Run once on a fresh event loop."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(work())
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def harness(agent: Agent, questions: list[Question], concurrency: int) -> Cost:
    """Create the run, answer, score: what `branchwise run` does behind its command line."""
    task = get_task("branches")
    spec = RunSpec("branches", "bench", "d", {}, agent.identity, agent.digest, 1, "0")

    async def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            create_run(path, spec, questions)
            with RunStore(path) as store:
                state = await run_parts([Part(store, agent, task)], concurrency=concurrency)
                assert state.done == len(questions), state
                scores = score_items(task, store.reader.answered_items())
                save_scores(store.path, scores.digest, scores.to_json())

    return measure(work)


async def answer_bare(model: BaseChatModel, tool: BaseTool, question: Question) -> None:
    """The same model and tool calls in a plain loop that records nothing."""
    messages: list[BaseMessage] = [SystemMessage("s"), HumanMessage(question.question)]
    while True:
        message = (await model._agenerate(messages)).generations[0].message
        assert isinstance(message, AIMessage)
        messages.append(message)
        if not message.tool_calls:
            orjson.loads(str(message.text))
            return
        messages += [await tool.ainvoke(call) for call in message.tool_calls]


def with_tool_node(model: BaseChatModel, tool: BaseTool) -> Answer:
    """The same calls in a graph of one model node and LangGraph's own tool node."""

    async def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [(await model._agenerate(state["messages"])).generations[0].message]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    compiled = graph.compile()

    async def answer(question: Question) -> None:
        await compiled.ainvoke({"messages": [HumanMessage(question.question)]})

    return answer


def loop(answer: Answer, questions: list[Question], concurrency: int) -> Cost:
    """Answer all questions, `concurrency` at a time."""

    async def work() -> None:
        waiting = iter(questions)

        async def worker() -> None:
            for question in waiting:
                await answer(question)

        await asyncio.gather(*(worker() for _ in range(concurrency)))

    return measure(work)


def report(concurrency: int, items: int, rounds: Sequence[Mapping[str, Cost]]) -> None:
    """Print the medians over the rounds."""
    bare = statistics.median(costs["bare loop"].cpu for costs in rounds)
    for name in rounds[0]:
        wall = statistics.median(costs[name].wall for costs in rounds)
        cpu = statistics.median(costs[name].cpu for costs in rounds)
        print(
            f"{name + f', {concurrency} at once':32}{items / wall:9.0f}"
            f"{1000 * cpu / (items * TURNS):13.2f}{cpu / bare:15.1f}"
        )


def main() -> None:
    """Print items per second and CPU per model turn, harness beside bare loop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    system = System(tools=("local_retriever",), k=PASSAGES)
    agent = Agent(system, model=ScriptedModel(), retriever=FixedRetriever())
    questions = make_questions(options.items)
    print(describe_machine())
    print(
        f"{options.items} items of {TURNS} model turns and {CALLS} retrievals of {PASSAGES} "
        f"passages of {WORDS} words; median of {options.repeats}"
    )
    print(f"{'':32}{'items/s':>9}{'CPU ms/turn':>13}{'ratio to bare':>15}")
    tool, model = agent.tools[0], ScriptedModel()
    graph = with_tool_node(model, tool)
    for concurrency in (1, 64):
        harness(agent, questions[:64], concurrency)
        rounds = [
            {
                "branchwise": harness(agent, questions, concurrency),
                "LangGraph + ToolNode": loop(graph, questions, concurrency),
                "bare loop": loop(partial(answer_bare, model, tool), questions, concurrency),
            }
            for _ in range(options.repeats)
        ]
        report(concurrency, options.items, rounds)


if __name__ == "__main__":
    main()
