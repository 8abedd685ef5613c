"""`ask --clarify`: asked in a terminal, answered by `--choose`, and left to a program."""

import asyncio
import io
import json
import os
import select
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from branchwise.commands.ask import NOT_CHOSEN, Chooser
from branchwise.graphs.pipeline import PersonAsked
from support.chat_server import Answer, Body, call, fail, say
from support.corpora.small import FILMS, bm25_corpus
from support.runs.clarifying import searching, stage_of
from support.ui.trace_app.terminal import Terminal

HEAT, KONG = "Who made Heat?", "Who made King Kong?"
ASKED = "Which film: the 1995 film, or the 1986 film?"
OPTIONS = ["the 1995 film", "the 1986 film"]
PROMPT = "Choose: "
POSSIBLE = 'say a number from 1 to 2, several as "1,2", "all", or what you mean in your own words'
RICHARDS = "the 1986 film: Richards"
"""The answer's line, on standard output."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bm25_corpus(tmp_path_factory.mktemp("corpus"), FILMS)


@pytest.fixture
def options(chat_server: Any, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    chat_server.play(searching)
    model = f"openai:scripted@{chat_server.url}"
    return ["--clarify", "--corpus", str(corpus), "--k", "2", "--model", model]


@pytest.fixture
def at_terminal(options: list[str], terminal: None) -> Any:
    """The command in a terminal of its own, which has asked."""

    def start(**more: Any) -> Terminal:
        return Terminal("ask", HEAT, *options, controls=True, **more)

    return start


def asked(terminal: Terminal, times: int = 1) -> None:
    terminal.wait_until(lambda: terminal.output.count(PROMPT) == times)


def after_prompt(terminal: Terminal) -> list[str]:
    """The lines behind the last prompt, without what was typed."""
    lines = terminal.output.rpartition(PROMPT)[2].replace("\r", "").split("\n")[1:]
    return [line for line in lines if line]


def test_a_number_is_taken_and_the_answer_shown_with_its_passages(at_terminal, chat_server):
    with at_terminal() as terminal:
        asked(terminal)
        shown = terminal.output.replace("\r", "").split("\n")
        at = shown.index("Which film?")
        assert [line.rstrip() for line in shown[at : at + 3]] == [
            "Which film?",
            "  1  the 1995 film",
            "  2  the 1986 film",
        ]
        assert Counter(map(stage_of, chat_server.requests)) == {"detection": 2, "question": 2}
        terminal.type("2\n")
        assert terminal.ended() == 0
        lines = after_prompt(terminal)
    assert lines[0] == "result    chosen: the 1986 film"
    at = lines.index(RICHARDS)
    assert lines[at + 1].startswith("  [heat-1986] Heat (1986 film): Heat is a film with Burt ")
    assert stage_of(chat_server.requests[-1]) == "option"
    assert chat_server.repeats == 0


def test_what_is_no_choice_is_asked_again(at_terminal: Any, chat_server: Any) -> None:
    with at_terminal() as terminal:
        asked(terminal)
        terminal.type("3\n")
        asked(terminal, 2)
        terminal.type("\n")
        asked(terminal, 3)
        before = len(chat_server.requests)
        terminal.type("1\n")
        assert terminal.ended() == 0
        shown = " ".join(terminal.output.split())
        # The options are shown once.
        assert shown.count("1 the 1995 film") == 1
    assert f"3 unknown option 3; {POSSIBLE} {PROMPT}nothing was said; {POSSIBLE}" in shown
    assert "the 1995 film: Michael Mann" in shown
    assert before == 4


def test_ctrl_c_ends_it_in_one_line(at_terminal: Any) -> None:
    with at_terminal() as terminal:
        asked(terminal)
        terminal.type("\x03")
        assert terminal.ended() == 1
        assert after_prompt(terminal) == ["branchwise: interrupted"]


def test_what_was_typed_before_it_asked_chooses_nothing(at_terminal: Any, chat_server: Any) -> None:
    with at_terminal() as terminal:

        def typed_meanwhile(body: Body) -> Answer:
            if stage_of(body) == "question" and len(body["messages"]) > 2:
                terminal.type("1\n")
                terminal.wait_for("1\r\n")
            return searching(body)

        chat_server.play(typed_meanwhile)
        asked(terminal)
        terminal.type("2\n")
        assert terminal.ended() == 0
        assert RICHARDS in after_prompt(terminal)


def test_what_is_typed_as_soon_as_the_prompt_is_there_is_read(terminal, monkeypatch):
    ours, theirs = os.openpty()

    class Hasty(io.StringIO):
        """A screen whose reader answers before anything else can happen."""

        def write(self, text: str) -> int:
            if PROMPT.strip() in text:
                os.write(ours, b"2\n")
                select.select([theirs], [], [], 60)
            return super().write(text)

    with os.fdopen(theirs) as keyboard, os.fdopen(ours):
        monkeypatch.setattr("sys.stdin", keyboard)
        chooser = Chooser(None, Console(file=Hasty(), force_terminal=True))
        asked = PersonAsked(
            question=HEAT, clarification_question=ASKED, options=OPTIONS, problem=""
        )
        said = asyncio.run(asyncio.wait_for(chooser(asked), 60))
    assert said == "2\n"


def test_it_asks_where_the_steps_go_to_a_file(at_terminal: Any, tmp_path: Path) -> None:
    steps = tmp_path / "steps"
    with at_terminal(errors=steps) as terminal:
        asked(terminal)
        terminal.type("2\n")
        assert terminal.ended() == 0
        assert RICHARDS in after_prompt(terminal)
    assert "result    asks back: Which film" in steps.read_text()


HOSTILE = {
    "options": ["[red]the \x1b[31m1995\x07 film\u202e", "film :smile: " + "long " * 60],
    "answers": {"default": ["\x1b]0;title\x07[link=x]Mann"]},
}


def hostile(body: Body) -> Answer:
    """A model whose every text would like to steer the terminal."""
    match stage_of(body):
        case "question":
            question = f"Which [bold]film\x1b[2J: {'; or '.join(HOSTILE['options'])}?"
            return say(json.dumps({"clarification_question": question}))
        case "option":
            if body.get("tools") and len(body["messages"]) == 2:
                return call("local_retriever", query="film")
            return say(json.dumps({"answers": HOSTILE["answers"]}))
    return searching(body)


def test_hostile_texts_are_shown_as_texts(at_terminal: Any, chat_server: Any) -> None:
    chat_server.play(hostile)
    with at_terminal() as terminal:
        asked(terminal)
        terminal.type("1\n")
        assert terminal.ended() == 0
        drawn = terminal.drawn
    assert "[red]the" in drawn
    assert "[bold]film" in drawn
    assert "[link=x]Mann" in drawn
    assert ":smile:" in drawn
    steers = ("\x1b[31m", "\x1b[2J", "\x1b]", "\x07", "\u202e")
    assert not [escape for escape in steers if escape in drawn]
    # A long option is whole, on several lines.
    assert " ".join(terminal.output.split()).count("long") >= 60


@pytest.mark.slow
def test_a_program_is_told_the_options(options: list[str], type_in: Any, chat_server: Any) -> None:
    code, out, err = type_in("ask", HEAT, *options, "--json")
    assert code == NOT_CHOSEN == 3
    assert json.loads(out) == {
        "question": HEAT, "ambiguous": True, "clarification_question": ASKED, "options": OPTIONS,
        "chosen": [], "answers": {}, "passages": [],
    }  # fmt: skip
    assert err == "branchwise: nothing was chosen; add --choose NUMBERS, TEXT or all\n"
    assert "option" not in map(stage_of, chat_server.requests)


@pytest.mark.slow
def test_a_program_chooses_and_has_the_answer_with_its_passages(options, type_in):
    code, out, err = type_in("ask", HEAT, *options, "--json", "--choose", "2")
    assert (code, err) == (0, "")
    found = json.loads(out)
    passages = found.pop("passages")
    assert found == {
        "question": HEAT, "ambiguous": True, "clarification_question": ASKED, "options": OPTIONS,
        "chosen": ["the 1986 film"], "answers": {"the 1986 film": ["Richards"]},
    }  # fmt: skip
    assert [(one["option"], one["id"]) for one in passages] == [
        ("the 1986 film", "heat-1986"),
        ("the 1986 film", "heat-1995"),
    ]
    assert passages[0]["text"] == "Heat is a film with Burt Reynolds as a bodyguard."
    for all_of_them in ("all", "1,2"):
        choice = ("--json", "--choose", all_of_them)
        everything = json.loads(type_in("ask", HEAT, *options, *choice)[1])
        assert everything["chosen"] == OPTIONS
        assert {one["option"] for one in everything["passages"]} == set(OPTIONS)


@pytest.mark.slow
def test_without_a_terminal_the_options_are_printed(options: list[str], type_in: Any) -> None:
    code, out, err = type_in("ask", HEAT, *options)
    assert code == NOT_CHOSEN
    assert out == f"{ASKED}\n  1  the 1995 film\n  2  the 1986 film\n"
    assert err.endswith("branchwise: nothing was chosen; add --choose NUMBERS, TEXT or all\n")
    code, out, err = type_in("ask", HEAT, *options, "--choose", "the 1986 film")
    assert (code, out.splitlines()[0]) == (0, RICHARDS)


@pytest.mark.slow
def test_a_choice_that_is_none_is_bad_input_with_the_options(options, type_in):
    for choice, *more in (("7",), ("1,7", "--json")):
        code, out, err = type_in("ask", HEAT, *options, "--choose", choice, *more)
        assert code == 2
        assert "the 1986 film" in out
        assert err.endswith(f"branchwise: --choose: unknown option 7; {POSSIBLE}\n")


@pytest.mark.slow
def test_a_question_with_one_reading_is_answered(options: list[str], type_in: Any) -> None:
    code, out, _ = type_in("ask", KONG, *options)
    assert code == 0
    assert out.splitlines()[0] == "default: Cooper; Guillermin"
    found = json.loads(type_in("ask", KONG, *options, "--json", "--choose", "2")[1])
    assert (found["ambiguous"], found["clarification_question"]) == (False, None)
    assert (found["options"], found["chosen"]) == ([], [])
    assert found["answers"] == {"default": ["Cooper", "Guillermin"]}
    assert {one["option"] for one in found["passages"]} == {""}


def test_what_fails_exits_with_1(options: list[str], type_in: Any, chat_server: Any) -> None:
    chat_server.play(lambda body: say("hm") if stage_of(body) == "option" else searching(body))
    code, out, _ = type_in("ask", HEAT, *options, "--json", "--choose", "1")
    assert (code, json.loads(out)["chosen"]) == (1, ["the 1995 film"])
    chat_server.play([fail(400, "no")])
    code, out, err = type_in("ask", HEAT, *options, "--json", "--choose", "1")
    assert (code, out) == (1, "")
    assert err.startswith("branchwise: ")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--clarify", "--choose", " "), "--choose: there is no choice; write options' numbers"),
        (("--choose", "2"), "--choose: has no effect; add --clarify"),
        (("--clarify", "--protocol", "gold-question"), "clarify has no protocol 'gold-question'"),
        (("--clarify", "--shots", "4"), "--shots: has no effect with the protocol default"),
    ],
)
def test_bad_input_is_one_line(type_in: Any, more: tuple[str, ...], said: str) -> None:
    code, out, err = type_in("ask", HEAT, *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
