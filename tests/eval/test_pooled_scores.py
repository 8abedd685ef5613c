"""Pooled scores by the rule of docs/reports.md, which is no plain union of all branches."""

from collections.abc import Mapping, Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.corpora.questions import Answer
from support.eval.scoring_cases import pooled, strict

Gold = Mapping[str, Sequence[Answer]]
Predicted = Mapping[str, Sequence[str]]

# Words that no normalisation changes but for their case, so that a key is the folded text.
WORDS = st.sampled_from(["Heat", "heat", "Kong", "Ali", "Thief"])
ANSWERS = st.builds(
    lambda text, aliases, qid: Answer(text=text, aliases=tuple(aliases), qid=qid),
    WORDS,
    st.lists(WORDS, max_size=1),
    st.sampled_from([None, "Q1", "Q2", "Q3"]),
)
BRANCHES = st.sampled_from(["of 1933", "of 1976", "of 2005"])
GOLD = st.dictionaries(BRANCHES, st.lists(ANSWERS, min_size=1, max_size=3), min_size=1)
PREDICTED = st.dictionaries(BRANCHES, st.lists(st.one_of(WORDS, st.just("Rififi")), max_size=3))


def keys(answer: Answer) -> frozenset[str]:
    return frozenset(text.casefold() for text in (answer.text, *answer.aliases))


def answers_of(gold: Gold) -> list[Answer]:
    return [answer for branch in gold.values() for answer in branch]


def expected(gold: Gold, predicted: Predicted) -> tuple[int, int, int]:
    """Right, predicted, gold by the rule of docs/reports.md: answers joined along texts and
    numbers, keys paired with entities in the best of all ways, no other form counted."""
    groups: list[list[Answer]] = []
    for answer in answers_of(gold):
        same = [group for group in groups if any(is_joined(answer, one) for one in group)]
        groups = [group for group in groups if group not in same]
        groups.append([answer, *(one for group in same for one in group)])
    entities = [frozenset().union(*map(keys, group)) for group in groups]
    texts = frozenset(text.casefold() for texts in predicted.values() for text in texts)
    named, *others = partition(texts, entities)
    slots = [*entities, *[frozenset[str]()] * len(named)]
    right = max(
        sum(key in entity for key, entity in zip(named, chosen, strict=True))
        for chosen in permutations(slots, len(named))
    )
    return right, right + len(others), len(entities)


def is_joined(one: Answer, other: Answer) -> bool:
    same_text = one.text.casefold() == other.text.casefold()
    return same_text or (one.qid is not None and one.qid == other.qid)


def partition(
    predicted: frozenset[str], entities: Sequence[frozenset[str]]
) -> tuple[list[str], ...]:
    """The keys that name an entity, then each other key."""
    named = sorted(key for key in predicted if any(key in one for one in entities))
    return named, *([key] for key in sorted(predicted.difference(named)))


@pytest.mark.slow
@given(GOLD, PREDICTED)
@settings(max_examples=300)
def test_it_is_the_rule_that_the_docs_state(gold: Gold, predicted: Predicted) -> None:
    score = pooled(gold, predicted)
    assert (score.right, score.predicted, score.gold) == expected(gold, predicted)


KONGS = {
    "of 1933": [Answer(text="King Kong", qid="Q1"), Answer(text="Fay Wray", qid="Q3")],
    "of 1976": [Answer(text="King Kong", qid="Q2")],
}


def test_entities_of_one_text_are_one_pooled_and_two_strict() -> None:
    assert pooled(KONGS, {"of 1933": ["King Kong"]}).gold == 2
    found = strict(KONGS, {"of 1933": ["King Kong", "Fay Wray"], "of 1976": ["King Kong"]})
    assert (found.right, found.gold) == (3, 3)


def test_a_disambiguator_stands_for_none_of_several_entities_of_its_bare_name() -> None:
    score = pooled(KONGS, {"of 1976": ["King Kong (1976 film)"]})
    assert (score.right, score.predicted, score.gold) == (0, 1, 2)
