"""From Python: what commands can do has the names of their options, and errors are one line."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import branchwise
from branchwise import api
from branchwise.base.errors import InputError
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


def test_questions_are_a_path_or_a_text(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q", "question": "Who?", "answers": ["Mann"]}\n')
    assert branchwise.load_questions(path) == branchwise.load_questions(str(path))
    run = branchwise.run(path, branchwise.System(model="offline"), out=tmp_path / "R")
    assert branchwise.resume(run).state.done == 1


def test_records_are_still_read_by_pydantics_rules() -> None:
    from pydantic import ValidationError

    with pytest.raises(ValidationError):
        branchwise.System.model_validate({"retreiver": "flat"})
