"""From a spec to a tool: files, modules, entry points, and every way in which there is none."""

import sys
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.base.plugins.declare import read_settings
from branchwise.base.plugins.specs import absolute_spec, find_plugin
from branchwise.tools.plugin_tools import FunctionTool
from branchwise.tools.registry import ToolContext, installed_tools, make_tools
from support.plugins.tool_cases import write_tools

ECHO = '''
@tool
def echo(word: str) -> str:
    """Says it again."""
    return word
'''


def refusal(*specs, **context):
    with pytest.raises(InputError) as refused:
        make_tools(specs, ToolContext(**context))
    said = str(refused.value)
    assert "\n" not in said
    assert refused.value.remedy
    return said


def identity(spec):
    (tool,) = make_tools([spec], ToolContext())
    assert isinstance(tool, FunctionTool)
    return tool.plugin_identity


def test_a_file_is_imported_once_until_it_changes(tmp_path):
    path = write_tools(tmp_path, ECHO)
    first = find_plugin(f"{path}:echo", "tools").object
    assert find_plugin(f"{path}:echo", "tools").object is first
    path.write_text(path.read_text().replace("again", "anew"))
    assert find_plugin(f"{path}:echo", "tools").object is not first
    assert [tool.name for tool in make_tools([f"{path}:echo"] * 2, ToolContext())] == ["echo"]


def test_neighbours_are_imported_and_count_and_folders_may_share_their_names(tmp_path):
    for name, word in (("a: b", "one"), ("b", "two")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "beside.py").write_text(f"WORD = {word!r}\n")
        # An installed module is not shadowed by a neighbour.
        (folder / "colorsys.py").write_text("raise RuntimeError('not me')\n")
        write_tools(folder, f"import beside, colorsys\n{ECHO}\nSAID = beside.WORD\n")
    specs = [f"{tmp_path / name / 'tools.py'}:SAID" for name in ("a: b", "b")]
    first, second = (find_plugin(spec, "tools") for spec in specs)
    assert (first.object, second.object) == ("one", "two")
    assert list(first.source.sha256) == ["beside.py", "tools.py"]
    assert first.source.sha256["beside.py"] != second.source.sha256["beside.py"]
    assert first.source.sha256["tools.py"] == second.source.sha256["tools.py"]
    assert str(tmp_path / "b") not in sys.path
    (tmp_path / "b" / "beside.py").write_text("WORD = 'newer'\n")
    assert find_plugin(specs[1], "tools").object == "newer"


@pytest.mark.slow
def test_entry_points_are_found_by_name_with_their_version(install):
    install("bw_plug_one", ECHO, {"echo": "echo"}, version="2.1")
    assert installed_tools()["echo"] == "bw_plug_one==2.1"
    found = identity("echo")
    assert found["distribution"] == "bw_plug_one==2.1"
    assert list(found["sha256"]) == ["bw_plug_one.py"]
    assert identity("bw_plug_one:echo") == found
    assert "did you mean echo?" in refusal("ecko")
    install("bw_plug_two", ECHO, {"echo": "echo"})
    said = refusal("echo")
    assert "bw_plug_one==2.1" in said
    assert "bw_plug_two==1.0" in said


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (ECHO, "echo"),
        (ECHO + "\ndef make():\n    return echo\n", "make"),
        (ECHO + "\nclass Box:\n    held = echo\n", "Box.held"),
        ("from langchain_core.tools import StructuredTool\n"
         "def echo(word: str) -> str:\n    'Says.'\n    return word\n"
         "made = StructuredTool.from_function(echo)\n", "made"),
    ],
)  # fmt: skip
def test_a_spec_may_name_a_tool_or_a_function_that_makes_one(code, name, tmp_path):
    path = write_tools(tmp_path, code)
    (tool,) = make_tools([f"{path}:{name}"], ToolContext())
    assert tool.name == "echo"


