"""From Python: what commands can do has the names of their options, and errors are one line."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import branchwise
from branchwise import api, tool
from branchwise.base.errors import InputError
from branchwise.base.plugins.specs import find_plugin
from branchwise.base.python_words import in_python
from branchwise.cli import load_command
from branchwise.graphs.compiled import build
from branchwise.graphs.system import all_settings

ONLY_TYPED = {
    "run": {"dry_run", "estimate_from", "json"},
    "resume": {"json"},
    "ask": {"json", "clarify", "choose"},
    "score": {"json", "full"},
    "ablate": {"dry_run", "estimate_from", "json"},
}
"""Options that print something, or ask the user: Python asks back through a graph's interrupts."""
ONLY_PYTHON = {
    "run": {"system", "progress", "observer"},
    "resume": {"progress", "observer"},
    "ask": {"system"},
    "score": set(),
    "ablate": {"progress"},
}
NAMES = {"dir": "path"}


def options_of(name: str) -> set[str]:
    """The options and arguments of a command, as parameters are called; of a system's none."""
    settings = {one.flag.partition("/")[0] for one in all_settings() if one.flag}
    found = set()
    for one in load_command(name).params:
        if one.name == "help" or (settings & set(one.opts) and name in ("run", "ask")):
            continue
        word = max(one.opts, key=len).lstrip("-").replace("-", "_")
        found.add(f"{word.removesuffix('s')}s" if one.multiple else word)
    return found


