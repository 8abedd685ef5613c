"""Every full name that a world writes is right for its bearer and for none of its namesakes."""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import branchwise
from branchwise.agents.prompt_files import Prompts
from branchwise.corpora.questions import Answer
from branchwise.kg.dials import Dials
from branchwise.worlds.domains import DOMAINS
from branchwise.worlds.make import make_world
from branchwise.worlds.questions.ambiguity import EntityNaming
from branchwise.worlds.questions.generate import Assembly, Reading
from branchwise.worlds.questions.plans import Atomic, Plan, PlanExecution
from branchwise.worlds.questions.sources import open_source
from support.worlds.world_reader import World, read_world
from support.worlds.written_forms import Tools, Written, written

pytestmark = pytest.mark.slow
WORLDS = st.tuples(
    st.integers(150, 350),
    st.integers(0, 2**63 - 1),
    st.floats(0.1, 0.7),
    st.lists(st.sampled_from(DOMAINS), min_size=1, unique=True),
    st.builds(Dials, namesakes=st.sampled_from([0, 100])),
)
"""Entities, seed, ambiguity, domains, dials."""
ANY = Plan(steps=(Atomic(relation="any", entity="Q1"),))


_BIRTH_IN_A_CITY = re.compile(r"\(born .*\(city in ")
"""A sentence's bracket, which no title has: a score takes the city's noun for the bearer's."""


class Case(NamedTuple):
    """An answer, what is gold, and whether the answer is right."""

    form: str
    gold: tuple[Answer, ...]
    right: bool
    why: str


class Gold:
    """What the generator writes of entities that are answers of one question."""

    def __init__(self, folder: Path) -> None:
        source = open_source(str(folder))
        self._assembly = Assembly(EntityNaming(source.facts, source.names))

    def __call__(self, *entities: str) -> tuple[Answer, ...]:
        found = Reading(entities[0], ANY, PlanExecution((frozenset(entities),)))
        (branch,) = self._assembly.branches([found], ambiguous=False)
        return branch.answers


def cases(world: World, forms: Iterable[Written], gold: Gold) -> Iterator[Case]:
    for one in {(one.form, one.entity): one for one in forms}.values():
        assert one.entity, f"it is not said whose name this is: {one}"
        if _BIRTH_IN_A_CITY.search(one.form):
            continue
        bearers = world.bearers.get(one.name, [one.entity])
        others = [bearer for bearer in bearers if bearer != one.entity]
        yield Case(one.form, gold(one.entity), True, f"{one} alone")
        if not others:
            continue
        # A name that several answers have stands for none of them.
        is_bare = one.form == one.name
        yield Case(one.form, gold(*bearers), not is_bare, f"{one} among its namesakes")
        if "(born" in one.form:  # a score does not know that a city is not born
            others = [other for other in others if world.kg.of(other, "P569")]
        if others and not is_bare:
            yield Case(one.form, gold(*others), False, f"{one} for its namesakes")


def misjudged(given: list[Case], folder: Path) -> list[str]:
    """Why the cases stand there that are not scored as they should be, each as a question."""
    questions = [
        {"id": n, "question": "Who?", "answers": [asdict(answer) for answer in case.gold]}
        for n, case in enumerate(given)
    ]
    predictions = [{"id": n, "answers": [case.form]} for n, case in enumerate(given)]
    for name, lines in (("q.jsonl", questions), ("p.jsonl", predictions)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    scored = branchwise.score(
        questions=str(folder / "q.jsonl"), predictions=folder / "p.jsonl"
    ).rows()
    by_id = {int(row["id"]): row["strict_precision"] for row in scored}
    return [case.why for n, case in enumerate(given) if by_id[n] != case.right]


@pytest.mark.parametrize("prompt", ["answer_with_tools", "answer_directly"])
def test_an_answer_as_the_prompt_asks_for_it_is_right(prompt: str, tmp_path: Path) -> None:
    found = re.search(r'as in "((.+) \((.+)\))"', Prompts.load().texts[prompt])
    assert found is not None
    form, name, told_by = found.groups()
    of_a_world = Answer(name, (form,), "Q1", (), f"{told_by} by Ana Silva")
    namesake = Answer(name, (f"{name} (2001 film)",), "Q2", (), "2001 film by Ana Silva")
    asked = [
        Case(form, (Answer(name),), True, "the name alone is gold"),
        Case(form, (of_a_world,), True, "a world's"),
        Case(form, (of_a_world, namesake), True, "a world's beside a namesake"),
        Case(form, (namesake,), False, "for the namesake"),
    ]
    assert misjudged(asked, tmp_path) == []


@pytest.mark.long
@settings(
    # A smaller world is another world: there is nothing to shrink to.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(made=WORLDS)
def test_every_form_of_a_name_stands_for_its_bearer_alone(
    made: tuple[int, int, float, list[str], Dials],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "w"
        make_world(folder, *made)
        world = read_world(folder)
        tools = Tools(world)
        try:
            found = written(world, tools)
        finally:
            tools.close()
        bracketed = [one for one in found if one.form != one.name and one.name in world.shared]
        assert {one.origin.partition(":")[0] for one in bracketed} >= {
            *("passage", "names.jsonl"),
            *("local_retriever", "open_passages", "wikidata_search", "wikisparql"),
        }
        gold = Gold(folder)
        assert misjudged(list(cases(world, found, gold)), Path(name)) == []
        for bearers in world.shared.values():
            titles = {bearer["title"] for bearer in bearers}
            assert {one.text for one in gold(*(b["id"] for b in bearers))} == titles
