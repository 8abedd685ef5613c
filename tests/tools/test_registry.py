"""The registry: tools by name."""

import json

from typer.testing import CliRunner

from branchwise.commands.tools import tools_app
from branchwise.tools.registry import ToolContext, known_tools, make_tools
from support.corpora.small import bare_corpus


def test_a_named_tool_is_made_once(echo):
    tools = make_tools(["local_retriever", "local_retriever"], ToolContext(echo))
    assert [tool.name for tool in tools] == ["local_retriever"]


def test_every_known_tool_can_be_made_and_is_called_by_its_name(echo, kg, tmp_path):
    corpus = bare_corpus(tmp_path / "C", {"heat": "Heat\nA film."})
    names = list(known_tools())
    made = make_tools(names, ToolContext(echo, k=5, kg=kg, corpus=corpus))
    assert [tool.name for tool in made] == names


def test_the_command_lists_every_tool():
    shown = CliRunner().invoke(tools_app, ["list"]).stdout.splitlines()
    assert [line.split()[0] for line in shown][: len(known_tools())] == list(known_tools())
    listed = json.loads(CliRunner().invoke(tools_app, ["list", "--json"]).stdout)
    built_in = {one["name"]: one["summary"] for one in listed if one["from"] == "branchwise"}
    assert built_in == known_tools()
