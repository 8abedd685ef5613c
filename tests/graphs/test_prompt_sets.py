"""Sets of prompts: what a system is told, and which texts its digest covers."""

import asyncio
import re
from itertools import combinations
from typing import get_args

import pytest

from branchwise.agents.prompt_files import PROMPTS
from branchwise.base.prompt_sets import PromptSet
from branchwise.graphs.agent import Agent
from branchwise.graphs.flows import FLOWS, Brief
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL
from branchwise.graphs.system import System
from branchwise.tools.registry import KG_TOOLS, known_tools
from support.corpora.small import bm25_corpus
from support.kg.aurora import aurora_kg

TOOLS = tuple(known_tools())
FACTS = {
    "Passages that you have before you are only counted; others take their places.",
    "The id in brackets is what to cite.",
}
"""What tools say of themselves in every set."""
ADVICE = re.compile(
    r"(?<!\$)readings?\b|namesake|complete|nothing new|rarely|\bnever|both sides|guess|budget"
    r"|\bleave out|remember|left out|in doubt",
    re.IGNORECASE,
)
PUT = [
    (name, protocol) for name in FLOWS for protocol in (DEFAULT_PROTOCOL, *FLOWS[name].protocols)
]
"""Every task, by every protocol that puts its questions."""
SEARCHING = [put for put in PUT if "search" in FLOWS[put[0]].by(put[1]).prompts]
SUBSETS = [named for size in range(1, len(TOOLS) + 1) for named in combinations(TOOLS, size)]


@pytest.fixture(scope="module")
def places(tmp_path_factory, process):
    corpus = bm25_corpus(tmp_path_factory.mktemp("corpus"), {"heat": "Heat\nA film."})
    return {"corpus": str(corpus), "kg": str(aurora_kg(tmp_path_factory.mktemp("graph")))}


@pytest.fixture
def agent_of(places):
    """An agent with these tools, and only what they search."""
    made = []

    def _agent(tools, flow="branches", protocol=DEFAULT_PROTOCOL, **changes):
        used = {"corpus": bool(set(tools) - set(KG_TOOLS)), "kg": bool(set(tools) & set(KG_TOOLS))}
        given = {place: folder for place, folder in places.items() if used[place]}
        system = System(tools=tools, protocol=protocol, **given, **changes)
        made.append(Agent(system, FLOWS[flow].by(protocol)))
        return made[-1]

    yield _agent
    for agent in made:
        asyncio.run(agent.aclose())


def told(agent, setting=None):
    """Everything that the model is told before a question: the system prompt and its tools."""
    prompt = agent.flow.prompts[setting or agent.flow.setting(has_tools=bool(agent.tools))]
    start = agent.beginning(Brief(prompt, "Who?", "Who?")).state["pending"][0].text
    return "\n".join([start, *(tool.description for tool in agent.tools)])


def settings(flow, protocol, tools):
    """How this task is asked with these tools: those that search, or those that do not."""
    without = {"given", "direct"}
    asked = FLOWS[flow].by(protocol).prompts
    return [setting for setting in asked if (setting in without) != bool(tools)]


@pytest.mark.parametrize("put", SEARCHING, ids="-".join)
@pytest.mark.parametrize("of", get_args(PromptSet))
@pytest.mark.parametrize("tools", SUBSETS, ids="+".join)
def test_no_tool_is_named_that_is_not_there(agent_of, tools, of, put):
    agent = agent_of(tools, *put, prompt_set=of)
    text = "\n".join([told(agent), *(str(tool.args) for tool in agent.tools)])
    assert [name for name in TOOLS if name in text and name not in tools] == []
    if not set(tools) & set(KG_TOOLS):
        assert "SPARQL" not in text
    if not set(tools) - set(KG_TOOLS):
        assert "collection of passages" not in text


@pytest.mark.parametrize("flow", FLOWS)
def test_ids_are_to_be_cited_only_where_answers_cite(agent_of, flow):
    cites = FLOWS[flow].format.cites
    assert ("is what to cite" in told(agent_of(("local_retriever",), flow))) == cites


def test_a_digest_covers_the_prompts_that_a_system_can_use(agent_of, tmp_path):
    before = agent_of(("local_retriever",)).digest
    changes = {}
    for name in PROMPTS:
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.md").write_text("Another text.")
        changes[name] = agent_of(("local_retriever",), prompts=str(folder)).digest != before
    assert {name for name, changed in changes.items() if changed} == {
        "answer_with_tools", "passages", "budget", "budget_left", "budget_low", "budget_spent",
        "repair", "text_protocol",
    }  # fmt: skip


def sentences(text):
    return set(filter(None, map(str.strip, re.split(r"(?<=[.?!])\s|\n", text))))


@pytest.mark.parametrize("put", PUT, ids="-".join)
@pytest.mark.parametrize("tools", [(), *SUBSETS[:4], TOOLS], ids="+".join)
def test_the_papers_agent_is_given_no_advice(agent_of, tools, put):
    """None of the default set's sentences, in the settings of the paper's study and in others."""
    plain = {"budget_shown": "off", "repeat_passages": True}
    for setting in settings(*put, tools):
        coached = sentences(told(agent_of(tools, *put), setting))
        paper = agent_of(tools, *put, prompt_set="paper")
        assert sentences(told(paper, setting)) & coached <= FACTS
        plainly = agent_of(tools, *put, prompt_set="paper", **plain)
        assert not ADVICE.findall(told(plainly, setting))


def test_a_set_is_part_of_the_identity(agent_of):
    tools = ("local_retriever",)
    paper = agent_of(tools, prompt_set="paper")
    assert paper.identity["prompt_set"] == "paper"
    assert {"query"} == set(paper.tools[0].args) - {"k"}
    assert paper.digest != agent_of(tools).digest
