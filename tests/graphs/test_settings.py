"""A setting is declared once: options, keys of study files and digests are made of that."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from annotated_types import Ge, Le
from pydantic import BaseModel

from branchwise.agents.decoding import Decoding
from branchwise.base.errors import InputError, SettingError
from branchwise.base.setting import Setting, declared, digested
from branchwise.cli import load_command
from branchwise.commands.declared_options import read_options
from branchwise.corpora.build import build_corpus
from branchwise.corpora.questions import Question, questions_digest
from branchwise.graphs.agent import Agent
from branchwise.graphs.flows import default_flow
from branchwise.graphs.sources import check_search
from branchwise.graphs.system import System, all_settings
from branchwise.runs.studies.schema import load_study
from branchwise.runs.studies.study import FIELDS, checked_section

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
    least = next((bound.ge for bound in one.info.metadata if isinstance(bound, Ge)), 0)
    value = max(min(VALUES[one.kind], most), least)
    option = one.flag.lstrip("-").replace("-", "_")
    module = one.setting.module
    on = {module: 3 if module == "tries" else True} if module not in (None, one.name) else {}
    others = {"corpus": "C", **on}
    read = read_options(System, {option: value, **others})
    assert read == System.of({one.path: value}).model_copy(update=others)
    assert checked_section("base", {one.word: value}, ()) == {one.word: value}


def test_a_value_out_of_bounds_is_refused_by_the_option_that_was_written():
    with pytest.raises(InputError, match=r"^--max-turns: Input should be .* 1000; see --help$"):
        read_options(System, {"max_turns": 1001})
    with pytest.raises(InputError, match=r"^--tool-protocol: unknown value 'fax'; known are"):
        read_options(System, {"tool_protocol": "fax"})


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


def test_what_the_user_says_later_is_in_a_digest(tmp_path):
    """A prompt file of the flow's own is in its systems', what a question brings in its set's."""
    (tmp_path / "readings.md").write_text("Then: $readings")
    system, flow = System(prompts=str(tmp_path)), default_flow()
    assert Agent(system, flow).digest == Agent(System(), flow).digest
    own = replace(flow, own_prompts=frozenset({"readings"}))
    assert Agent(system, own).digest != Agent(System(), own).digest
    asked = [Question(id="q", question="?", meta={"follow_ups": [text]}) for text in ("a", "b")]
    assert questions_digest(asked[:1]) != questions_digest(asked[1:])


def test_the_page_of_study_files_names_every_key():
    page = Path(__file__).parents[2] / "examples" / "studies" / "README.md"
    named = set(re.findall(r"`([a-z_]+)`", page.read_text("utf-8")))
    assert set(FIELDS) <= named


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


ON = {"expand": True}


def with_roles(roles, **settings):
    return System(expand=True, role_decoding=roles, decoding=Decoding(**settings))


def test_a_role_has_its_own_settings_and_else_the_agents():
    system = with_roles(
        {"expander": {"temperature": 0, "seed": None}}, temperature=1.0, seed=7, max_tokens=50
    )
    assert system.decoding_of("expander") == Decoding(temperature=0.0, max_tokens=50)
    assert system.decoding_of("agent") == system.decoding_of("extractor") == system.decoding


def test_what_is_equal_is_written_equally():
    one = with_roles(
        {"judge": {"seed": 1}, "expander": {"seed": 2, "temperature": 1}, "matcher": {}}
    )
    other = with_roles({"expander": {"temperature": 1.0, "seed": 2}, "judge": {"seed": 1}})
    assert one == other
    assert hash(one) == hash(other)
    assert one.model_dump_json() == other.model_dump_json()
    assert System.model_validate_json(one.model_dump_json()) == one
    assert list(one.role_decoding) == ["expander", "judge"]


