"""A setting is declared once: options, keys of study files and digests are made of that."""

import inspect
import re
from pathlib import Path
from typing import Annotated

import pytest
import typer
from annotated_types import Le
from pydantic import BaseModel

from branchwise.agents.decoding import Decoding
from branchwise.base.errors import InputError
from branchwise.base.setting import Setting, declared, digested
from branchwise.cli import load_command
from branchwise.commands.declared_options import read_options
from branchwise.commands.run import run
from branchwise.graphs.system import MODULES, System, all_settings
from branchwise.runs.studies.study import FIELDS, checked_base

NUMBERS = [one for one in all_settings() if one.kind in (int, float) and one.flag and one.word]
VALUES = {bool: True, int: 7, float: 1.0, str: "x"}


def options_of(name: str) -> dict[str, typer.core.TyperOption]:
    command = load_command(name)
    return {opt: one for one in command.params for opt in one.opts + one.secondary_opts}


@pytest.mark.parametrize("command", ["ask", "run"])
def test_every_flag_is_an_option_with_its_help_and_panel(command):
    options = options_of(command)
    for one in all_settings():
        for flag in (one.flag or "").split("/") if one.flag else ():
            assert options[flag].help.startswith(one.setting.help.split(":")[0]), flag
            assert options[flag].rich_help_panel == one.setting.panel


@pytest.mark.parametrize("one", NUMBERS, ids=lambda one: one.word)
def test_option_and_key_of_a_number_make_the_same_system(one):
    most = next((bound.le for bound in one.info.metadata if isinstance(bound, Le)), 7)
    value = min(VALUES[one.kind], most)
    option = one.flag.lstrip("-").replace("-", "_")
    made = System.of({one.path: value})
    assert made == read_options(System, {option: value, "corpus": "C"}).model_copy(
        update={"corpus": None}
    )
    assert checked_base({one.word: value}) == {one.word: value}


def test_a_value_out_of_bounds_is_refused_by_the_option_that_was_written():
    with pytest.raises(InputError, match=r"^--max-turns: Input should be .* 1000; see --help$"):
        read_options(System, {"max_turns": 1001})
    with pytest.raises(InputError, match=r"^--tool-protocol: unknown value 'fax'; known are"):
        read_options(System, {"tool_protocol": "fax"})


def test_words_and_flags_are_distinct_and_modules_are_settings():
    flags = [one.flag for one in all_settings() if one.flag]
    assert len(set(flags)) == len(flags)
    assert len(FIELDS) == sum(one.word is not None for one in all_settings())
    assert {("expander", "expand"), ("extractor", "extract")} == set(MODULES.items())


def test_every_field_that_has_a_default_of_its_own_is_documented_by_its_setting():
    """What is not marked is not written by users: only attempts, which `score` has."""
    marked = {one.path for one in all_settings()}
    nested = {("roles",), ("decoding",), ("budget",), ("asking",)}
    fields = {(name,) for name in System.model_fields} - nested
    fields |= {("decoding", name) for name in Decoding.model_fields}
    assert fields - marked == {("decoding", "attempts")}


def test_a_digest_holds_what_changes_answers():
    class Sampling(BaseModel):
        temperature: Annotated[float | None, Setting()] = None
        stream: Annotated[bool, Setting(changes="requests")] = False
        model: Annotated[str, Setting(changes="sources")] = "offline"
        attempts: int = 6

    assert digested(Sampling(stream=True, attempts=2)) == {"temperature": None}
    assert digested(Sampling(temperature=1, model="other")) == {"temperature": 1}
    assert [one.flag for one in declared(Sampling)] == ["--temperature", "--stream", "--model"]


def test_the_page_of_study_files_names_every_key():
    page = Path(__file__).parents[2] / "examples" / "studies" / "README.md"
    named = set(re.findall(r"`([a-z_]+)`", page.read_text("utf-8")))
    assert set(FIELDS) <= named


def test_commands_take_the_system_without_its_settings_in_their_signature():
    assert "system" not in inspect.signature(run).parameters


def test_settings_of_tasks_stand_among_the_others_or_in_asking():
    given = {"protocol": "guided", "shots": 0}
    system = System(**given)
    assert system == System(asking=given) == System.model_validate(system.model_dump())
    assert system.asking == {"protocol": "guided"}
    assert (system.asked("protocol"), system.asked("hints")) == ("guided", "none")
    names = ["protocol", "at_most", "shots", "reasoning", "hints"]
    assert [name for name in system.model_dump() if name in names] == names
    assert hash(system) != hash(System())
    assert System().model_copy(update=given) == system


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"protocol": "fax"}, r"^System\.asking\.protocol: unknown value 'fax'; known are"),
        ({"at_most": 0}, r"^System\.asking\.at_most: input should be greater .* 1 \(0\); see"),
        ({"asking": {"fax": 1}}, r"^System\.asking\.fax: unknown setting; known are pro"),
        ({"shot": 1}, r"^System: unknown setting 'shot'; did you mean shots"),
    ],
)
def test_what_no_task_has_is_refused_in_one_line(given, refusal):
    with pytest.raises(InputError, match=refusal):
        System(**given)