@pytest.mark.parametrize(
    ("code", "name", "what"),
    [
        (ECHO, "ecko", "it does not define 'ecko'; it has echo"),
        (ECHO, "", "names a file but none of its tools"),
        ("def bad():\n    raise ValueError('no')\n", "bad", "ValueError: no"),
        ("def bad():\n    sys.exit(1)\n", "bad", "SystemExit: 1"),
    ],
)
def test_what_is_no_tool_is_refused(code, name, what, tmp_path):
    path = write_tools(tmp_path, code)
    assert what in refusal(f"{path}:{name}" if name else str(path))


def test_what_is_not_there_is_refused(tmp_path):
    needs = write_tools(tmp_path, NEEDS)
    assert "no such file" in refusal(f"{tmp_path}/none.py:x")
    assert "unknown module 'no_such_mod'" in refusal("no_such_mod:x")
    assert "unknown module 'json.nothing'" in refusal("json.nothing:x")
    assert "it does not define 'lods'" in refusal("json:lods")
    assert "corpus needs a corpus; give one with --corpus" in refusal(f"{needs}:corpus")
    assert "graph needs a graph; give one with --kg" in refusal(f"{needs}:graph")
    for text in ("a b:c", "x:1", ":name", "dir/thing", ""):
        refusal(text)


def test_a_tool_may_not_bear_the_name_of_another(tmp_path):
    one = write_tools(tmp_path, ECHO, "one.py")
    two = write_tools(tmp_path, ECHO.replace("again", "anew"), "two.py")
    said = refusal(f"{one}:echo", f"{two}:echo")
    assert f"{one}:echo and {two}:echo" in said
    built_in = write_tools(tmp_path, ECHO.replace("echo", "wikisparql"), "three.py")
    assert "two tools are called wikisparql: a built-in tool" in refusal(f"{built_in}:wikisparql")


NEEDS = '''
class Limits(BaseModel):
    limit: int
    word: str = "a"

@tool(settings=Limits)
def needs(x: int, limits: Limits) -> str:
    """Needs settings."""
    return ""

@tool
def corpus(x: int, corpus: Corpus) -> str:
    """Needs a corpus."""
    return ""

@tool
def graph(x: int, graph: Graph) -> str:
    """Needs a graph."""
    return ""
'''


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({}, "needs.limit: Field required; give it: --set needs.limit=VALUE"),
        ({"limit": "x"}, "needs.limit: Input should be a valid integer"),
        ({"limit": 1, "lmit": 2}, "needs.lmit: needs has no setting 'lmit'; it has limit, word"),
    ],
)
def test_settings_that_do_not_fit_are_refused_by_their_key(settings, what, tmp_path):
    path = write_tools(tmp_path, NEEDS)
    assert what in refusal(f"{path}:needs", settings={"needs": settings})
    [made] = make_tools([f"{path}:needs"], ToolContext(settings={"needs": {"limit": 1}}))
    assert made.plugin_identity["settings"] == {"limit": 1, "word": "a"}


def test_specs_keep_their_meaning_in_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute_spec("a/b.py:c") == f"{tmp_path.resolve()}/a/b.py:c"
    assert absolute_spec("../b.py:c", Path("/x/y")) == "/x/b.py:c"
    for same in ("local_retriever", "package.module:name", "mcp:server a.py:b"):
        assert absolute_spec(same) == same


def test_settings_are_written_as_yaml():
    texts = ["a.n=3", "a.on=true", "b.list=[x, 2]", "b.map={k: v}", "b.day=2024-01-31", "a.e="]
    assert read_settings(texts) == {
        "a": {"n": 3, "on": True, "e": None},
        "b": {"list": ["x", 2], "map": {"k": "v"}, "day": "2024-01-31"},
    }
    assert read_settings(["a.text='x: y=z'"]) == {"a": {"text": "x: y=z"}}


@pytest.mark.parametrize("text", ["", "a=1", "a.b", ".b=1", "a.=1", "a.b=[", "a.b=1 a.b=2"])
def test_what_is_no_setting_is_refused(text):
    with pytest.raises(InputError, match="--set"):
        read_settings(text.split(" ") if " " in text else [text])