def test_digests_change_with_the_settings_of_modules_that_are_on_alone():
    plain = Agent(System(**ON)).digest
    for same in ({}, {"expander": {}}, {"judge": {"seed": 1}}, {"extractor": {"seed": 1}}):
        assert Agent(System(**ON, role_decoding=same)).digest == plain
    other = Agent(System(**ON, role_decoding={"expander": {"seed": 1}}))
    assert other.digest != plain
    assert other.identity["model"] == Agent(System(**ON)).identity["model"]
    assert other.identity["expander"]["seed"] == 1


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("expander.temperature=3", "--role expander.temperature: is 3; input should be less than"),
        ("expander.temperature=warm", "--role expander.temperature: is not what it can be"),
        ("expander.seed=1.5", "--role expander.seed: is 1.5"),
        ("judge.api=respones", "--role judge.api: unknown value 'respones'; did you mean"),
        ("expander.temprature=1", "is not a setting of a role; did you mean temperature?"),
        ("expander.temp=1", "is not a setting of a role; did you mean temperature?"),
        ("expander.model=offline", "the setting expander names its model"),
        ("expander.timeout=3", "--role expander.timeout: is not a setting of a role"),
        ("expandr.seed=1", "is not a role with settings of its own; did you mean expander?"),
        ("agent.seed=1", "the agent's are the system's own"),
        ("expander.extra_body={stream: on}", "it is the setting stream"),
        ("expander.extra_body=[1]", "--role expander.extra_body: is not a JSON object"),
        ("expander.reasoning_effort=very high", "is not a short word"),
        ("expander", "'expander' is not a setting; write --role NAME.KEY=VALUE"),
        ("extractor.seed=1", "--role: what is set for the extractor has no effect without"),
    ],
)
def test_what_is_refused_is_told_by_its_option(written, said):
    with pytest.raises(InputError) as raised:
        read_options(System, {"role": [written], "expand": True})
    assert said in str(raised.value)
    assert str(raised.value).startswith("--role")


NO_TOOLS = "no tool returns passages to extract evidence from"
CASES = [
    ({"k": 5}, {"k": 5}, "needs a corpus to search"),
    ({"retriever": "bm25"}, {"retriever": "bm25"}, "needs a corpus to search"),
    ({"extract": True}, {"extraction": True}, NO_TOOLS),
    ({"tools": ["wikisparql"]}, {"tools": ["wikisparql"]},
     "the tool wikisparql has no graph to query"),
    ({"tools": ["local_retriever"]}, {"tools": ["local_retriever"]},
     "the tool local_retriever has no corpus to search"),
]  # fmt: skip


@pytest.fixture
def refused(tmp_path: Path) -> Any:
    """The error of a study with this base, and the line that it names."""
    question = {"id": "q1", "question": "Who?", "answers": {"default": ["Mann"]}}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))

    def refused(base: dict[str, Any]) -> InputError:
        study = {"name": "s", "questions": "q.jsonl", "base": base, "factors": {"seed": [1, 2]}}
        (tmp_path / "s.yaml").write_text(json.dumps(study))
        with pytest.raises(InputError) as error:
            load_study(tmp_path / "s.yaml")
        return error.value

    return refused


@pytest.mark.parametrize(("settings", "base", "what"), CASES)
def test_a_rule_says_the_same_everywhere(settings, base, what, refused):
    options = {"tool" if name == "tools" else name: value for name, value in settings.items()}
    with pytest.raises(SettingError) as of_flags:
        read_options(System, options)
    with pytest.raises(SettingError) as of_agent:
        Agent(System(**settings))
    of_study = refused(base)
    assert of_flags.value.what == of_agent.value.what == what
    assert of_study.what.endswith(what)
    flag, key = ("--kg DIR", "kg: DIR") if "graph" in what else ("--corpus DIR", "corpus: DIR")
    assert str(of_flags.value.remedy).startswith(f"add {flag}")
    assert str(of_study.remedy).startswith(f"add {key}")
    assert str(of_study.where).endswith("s.yaml:1")


def test_calls_for_each_reading_need_an_agent_that_is_told_or_readings(refused: Any) -> None:
    hidden = {"budget_shown": "off", "calls_per_reading": 3}
    with pytest.raises(SettingError) as of_flags:
        read_options(System, hidden)
    for error in (of_flags.value, refused(hidden)):
        assert "has no effect where the agent is not told its budget" in str(error)
    assert read_options(System, {**hidden, "expand": True}).budget.calls_per_reading == 3


@pytest.mark.slow
def test_an_index_that_is_not_there_is_refused_alike(tmp_path: Path, refused: Any) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "p1", "contents": "Heat\nMann."}))
    build_corpus(str(tmp_path / "p.jsonl"), tmp_path / "C")
    for name in (None, "flat", "bm25", "hybrid", "bm52", "dense"):
        with pytest.raises(SettingError) as of_agent:
            Agent(System(corpus=str(tmp_path / "C"), retriever=name))
        of_study = refused({"corpus": "C", "retriever": name})
        assert (of_study.what, of_study.remedy) == (of_agent.value.what, of_agent.value.remedy)


def test_objects_of_this_process_are_sources() -> None:
    check_search(System(k=5, extract=True), ["corpus"], ["local_retriever"])
    with pytest.raises(SettingError, match="no graph to query"):
        check_search(System(), ["corpus"], ["wikidata_search"])
