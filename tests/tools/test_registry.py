"""The registry: tools by name."""

import json

import pytest
from typer.testing import CliRunner

from branchwise.commands.tools import tools_app
from branchwise.corpora.errors import InputError
from branchwise.tools.registry import ToolContext, known_tools, make_tools
from support.corpora.small import bare_corpus


def test_a_named_tool_is_made_once(echo):
    tools = make_tools(["local_retriever", "local_retriever"], ToolContext(echo))
    assert [tool.name for tool in tools] == ["local_retriever"]


def test_every_known_tool_can_be_made_and_is_called_by_its_name(echo, graph, tmp_path):
    corpus = bare_corpus(tmp_path / "C", {"heat": "Heat\nA film."})
    names = list(known_tools())
    made = make_tools(names, ToolContext(echo, k=5, graph=graph, corpus=corpus))
    assert [tool.name for tool in made] == names


def test_a_graph_tool_without_its_graph_says_what_to_give():
    with pytest.raises(InputError, match=r"wikisparql has no graph to query; add --kg DIR or URL"):
        make_tools(["wikisparql"], ToolContext())


def test_an_unknown_tool_names_the_nearest(echo):
    with pytest.raises(
        InputError, match=r"unknown tool 'local_retriver'; did you mean local_retriever"
    ):
        make_tools(["local_retriver"], ToolContext(echo))
    with pytest.raises(InputError, match=r"unknown tool 'web'; known are local_retriever"):
        make_tools(["web"], ToolContext(echo))


def test_a_tool_without_its_corpus_says_what_to_give():
    with pytest.raises(InputError, match=r"no corpus to search; add --corpus DIR"):
        make_tools(["local_retriever"], ToolContext())


def test_the_command_lists_every_tool():
    shown = CliRunner().invoke(tools_app, ["list"]).stdout.splitlines()
    assert [line.split()[0] for line in shown][: len(known_tools())] == list(known_tools())
    listed = json.loads(CliRunner().invoke(tools_app, ["list", "--json"]).stdout)
    built_in = {one["name"]: one["summary"] for one in listed if one["from"] == "branchwise"}
    assert built_in == known_tools()


def test_help_shows_an_example():
    shown = CliRunner().invoke(tools_app, ["list", "--help"]).stdout
    assert "Example: branchwise tools list" in shown
