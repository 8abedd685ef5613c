"""Plug-ins in study files: nodes that are on or off, tools and metrics by spec, settings."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from branchwise.base.errors import InputError
from branchwise.graphs.agent import Agent
from branchwise.runs.studies.schema import LoadedStudy, load_study
from support.plugins.node_cases import HEAD, write_questions

PLUGINS = (
    HEAD
    + '''
from branchwise import metric, tool

class Limits(BaseModel):
    most: int = 3

@node("after_tools", settings=Limits)
async def cut(state: AgentState, limits: Limits):
    """Keep the first passages."""
    return {"pending": [with_passages(m, passages_of(m)[:limits.most]) for m in state["pending"]]}

@node("before_agent")
async def brief(state: AgentState):
    """Say more."""
    *before, user = state["pending"]
    return {"pending": [*before, HumanMessage(user.text + " Be brief.")]}

class Years(BaseModel):
    limit: int

@tool(settings=Years)
async def film_year(title: str, years: Years) -> str:
    """Year a film was released. `title`: the film's title."""
    return "1995"

@metric(heading="n", note="predicted answers")
def predicted(item):
    """How many answers were predicted."""
    return float(sum(map(len, item.prediction.answers.values())))
'''
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plugins.py").write_text(PLUGINS)
    write_questions(tmp_path, "Michael Mann", "Paul Morrissey")
    return tmp_path


def load(
    folder: Path, five: str, base: dict[str, Any] | None = None, **changes: Any
) -> LoadedStudy:
    fields: dict[str, Any] = {
        "name": "nodes",
        "questions": "questions.jsonl",
        "nodes": {"first": "plugins.py:cut"},
        "base": {"corpus": five, "k": 5, "tools": ["local_retriever"], **(base or {})},
        "factors": {"first": [False, True]},
    }
    kept = {key: value for key, value in (fields | changes).items() if value is not None}
    (folder / "study.yaml").write_text(yaml.safe_dump(kept, sort_keys=False))
    return load_study(folder / "study.yaml")


def refusal(folder: Path, five: str, **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, five, **changes)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{folder / 'study.yaml'}:")
    line, _, said = message.removeprefix(f"{folder / 'study.yaml'}:").partition(":")
    text = (folder / "study.yaml").read_text().splitlines()[int(line) - 1].strip()
    return f"{text} |{said}"


def test_a_node_is_a_factor_by_the_files_name_for_it(folder: Path, five: str) -> None:
    base, with_node = load(folder, five).systems()
    assert (base.name, with_node.name, with_node.slug) == ("base", "+first", "first")
    assert base.system.nodes == ()
    assert with_node.system.nodes == (f"{folder / 'plugins.py'}:cut",)
    assert dict(with_node.changes) == {"first": True}


def test_nodes_keep_the_files_order_and_combine(folder: Path, five: str) -> None:
    nodes = {"talk": "plugins.py:brief", "first": "plugins.py:cut"}
    factors = {"first": [False, True], "talk": [False, True]}
    found = load(folder, five, nodes=nodes, factors=factors, design="factorial").systems()
    assert [named.name for named in found] == ["base", "+first", "+talk", "+first, +talk"]
    assert [spec.rpartition(":")[2] for spec in found[-1].system.nodes] == ["brief", "cut"]


def test_settings_are_those_of_the_plugins_that_a_system_has(folder: Path, five: str) -> None:
    code = """
from pydantic import BaseModel
from branchwise import retriever

class Own(BaseModel):
    shift: int = 0

@retriever
def mine(settings: Own):
    '''Nothing at all.'''
    return lambda queries, k: [[] for _ in queries]
"""
    (folder / "searching.py").write_text(code)
    factors = {
        "first": [False, True],
        "tools": [["local_retriever"], ["plugins.py:film_year"]],
        "retriever": ["bm25", "searching.py:mine"],
    }
    settings = {"cut": {"most": 2}, "film_year": {"limit": 3}, "mine": {"shift": 2}}
    found = load(folder, five, factors=factors, settings=settings).systems()
    of_tool = found[2]
    assert of_tool.name == "tools: +film_year -local_retriever"
    assert [named.system.settings for named in found] == [
        {},
        {"cut": {"most": 2}},
        {"film_year": {"limit": 3}},
        {"mine": {"shift": 2}},
    ]
    assert [tool.name for tool in Agent(of_tool.system).tools] == ["film_year"]
    settings["mine"] = {"shft": 2}
    said = refusal(folder, five, factors=factors, settings=settings)
    assert "mine has no setting 'shft'" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"nodes": {"first": "plugin.py:cut"}},
         "first: plugin.py:cut | the node first: no such file"),
        ({"nodes": {"first": "plugins.py:cutt"}}, "it has cut"),
        ({"nodes": {"first": "plugins.py:film_year"}}, "is a tool, not a node; name it with"),
        ({"nodes": {"first": "plugins.py:cut", "expansion": "plugins.py:brief"}},
         "'expansion' is already a setting"),
        ({"nodes": {"first": "plugins.py:cut", "a b": "plugins.py:brief"}},
         "'a b' is not a name for a node"),
        ({"nodes": ["plugins.py:cut"]}, "nodes is a list"),
        ({"nodes": {"first": "plugins.py:cut", "other": "plugins.py:brief"}},
         "other: plugins.py:brief | the node other is off in every system"),
        (
            {
                "nodes": {"first": "plugins.py:cut", "same": "plugins.py:cut"},
                "base": {"same": True},
            },
            "the nodes first and same are both called 'cut'",
        ),
        ({"factors": {"frist": [False, True]}}, "unknown factor 'frist'; did you mean first?"),
        ({"base": {"frist": True}}, "unknown key 'frist'; did you mean first?"),
        ({"factors": {"first": ["x", True]}}, "write on or off"),
        ({"settings": {"cutt": {"most": 2}}}, "no plug-in is called 'cutt'; did you mean cut?"),
        ({"settings": {"cut": {"mosst": 2}}}, "cut has no setting 'mosst'"),
        ({"settings": {"cut": {"most": "x"}}}, "most: x | cut.most: Input should be a valid"),
        ({"metrics": ["nothing"]}, "- nothing | metrics: "),
        ({"base": {"tools": ["plugins.py:year"]}}, "- plugins.py:year | tools: "),
        ({"base": {"tools": ["plugins.py:film_year"]}}, "film_year.limit"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_line(
    folder: Path, five: str, changes: dict[str, Any], said: str
) -> None:
    assert said in refusal(folder, five, **changes).replace(" (", "; ", 1).replace(": did", "; did")
