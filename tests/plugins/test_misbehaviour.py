"""What a plug-in of any kind does wrong costs that call alone, and is told in one line."""

import textwrap
from collections.abc import Callable
from typing import NamedTuple

import pytest

from branchwise import score
from branchwise.agents.prediction import Prediction
from branchwise.corpora.plugin_retriever import open_plugin
from branchwise.corpora.plugins.declare import KINDS as GROUPS
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.corpora.retrieval import RetrieverError
from branchwise.eval.items import AnsweredItem
from branchwise.eval.plugin_metrics import load_metrics
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from support.plugins.tool_cases import calls_once, run_tools, write_tools

HEAD = "import asyncio, threading\nfrom branchwise import metric, retriever\n"
KINDS = ("tool", "async tool", "node", "async node", "retriever", "metric")


class Came(NamedTuple):
    """What a bad call came to, and whether all else was as it should be."""

    error: str | None
    others_well: bool


def _tool(body, seconds, way, *, chat_server, tmp_path, **_):
    code = f'''
@tool(seconds={seconds})
{way}def bad(how: str, names: list[str]) -> Any:
    """Misbehaves."""
    if how == "well":
        return "well done"
    given = names
{textwrap.indent(body, "    ")}
'''
    ways = [{"how": how, "names": ["a", "b"]} for how in ("badly", "well")]
    chat_server.play(calls_once("bad", *ways))
    ran = run_tools(chat_server, tmp_path, f"{write_tools(tmp_path, code)}:bad")
    wrong = ran.tools["q1"].data
    # A good call, too, may take longer than a short limit on a busy machine.
    good = [ran.tools[q].data["content"] for q in ("q0", "q2")] if seconds > 1 else []
    well = (
        set(good) <= {"well done"}
        and (ran.made.state.done, ran.made.state.failed) == (3, 0)
        and {row.metrics["strict_em"] for row in score(ran.made).items} == {1.0}
        and wrong["call"]["args"] == ways[0]
        and (wrong["error"] is None) == (wrong["failure"] is None)
        and len(ran.shown("Question 1")) < 200_100
    )
    return Came(wrong["error"], well)


def _node(body, seconds, way, *, play, **_):
    code = f'''
import asyncio, threading

@node("after_tools", seconds={seconds})
{way}def bad(state: AgentState):
    """Misbehaves."""
    given = state["pending"]
{textwrap.indent(body, "    ")}
'''
    found = play(code, "bad")
    (record,) = found.nodes
    well = (
        record["update"] == {}
        and found.shown[0].count("[p") == 5
        and len(found.row.outcome["evidence"]) == 5
        and found.row.status == "done"
    )
    return Came(record["error"], well)


def _retriever(body, seconds, way, *, tmp_path, **_):
    path = tmp_path / "retrievers.py"
    path.write_text(f'''{HEAD}
@retriever(seconds={seconds})
def bad():
    """Misbehaves."""
    def search(queries, k):
        if "bad" not in queries:
            return [[{{"id": "p", "text": "well"}}] for _ in queries]
        given = queries
{textwrap.indent(body, "        ")}
    return search
''')
    found, asked, error = open_plugin(f"{path}:bad"), ["bad"], None
    try:
        found.search(asked, 3)
    except RetrieverError as failed:
        error = str(failed)
    well = asked == ["bad"]
    if seconds > 1:
        well = well and found.search(["good"], 3)[0][0].passage.text == "well"
    return Came(error, well)


def _metric(body, seconds, way, *, tmp_path, **_):
    path = tmp_path / "metrics.py"
    path.write_text(f'''{HEAD}
@metric(seconds={seconds})
def bad(item):
    """Misbehaves."""
    if item.question.id != "q2":
        return 1
    given = item.prediction.answers
{textwrap.indent(body, "    ")}
''')
    branch = Branch(name="default", answers=(Answer(text="A"),))
    items = [
        AnsweredItem(
            Question(id=id, question="Who?", ambiguous=False, branches=(branch,)),
            Prediction(answers={"default": ("A",)}),
        )
        for id in ("q1", "q2", "q3")
    ]
    scores = score_items(get_task("branches"), items, metrics=load_metrics([f"{path}:bad"]))
    rows = scores.items
    well = scores.without_plugins() == score_items(get_task("branches"), items)
    if seconds > 1:
        well = well and [rows[0].metrics["bad"], rows[2].metrics["bad"]] == [1.0, 1.0]
    return Came(rows[1].failures.get("bad"), well)


CALLED = {"tool": _tool, "node": _node, "retriever": _retriever, "metric": _metric}
OBJECT = {
    "tool": "it returned a value of type object that JSON cannot hold",
    "node": "returned a object; return {pending: ...} or None",
    "retriever": "returned object; return a list",
    "metric": "returned object; return a number",
}
LONG = {
    "tool": ("return 'x' * 10_000_000", None),
    "node": (
        "return {'pending': [m.model_copy(update={'artifact': {'x': 'y' * 10_000_000}}) "
        "for m in given]}",
        "its artifact is too large",
    ),
    "retriever": (
        "return [[{'text': 'x' * 10_000_000}]]",
        "returned a passage with a wrong text: String should have at most 200000",
    ),
    "metric": ("return 'x' * 10_000_000", "returned str; return a number"),
}
MUTATES = {
    "tool": "given.clear()\nreturn 'well done'",
    "node": (
        "state['messages'].clear()\nstate['evidence'].clear()\n"
        "for m in given:\n    m.content = 'gone'\n    m.artifact['passages'].clear()\n"
        "given.clear()"
    ),
    "retriever": "given.clear()\nreturn [[{'text': 't'}]]",
    "metric": "given.clear()\nitem.question.meta['gone'] = 1\nvars(item).clear()\nreturn 1",
}
Misbehave = Callable[..., Came]


@pytest.fixture
def misbehave(tmp_path, chat_server, play) -> Misbehave:
    """Calls a plug-in of a kind whose bad call has this body."""

    def call(kind: str, body: str, seconds: float = 60) -> Came:
        *way, noun = kind.split()
        settings = {"tmp_path": tmp_path, "chat_server": chat_server, "play": play}
        return CALLED[noun](body, seconds, "".join(f"{w} " for w in way), **settings)

    return call


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_raised_is_told_in_one_line(kind, misbehave):
    came = misbehave(kind, 'raise ValueError("no such\\nfilm")')
    assert came == Came("bad: ValueError: no such film", others_well=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_never_ends_is_given_up_at_its_limit(kind, misbehave):
    is_async = kind.startswith("async")
    wait = "await asyncio.Event().wait()" if is_async else "threading.Event().wait()"
    came = misbehave(kind, wait, seconds=0.2)
    how = "cancelled" if is_async else "abandoned"
    assert came == Came(f"bad: no result within 0.2 seconds ({how})", others_well=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_it_returns_is_not_trusted(kind, misbehave):
    came = misbehave(kind, "return object()")
    assert came.error is not None
    assert came.error.startswith(f"bad: {OBJECT[kind.split()[-1]]}")
    assert came.others_well


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_megabytes_of_result_are_bounded(kind, misbehave):
    body, line = LONG[kind.split()[-1]]
    came = misbehave(kind, body)
    assert (came.error is None) == (line is None)
    assert (came.error or "").startswith(f"bad: {line}" if line else "")
    assert len(came.error or "") < 600
    assert came.others_well


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_it_changes_is_a_copy(kind, misbehave):
    assert misbehave(kind, MUTATES[kind.split()[-1]]) == Came(None, others_well=True)


def test_every_kind_of_plugin_is_here():
    assert {kind.noun for kind in GROUPS.values()} == set(CALLED)
