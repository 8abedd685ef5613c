"""A name as a world writes it is accepted for its bearer and refused for its namesakes."""

import re
from collections import Counter

import pytest

from branchwise.corpora.questions import Answer
from support.eval.scoring_cases import strict
from support.worlds.world_reader import World, plain

pytestmark = pytest.mark.slow


def answers(world: World, name: str) -> dict[str, Answer]:
    """The bearers of a shared name by title, each as a generated question's gold has it."""
    return {
        bearer["title"]: Answer(
            text=name,
            aliases=(*sorted(world.graph.aliases.get(bearer["id"], ())), bearer["title"]),
            qid=bearer["id"],
            description=bearer["description"],
        )
        for bearer in world.shared[name]
    }


def is_right(gold: Answer, name: str) -> bool:
    return strict({"default": [gold]}, {"default": [name]}).right == 1


def longest_name(world: World, words: str) -> str:
    """The longest name of the world that the words end in."""
    parts = words.split(" ")
    ends = (" ".join(parts[start:]) for start in range(len(parts)))
    return next((end for end in ends if plain(end) in world.known_as), "")


def test_titles_and_descriptions_stand_for_their_bearer_alone(world: World) -> None:
    confusions = 0
    for name in world.shared:
        bearers = answers(world, name)
        descriptions = Counter(gold.description for gold in bearers.values())
        for title, gold in bearers.items():
            described = f"{name} ({gold.description})"
            forms = [title] + ([described] if descriptions[gold.description] == 1 else [])
            for form in forms:
                accepted = [other for other, one in bearers.items() if is_right(one, form)]
                assert accepted == [title], form
                confusions += len(bearers) - 1
    assert confusions >= 2_000


def test_names_in_brackets_in_passages_stand_for_a_bearer(world: World) -> None:
    texts = "\n".join(passage.text for passage in world.passages)
    written = re.findall(r"([A-Z][^().,;\n]*?) \(([^()]+)\)", texts)
    known = {
        f"{name} ({said})"
        for words, said in written
        if (name := longest_name(world, words)) in world.shared
    }
    assert len(known) > 50
    refused = []
    for form in known:
        name = form.partition(" (")[0]
        if not any(is_right(gold, form) for gold in answers(world, name).values()):
            refused.append(form)
    # What is said there of an office or of another name is beside the bearer: "(since 2017)".
    assert [form for form in refused if not re.search(r"\b(?:since|also)\b", form)] == []
