"""The offline reader: the same messages, the same next message; only what it was shown."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.answer import parse_answer
from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.offline.model import OfflineChatModel
from branchwise.agents.prediction import FORMATS
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec

PROMPTS = Prompts.load()
PASSAGES = {
    "p1": (
        "Night Ferry (1951 film)",
        "Night Ferry is a 1951 thriller film directed by Ada Holm. It stars Tom Reed.",
    ),
    "p2": (
        "Night Ferry (1988 film)",
        "Night Ferry is a 1988 drama. Paul Berg and Mia Lund directed it in Oslo.",
    ),
    "p3": ("Ada Holm", "Ada Holm was a director. She was born in Bergen in 1901."),
    "p4": ("The Lighthouse", "The Lighthouse is a 1960 film directed by Ada Holm."),
    "p5": ("Oslo", "Oslo is a city with 700,000 inhabitants."),
}


@tool
def local_retriever(query: str, k: int = 3) -> str:
    """Search the corpus for passages on a query."""
    asked = set(query.lower().split())
    ranked = sorted(
        PASSAGES, key=lambda p: (-len(asked & set(" ".join(PASSAGES[p]).lower().split())), p)
    )
    return "\n\n".join(f"[{p}] {PASSAGES[p][0]}\n{PASSAGES[p][1]}" for p in ranked[:k])


async def run(question: str, prompt: str = "answer_with_tools") -> tuple[str, list[dict[str, Any]]]:
    """The reader's answer, and the arguments of every call that it made."""
    caller = ModelCaller(ModelSpec.parse("offline"), Decoding(), PROMPTS)
    messages: list[BaseMessage] = [SystemMessage(PROMPTS.render(prompt)), HumanMessage(question)]
    made: list[dict[str, Any]] = []
    for _ in range(6):
        reply = await caller.ask(messages, tools=[local_retriever], journal=MemoryJournal())
        messages.append(reply.message)
        if not reply.message.tool_calls:
            return reply.message.text, made
        for call in reply.message.tool_calls:
            made.append(call["args"])
            messages.append(
                ToolMessage(local_retriever.invoke(call["args"]), tool_call_id=call["id"] or "")
            )
    raise AssertionError("it never answered")


def answers(text: str) -> dict[str, tuple[str, ...]]:
    parsed = parse_answer(text, FORMATS["branches"])
    assert parsed.how == "strict"
    assert parsed.prediction is not None
    return dict(parsed.prediction.answers)


async def test_it_searches_each_reading_and_answers_under_its_title():
    text, made = await run("Who directed Night Ferry?")
    assert answers(text) == {
        "Night Ferry (1951 film)": ("Ada Holm",),
        "Night Ferry (1988 film)": ("Paul Berg", "Mia Lund"),
    }
    queries = [call["query"] for call in made]
    assert queries[0] == "Who directed Night Ferry?"
    assert any("1951" in q for q in queries)
    assert any("1988" in q for q in queries)
    assert len(queries) == len(set(queries)) <= 10


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who directed the 1988 drama Night Ferry?", {"default": ("Paul Berg", "Mia Lund")}),
        ("In which year was Ada Holm born?", {"default": ("1901",)}),
        ("How many inhabitants does Oslo have?", {"default": ("700,000",)}),
        (
            "Which films were directed by Ada Holm?",
            {"default": ("Night Ferry (1951 film)", "The Lighthouse")},
        ),
        ("Who composed Zzyzx?", {}),
    ],
)
async def test_it_reads_what_the_question_word_asks_for(question, expected):
    text, _ = await run(question)
    assert answers(text) == expected


def complete(*messages: BaseMessage, **bound: Any) -> AIMessage:
    message = OfflineChatModel()._generate(list(messages), **bound).generations[0].message
    assert isinstance(message, AIMessage)
    return message


def test_without_tools_and_passages_it_knows_nothing():
    question = HumanMessage("Who directed Night Ferry?")
    assert answers(complete(SystemMessage(PROMPTS.render("answer_directly")), question).text) == {}
    system = SystemMessage(PROMPTS.render("conditions_directly"))
    assert json.loads(complete(system, question).text) == {"conditions": []}


AGENT = SystemMessage(Prompts.load().render("answer_with_tools"))
PAGE = "Night Ferry may refer to:\n  Night Ferry (1951 film): by Ada Holm\n  Night Ferry (song)"


@tool
def pages(name: str) -> str:
    """List what a name may refer to."""
    return PAGE


@tool
def search(query: str) -> str:
    """Search the passages."""
    return "No passage matches the query."


def turn(messages: list[Any], tools: list[Any]) -> list[tuple[str, str]]:
    """The calls of the next turn, by tool and its one argument."""
    model = OfflineChatModel().bind(tools=list(map(convert_to_openai_tool, tools)))
    reply = model.invoke([AGENT, *messages])
    assert isinstance(reply, AIMessage)
    messages.append(reply)
    return [(call["name"], next(iter(call["args"].values()))) for call in reply.tool_calls]


def told(messages: list[Any], *texts: str) -> None:
    """Add the results of the last turn's calls."""
    for call, text in zip(messages[-1].tool_calls, texts, strict=True):
        messages.append(ToolMessage(text, tool_call_id=call["id"], name=call["name"]))


def test_it_asks_for_the_name_once_and_searches_for_every_title_that_is_listed():
    messages: list[Any] = [HumanMessage("Question: Who directed Night Ferry?")]
    first = turn(messages, [pages, search])
    assert first == [("search", "Who directed Night Ferry?"), ("pages", "Night Ferry")]
    told(messages, "No passage matches the query.", PAGE)
    assert turn(messages, [pages, search]) == [
        ("search", "Night Ferry (1951 film) directed"),
        ("search", "Night Ferry (song) directed"),
        ("search", "Night Ferry"),
    ]
