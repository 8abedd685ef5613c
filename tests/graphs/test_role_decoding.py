"""Roles with decoding of their own: what is taken, what is refused, what it changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.decoding import Decoding, RoleSettings
from branchwise.base.errors import InputError
from branchwise.commands.declared_options import read_options
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System

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


VALUES = {
    "temperature": st.floats(0, 2),
    "top_p": st.floats(0, 1, exclude_min=True),
    "max_tokens": st.integers(1, 10**6),
    "seed": st.integers(-(2**31), 2**31),
    "reasoning_effort": st.sampled_from(["none", "low", "xhigh"]),
    "extra_body": st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), max_size=3),
    "api": st.sampled_from(["auto", "chat", "responses"]),
}
SETTINGS = st.fixed_dictionaries({}, optional=VALUES)


@given(agent=SETTINGS, own=SETTINGS)
def test_each_setting_is_the_roles_where_it_has_one(agent, own):
    made = with_roles({"expander": own}, **agent).decoding_of("expander")
    for name in RoleSettings.model_fields:
        default = RoleSettings.model_fields[name].default
        assert getattr(made, name) == own.get(name, agent.get(name, default))


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
        (
            "judge.api=respones",
            "--role judge.api: unknown value 'respones'; did you mean responses?",
        ),
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
        (
            "extractor.seed=1",
            "--role: what is set for the extractor has no effect without",
        ),
    ],
)
def test_what_is_refused_is_told_by_its_option(written, said):
    with pytest.raises(InputError) as raised:
        read_options(System, {"role": [written], "expand": True})
    assert said in str(raised.value)
    assert str(raised.value).startswith("--role")


def test_from_python_it_is_refused_likewise():
    with pytest.raises(InputError, match="is not a role"):
        System(role_decoding={"nobody": {}})
