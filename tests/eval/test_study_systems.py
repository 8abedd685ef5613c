"""Which systems a study comes to, what they are made of, and what they are called."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.commands.declared_options import read_options
from branchwise.graphs.system import System
from branchwise.runs.studies.names import (
    MAX_NAME,
    MAX_SLUG,
    distinct_names,
    setting_name,
    slugs,
    system_name,
)
from branchwise.runs.studies.study import Study, written_settings
from branchwise.runs.studies.systems import NamedSystem, systems_of
from support.eval.study_cases import BASE, KG, load

SEARCH = ["local_retriever"]


def systems(parts: Path, **changes: Any) -> tuple[NamedSystem, ...]:
    return load(parts, **changes).systems()


def names(parts: Path, **changes: Any) -> list[str]:
    return [named.name for named in systems(parts, **changes)]


def test_vary_is_the_base_and_each_other_value_alone(parts: Path) -> None:
    factors = {"expansion": [False, True], "tools": [SEARCH, KG], "k": [3, 5, 15]}
    found = systems(parts, factors=factors)
    assert [named.name for named in found] == [
        "base", "+expansion", "tools: +wikisparql +wikidata_search", "k=3", "k=15",
    ]  # fmt: skip
    assert [dict(named.changes) for named in found] == [
        {}, {"expansion": True}, {"tools": tuple(KG)}, {"k": 3}, {"k": 15},
    ]  # fmt: skip
    base = found[0].system
    assert (base.expand, base.tools, base.k) == (False, ("local_retriever",), 5)
    for named in found[1:]:
        differing = [
            field for field in type(base).model_fields
            if getattr(named.system, field) != getattr(base, field)
        ]  # fmt: skip
        assert len(differing) == 1, named.name


def test_factorial_is_every_combination_once_and_the_base_first(parts: Path) -> None:
    factors = {"expansion": [True, False], "k": [3, 5, 15], "temperature": [0.0, 1.0]}
    base = {**BASE, "expansion": False, "temperature": 1.0}
    found = systems(parts, base=base, factors=factors, design="factorial")
    combinations = [(s.system.expand, s.system.k, s.system.decoding.temperature) for s in found]
    assert combinations[0] == (False, 5, 1.0)
    assert sorted(combinations) == sorted(product((True, False), (3, 5, 15), (0.0, 1.0)))
    assert found[0].name == "base"
    assert [named.name for named in found[1:6]] == [
        "+expansion", "k=3", "k=15", "temperature=0.0", "+expansion, k=3",
    ]  # fmt: skip
    assert found[-1].name == "+expansion, k=15, temperature=0.0"
    assert found[-1].changes == {"expansion": True, "k": 15, "temperature": 0.0}


def test_combinations_may_be_left_out(parts: Path) -> None:
    changes = {"factors": {"expansion": [False, True], "k": [3, 5]}, "design": "factorial"}
    base = {**BASE, "expansion": False, "k": 3}
    assert names(parts, base=base, **changes) == ["base", "+expansion", "k=5", "+expansion, k=5"]
    found = names(parts, base=base, leave_out=[{"expansion": True, "k": 5}], **changes)
    assert found == ["base", "+expansion", "k=5"]
    assert names(parts, base=base, leave_out=[{"k": 5}], **changes) == ["base", "+expansion"]


@pytest.mark.parametrize(
    ("leave_out", "design", "said"),
    [
        ([{"temperature": 1.0}], "factorial", "temperature is not a factor"),
        ([{"k": 7}], "factorial", "k never is 7; name one of its values"),
        ([{"k": 3}], "factorial", "would leave out the base"),
        ([{}], "factorial", "names no combination"),
        ([{"expansion": True, "k": 5}], "vary", "no system changes several factors; write design"),
        ([{"k": "five"}], "factorial", "k"),
        ({"k": 5}, "factorial", "is not a list of combinations"),
    ],
)
def test_what_leaves_out_nothing_is_refused_with_its_line(parts, leave_out, design, said):
    factors = {"expansion": [False, True], "k": [3, 5]}
    base = {**BASE, "expansion": False, "k": 3}
    with pytest.raises(InputError, match=re.escape(said)) as refused:
        load(parts, base=base, factors=factors, design=design, leave_out=leave_out).systems()
    assert re.match(r".*:\d+: ", str(refused.value))


def test_a_value_of_the_base_that_its_factor_lacks_comes_first(parts: Path) -> None:
    assert names(parts, factors={"k": [3, 15]}) == ["base", "k=3", "k=15"]
    found = systems(parts, factors={"k": [3, 15], "expansion": [False, True]}, design="factorial")
    assert [named.system.k for named in found] == [5, 3, 15, 5, 3, 15]


def test_where_the_base_is_silent_the_first_value_is_its_own(parts: Path) -> None:
    base = {"corpus": "corpus"}
    found = systems(parts, base=base, factors={"k": [15, 3], "expansion": [True, False]})
    assert (found[0].system.k, found[0].system.expand) == (15, True)
    assert [named.name for named in found] == ["base", "k=3", "-expansion"]


def test_null_is_the_default(parts: Path) -> None:
    found = systems(parts, base={"corpus": "corpus"}, factors={"k": [None, 5]})
    assert [named.system.k for named in found] == [None, 5]
    found = systems(parts, base={**BASE, "prompts": "short"}, factors={"prompts": [None, "short"]})
    assert [(one.name, one.system.prompts) for one in found] == [
        ("base", str(parts.resolve() / "short")),
        ("prompts=built-in", None),
    ]
    found = systems(parts, factors={"tools": [None, SEARCH, []]})
    assert [named.name for named in found] == ["base", "tools: all", "tools: none"]


def test_a_system_is_what_the_command_line_would_make_of_the_same_words(parts: Path) -> None:
    base = {
        **BASE,
        "model": "openai:gpt-6-luna", "retriever": "bm25", "prompts": "short",
        "tools": KG, "expansion": True, "extraction": True, "temperature": 0.5,
        "max_tokens": 900, "seed": 3, "tool_protocol": "text", "structured": "off",
        "stream": True, "timeout": 7.5, "max_turns": 6, "max_calls": 9,
        "max_tokens_total": 50_000, "max_seconds": 60.5,
        "expander": "openai:a", "extractor": "openai:b@http://h:1/v1",
    }  # fmt: skip
    at = parts.resolve()
    options = {
        "model": "openai:gpt-6-luna", "prompts": at / "short", "corpus": at / "corpus",
        "retriever": "bm25", "k": 5, "kg": str(at / "graph"), "tool": KG, "expand": True,
        "extract": True, "expander": "openai:a", "extractor": "openai:b@http://h:1/v1",
        "temperature": 0.5, "max_tokens": 900, "seed": 3, "tool_protocol": "text",
        "structured": "off", "stream": True, "timeout": 7.5, "max_turns": 6, "max_calls": 9,
        "max_tokens_total": 50_000, "max_seconds": 60.5,
    }  # fmt: skip
    made = systems(parts, base=base, factors={"k": [3, 5]})[0].system
    assert made == read_options(System, options)
    silent = systems(parts, base={}, factors={"max_turns": [12, 3]})[0].system
    assert silent == read_options(System, {})


def test_a_model_of_a_module_is_left_out_where_the_module_is_off(parts: Path) -> None:
    base = {**BASE, "expander": "openai:small"}
    found = systems(parts, base=base)
    assert [named.system.roles.expander for named in found] == [None, "openai:small"]
    base = {**BASE, "extraction": True}
    found = systems(parts, base=base, factors={"extractor": ["openai:a", "openai:b"]})
    assert [named.system.roles.extractor for named in found] == ["openai:a", "openai:b"]


def test_addresses_stay_and_paths_become_absolute(parts: Path) -> None:
    base = {**BASE, "kg": "https://query.example/sparql", "corpus": "./corpus"}
    retrievers = ["bm25", "http://localhost:8000/retrieve", "flashrag:prices.yaml"]
    found = systems(parts, base=base, factors={"retriever": retrievers})
    at = parts.resolve()
    assert found[0].system.kg == "https://query.example/sparql"
    assert found[0].system.corpus == str(at / "corpus")
    assert [named.system.retriever for named in found] == [
        "bm25", "http://localhost:8000/retrieve", f"flashrag:{at}/prices.yaml",
    ]  # fmt: skip
    assert [named.name for named in found] == [
        "base", "retriever=http://localhost:8000/retrieve", "retriever=flashrag:prices.yaml",
    ]  # fmt: skip


@pytest.mark.slow
def test_tools_are_named_by_what_comes_and_goes(parts: Path) -> None:
    factors = {"tools": [KG, SEARCH, ["wikisparql"], ["wikisparql", *SEARCH], []]}
    assert names(parts, base={**BASE, "tools": SEARCH}, factors=factors) == [
        "base", "tools: +wikisparql +wikidata_search", "tools: +wikisparql -local_retriever",
        "tools: +wikisparql", "tools: none",
    ]  # fmt: skip
    swapped = [[*SEARCH, "wikisparql"], ["wikisparql", *SEARCH]]
    assert names(parts, factors={"tools": swapped}, base={**BASE, "tools": swapped[0]}) == [
        "base", "tools: wikisparql local_retriever",
    ]  # fmt: skip


def test_models_are_named_without_their_server_unless_that_is_the_difference(parts: Path) -> None:
    here, there = "openai:Qwen/Qwen3-8B@http://a:1/v1", "openai:Qwen/Qwen3-8B@http://b:1/v1"
    assert names(parts, factors={"model": ["offline", "openai:gpt-6-luna", here]}) == [
        "base", "model=gpt-6-luna", "model=Qwen/Qwen3-8B",
    ]  # fmt: skip
    found = systems(parts, factors={"model": ["offline", here, there]})
    assert [named.name for named in found[1:]] == [
        "model=openai:Qwen/Qwen3-8B@http://a:1/v1", "model=openai:Qwen/Qwen3-8B@http://b:1/v1",
    ]  # fmt: skip
    assert len({named.slug for named in found}) == 3


def test_each_of_several_models_has_a_base_and_what_is_changed_of_it(parts: Path) -> None:
    models = ["openai:gpt-6.2-sol", "openai:Qwen/Qwen3-8B@http://a:1/v1", "offline"]
    base = {**BASE, "models": models}
    found = systems(parts, base=base, factors={"expansion": [False, True], "k": [5, 3]})
    short = ("gpt-6.2-sol", "Qwen/Qwen3-8B", "offline")
    settings = ("base", "+expansion", "k=3")
    assert [(one.model, one.setting, one.base) for one in found] == [
        (model, setting, model) for model, setting in product(short, settings)
    ]
    assert [one.name for one in found[:4]] == [
        "gpt-6.2-sol", "gpt-6.2-sol, +expansion", "gpt-6.2-sol, k=3", "Qwen/Qwen3-8B",
    ]  # fmt: skip
    assert [one.slug for one in found[3:6]] == [
        "qwen-qwen3-8b", "qwen-qwen3-8b-expansion", "qwen-qwen3-8b-k-3",
    ]  # fmt: skip
    assert [dict(one.changes) for one in found] == [{}, {"expansion": True}, {"k": 3}] * 3
    # Each is what a study of that model alone makes of it.
    for n, model in enumerate(models):
        alone = systems(
            parts, base={**BASE, "model": model}, factors={"expansion": [False, True], "k": [5, 3]}
        )
        assert [one.system for one in alone] == [one.system for one in found[3 * n : 3 * n + 3]]
        assert [(one.name, one.setting, one.base) for one in alone] == [
            (setting, setting, "base") for setting in settings
        ]
        assert {one.model for one in alone} == {short[n]}


def test_models_of_one_name_are_told_apart_by_their_servers(parts: Path) -> None:
    here, there = "openai:Qwen3@http://a:1/v1", "openai:Qwen3@http://b:1/v1"
    assert names(parts, base={**BASE, "models": [here, there]}) == [
        here, f"{here}, +expansion", there, f"{there}, +expansion",
    ]  # fmt: skip
    long = [f"openai:Q@http://{'x' * 50}{n}{'y' * 50}:1/v1" for n in range(2)]
    found = systems(parts, base={**BASE, "models": long})
    for what in ("name", "slug"):
        assert len({getattr(named, what) for named in found}) == 4
    assert len({named.model for named in found}) == 2


def test_a_model_that_is_a_factor_is_told_beside_what_else_is_changed(parts: Path) -> None:
    factors = {"model": ["openai:a", "openai:b"], "expansion": [False, True]}
    found = systems(parts, factors=factors, design="factorial")
    assert [(one.name, one.model, one.setting, one.base) for one in found] == [
        ("base", "a", "base", "base"),
        ("model=b", "b", "base", "base"),
        ("+expansion", "a", "+expansion", "base"),
        ("model=b, +expansion", "b", "+expansion", "base"),
    ]


def test_a_run_is_told_from_another_in_the_words_of_a_study_file() -> None:
    def kept(**changes: Any) -> dict[str, Any]:
        return System(model="openai:a", k=5, **changes).model_dump(mode="json")

    def told(base: dict[str, Any], own: dict[str, Any]) -> str:
        return setting_name(written_settings(base), written_settings(own))

    base = kept()
    assert told(base, {**base, "model": "openai:b"}) == "base"
    assert told(base, kept(expand=True, tools=("wikisparql",))) == "tools: wikisparql, +expansion"
    other = kept(nodes=("n.py:first",), settings={"first": {"most": 3}})
    assert told(base, other) == "+first, first.most=3"
    assert told(other, base) == "-first, -first.most"


def test_a_plug_in_retriever_has_its_name_and_its_file_where_two_share_it() -> None:
    def named(value: str, *levels: str) -> str:
        return system_name({"retriever": value}, {"retriever": "bm25"}, {"retriever": levels})

    one, other = "a/by_title.py:by_title", "b/by_title.py:by_title"
    assert named(one, "bm25", one) == "retriever by_title"
    assert slugs([named(one, "bm25", one), named("bm25", "bm25")]) == [
        "retriever-by_title", "retriever-bm25",
    ]  # fmt: skip
    assert [named(spec, "bm25", one, other) for spec in (one, other)] == [
        f"retriever {one}", f"retriever {other}",
    ]  # fmt: skip


def test_hostile_names_are_shortened_and_shown_harmless() -> None:
    texts = ("<script>alert(1)</script>", "[bold]", "\x1b[31m", "\u202eabc", "a/../../b", "x" * 999)
    for text in texts:
        name = system_name({"model": text}, {"model": "offline"}, {"model": ("offline", text)})
        assert len(name) <= MAX_NAME
        assert name.isprintable()
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]*", slugs([name])[0])


def test_folders_tell_adding_from_taking_away() -> None:
    assert slugs(["base", "+expansion", "-expansion", "k=15", "tools: +a -b_c"]) == [
        "base", "expansion", "no-expansion", "k-15", "tools-a-no-b_c",
    ]  # fmt: skip


def test_names_that_come_out_alike_get_folders_of_their_own() -> None:
    assert slugs(["a b", "a+b", "A b", "a-b-2", "Ж", "…", "..", "." * 99]) == [
        "a-b", "a-b-2", "a-b-3", "a-b-2-2", "system", "system-2", "system-3", "system-4",
    ]  # fmt: skip
    assert distinct_names(["a", "a", "a (2)", "a"]) == ["a", "a (2)", "a (2) (2)", "a (3)"]


@given(st.lists(st.text(max_size=90), max_size=12))
def test_every_folder_is_distinct_bounded_and_safe_in_a_path(texts: list[str]) -> None:
    found = slugs(texts)
    assert len(found) == len(texts)
    assert len({slug.lower() for slug in found}) == len(found)
    for slug in found:
        assert re.fullmatch(r"[a-z0-9_][a-z0-9._-]*", slug)
        assert len(slug) <= MAX_SLUG
        assert ".." not in slug


FACTORS = st.fixed_dictionaries(
    {},
    optional={
        "expansion": st.permutations([True, False]),
        "extraction": st.permutations([True, False]),
        "k": st.lists(st.integers(1, 50), min_size=2, max_size=4, unique=True),
        "max_turns": st.lists(st.integers(1, 30), min_size=2, max_size=3, unique=True),
        "temperature": st.lists(st.sampled_from([0.0, 0.7, 1.0, None]), min_size=2, unique=True),
        "seed": st.lists(st.integers(-9, 9), min_size=2, max_size=3, unique=True),
    },
).filter(bool)


@pytest.mark.slow
@given(FACTORS, st.sampled_from(["vary", "factorial"]))
def test_systems_are_as_many_as_the_design_says_and_differ(parts, factors, design):
    levels = {key: {*values, 5} if key == "k" else set(values) for key, values in factors.items()}
    count = 1
    for values in levels.values():
        count = count * len(values) if design == "factorial" else count + len(values) - 1
    if count > 256:
        return
    fields = {"name": "n", "questions": "q", "base": BASE, "factors": factors, "design": design}
    found = systems_of(Study.model_validate(fields), parts)
    assert len(found) == count
    assert found[0].changes == {}
    for what in ("name", "slug", "system"):
        assert len({getattr(named, what) for named in found}) == count
    if design == "vary":
        assert all(len(named.changes) == 1 for named in found[1:])