@pytest.mark.parametrize("name", ["run", "resume", "ask", "score", "ablate"])
def test_parameters_are_called_as_options_are(name: str) -> None:
    function: Callable[..., Any] = getattr(api, name)
    parameters = set(inspect.signature(function).parameters) - ONLY_PYTHON[name]
    typed = options_of(name) - ONLY_TYPED[name]
    first = {"score": {"path": "run"}}.get(name, {})
    assert parameters == {first.get(one, one) for one in typed}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: branchwise.System("offline"), "System: settings are given by name; System(model="),
        (lambda: branchwise.System(retreiver="flat"),
         "System: unknown setting 'retreiver'; did you mean retriever?"),
        (lambda: branchwise.System(max_turns=3), "write budget={'turns': ...}"),
        (lambda: branchwise.System(temperature=0), "write decoding={'temperature': ...}"),
        (lambda: branchwise.System(budget={"turns": 0}),
         "System.budget.turns: input should be greater than or equal to 1 (0)"),
        (lambda: branchwise.Budget(turn=1), "Budget: unknown setting 'turn'; did you mean turns"),
        (lambda: branchwise.run("q.jsonl", branchwise.System(), limits=3),
         "run: there is no parameter 'limits'; did you mean limit?"),
        (lambda: branchwise.run("q.jsonl", branchwise.System(), model="offline"),
         "run: there is no parameter 'model'; it is a setting: System(model=...)"),
        (lambda: branchwise.run("q.jsonl", branchwise.System(), patience="soon"),
         "RunOptions.patience: is not a duration ('soon'); write seconds, or a number with s, m"),
        (lambda: branchwise.score(), "score: it is not clear what to score; give either a run"),
        (lambda: branchwise.score("R", pricse="p"), "did you mean prices?"),
        (lambda: branchwise.ask(" ", branchwise.System()), "the question is empty"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_what_was_meant(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


SYSTEM = branchwise.System()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: branchwise.run(3, SYSTEM),
            "run: questions is of the type int; give a str or Path or list or QuestionSet",
        ),
        (lambda: branchwise.run([{}], SYSTEM), 'row 1: lacks "question"; write what is asked'),
        (lambda: branchwise.run("q.jsonl", None), "run: system is None; give a System"),
        (lambda: branchwise.run("q.jsonl", {}), "run: system is of the type dict; give a System"),
        (lambda: branchwise.run("q.jsonl", SYSTEM, 3), "run: options is of the type int; give a"),
        (lambda: branchwise.run("q.jsonl", SYSTEM, ids="q"), "run: ids is of the type str; give a"),
        (lambda: branchwise.run("q.jsonl", SYSTEM, out=3), "run: out is of the type int; give a"),
        (lambda: branchwise.resume(None), "resume: path is None; give a Run or Path or str"),
        (lambda: branchwise.merge("S1", "S"), "merge: runs is of the type str; give a list"),
        (lambda: branchwise.merge(["S1", 2], "S"), "run is of the type int; give a Run or Path"),
        (lambda: branchwise.ask(None, SYSTEM), "ask: question is None; give a str"),
        (
            lambda: branchwise.ask("Who?", "offline"),
            "ask: system is of the type str; give a System",
        ),
        (lambda: branchwise.score(3), "score: run is of the type int; give a Run or Path or str"),
        (
            lambda: branchwise.score(questions="q.jsonl", predictions=[]),
            "score: predictions is of the type list; give a Path or str",
        ),
        (lambda: branchwise.compare("a", 2), "compare: others is of the type int; give a Run or"),
        (lambda: branchwise.load_questions(3), "load_questions: source is of the type int; give a"),
        (
            lambda: branchwise.load_questions("csv:q.csv", fields="question=q"),
            "load_questions: fields is of the type str; give a dict or list",
        ),
        (lambda: build("offline"), "build: system is of the type str; give a System"),
    ],
)
def test_an_argument_of_another_type_is_one_line(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_no_metric_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q", "question": "Who?", "answers": ["Mann"]}\n')
    run = branchwise.run(path, branchwise.System(model="offline"), out=tmp_path / "R")
    for wrong, said in (([lambda item: 1], "metrics: <lambda> is not a metric; declare"),
                        (3, "metrics: int is not a metric"),
                        ("none.py:f", "no such file: none.py")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            branchwise.score(run, metrics=wrong)


def test_questions_are_a_path_or_a_text(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q", "question": "Who?", "answers": ["Mann"]}\n')
    assert branchwise.load_questions(path) == branchwise.load_questions(str(path))
    run = branchwise.run(path, branchwise.System(model="offline"), out=tmp_path / "R")
    assert branchwise.resume(run).state.done == 1


@tool
def shouted(word: str) -> str:
    """Shout.

    Args:
        word: what to shout.
    """
    return word.upper()


def test_a_system_takes_paths_and_decorated_functions_and_does_not_change() -> None:
    system = branchwise.System(corpus=Path("C"), tools=["local_retriever", shouted], k=5)
    assert (system.corpus, system.tools) == ("C", ("local_retriever", f"{__name__}:shouted"))
    assert find_plugin(system.tools[1], "tools").object("a") == "A"
    changed = system.with_(k=3, protocol="guided")
    assert (changed.k, changed.corpus, changed.asked("protocol")) == (3, "C", "guided")
    assert repr(branchwise.System(k=3)) == "System(k=3)"
    assert repr(branchwise.System()) == "System()"

    @tool
    def hidden(word: str) -> str:
        """Hide.

        Args:
            word: what to hide.
        """
        return word

    for call, said in (
        (lambda: setattr(system, "k", 3), "does not change; make another: system.with_(k=...)"),
        (lambda: system.with_(kk=3), "System: unknown setting 'kk'"),
        (lambda: branchwise.System(tools=[hidden]), 'name that: "file.py:hidden"'),
        (lambda: branchwise.System(tools=[len, lambda x: x]), "is a function that is not decor"),
        (lambda: branchwise.Run("R"), "open one: branchwise.open_run('R')"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            call()


def test_what_has_ended_is_opened_without_what_it_searched(tmp_path: Path) -> None:
    rows = [{"id": id, "question": "Who?", "answers": [id]} for id in ("a", "b")]
    system = branchwise.System(model="offline", tools=[])
    run = branchwise.run(rows, system, out=tmp_path / "R")
    assert repr(branchwise.open_run(tmp_path / "R")) == repr(run)
    questions = branchwise.load_questions(rows)
    study = branchwise.run([questions[:1], questions[1:]], system, out=tmp_path / "S")
    opened = branchwise.open_run(study.path)
    assert repr(opened) == repr(study)
    assert opened.state.done == 2
    again = re.escape(
        f"continue it with branchwise.resume({str(run.path)!r}) or choose another out"
    )
    with pytest.raises(InputError, match=again):
        branchwise.run(rows, system, out=run.path)
    with pytest.raises(InputError, match=r"made by branchwise\.run\(out=\.\.\.\)"):
        branchwise.open_run(tmp_path / "none")
    with pytest.raises(InputError, match="holds no questions; give one at least"):
        branchwise.run(questions[:0], system, out=tmp_path / "E")


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("choose a larger --limit or other --ids", "choose a larger limit or other ids"),
        ("add --corpus DIR", "add corpus=DIR"),
        ("--field", "fields"),
        ("continue it: branchwise resume /a/b", "continue it: branchwise.resume('/a/b')"),
        (
            "ask first: branchwise score r/a --judge openai:m",
            "ask first: branchwise.score('r/a', judge='openai:m')",
        ),
        ("made by `branchwise run --out`", "made by branchwise.run(out=...)"),
        ("use `branchwise corpus index C --kind bm25`",) * 2,
        ("rebuild it: branchwise corpus index C --kind flat",) * 2,
        ("or start it: ray start --head",) * 2,
        ("a name like a--b or -- alone",) * 2,
    ],
)
def test_options_are_told_as_parameters(typed: str, written: str) -> None:
    assert in_python(typed) == written


def test_records_are_still_read_by_pydantics_rules() -> None:
    from pydantic import ValidationError

    with pytest.raises(ValidationError):
        branchwise.System.model_validate({"retreiver": "flat"})
