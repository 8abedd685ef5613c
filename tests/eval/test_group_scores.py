"""IdGroups of conditions: values by hand, and what no order or useless group may change."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.tasks.mdcr.group_scores import (
    NO_GROUPS,
    GroupSums,
    IdGroups,
    as_one,
    exact_sums,
    f1,
    groups_of,
    mapped_groups,
    pair_f1,
    precision,
    recall,
    relaxed_sums,
)

IDS = st.sampled_from("abcdef")
GROUP = st.frozensets(IDS, min_size=1, max_size=4)
GROUPS = st.frozensets(GROUP, max_size=5)


def groups(*texts: str) -> IdGroups:
    """Each text is a group, each letter of it an id."""
    return groups_of("yes", texts)


def scores(sums: GroupSums) -> tuple[float, float, float]:
    right, said, found, gold = sums
    return precision(right, said, gold), recall(found, said, gold), f1(*sums)


@pytest.mark.parametrize(
    ("said", "gold", "exact", "relaxed", "pairs"),
    [
        # One id too many: 2 of 3 are right, 2 of 2 found.
        (["567"], ["56"], (0, 0, 0), (2 / 3, 1, 0.8), 0.8),
        (["65"], ["56"], (1, 1, 1), (1, 1, 1), 1),
        # Merged: half of the only group is right by either gold group, one of the two is found.
        (["56"], ["5", "6"], (0, 0, 0), (0.5, 0.5, 0.5), 1 / 3),
        # Split: one of the two is right, and finds half of the gold group.
        (["5", "6"], ["56"], (0, 0, 0), (0.5, 0.5, 0.5), 1 / 3),
        (["5", "7"], ["5", "6"], (0.5, 0.5, 0.5), (0.5, 0.5, 0.5), 0.5),
        (["5", "67"], ["5"], (0.5, 1, 2 / 3), (0.5, 1, 2 / 3), 0.5),
        ([], [], (1, 1, 1), (1, 1, 1), 1),
        (["5"], [], (0, 0, 0), (0, 0, 0), 0),
        ([], ["5"], (0, 0, 0), (0, 0, 0), 0),
        # 12-123 and 3-34 have the greatest sum of F1, .8 + 2/3, though 123 is also said exactly by
        # none: P = (1 + 1) / 2, R = (2/3 + 1/2) / 2 = 7/12.
        (["12", "3"], ["123", "34"], (0, 0, 0), (1, 7 / 12, 14 / 19), (0.8 + 2 / 3) / 2),
    ],
)
def test_hand_cases(said, gold, exact, relaxed, pairs):
    found, wanted = groups(*said), groups(*gold)
    assert scores(exact_sums(found, wanted)) == pytest.approx(exact)
    assert scores(relaxed_sums(found, wanted)) == pytest.approx(relaxed)
    assert pair_f1(found, wanted) == pytest.approx(pairs)


@pytest.mark.parametrize("answer", ["no", "0"])
def test_no_and_zero_hold_under_no_condition(answer: str) -> None:
    assert groups_of(answer, [["a"], ["b"]]) == NO_GROUPS


def test_equivalent_ids_are_one_and_then_equal_groups_too() -> None:
    assert as_one(groups("ac", "bc", "d"), {"b": "a"}) == groups("ac", "d")


@pytest.mark.slow
@given(GROUPS, GROUPS)
def test_the_mapping_has_the_greatest_sum_of_all(said: IdGroups, gold: IdGroups) -> None:
    few, many = sorted([sorted(said, key=sorted), sorted(gold, key=sorted)], key=len)
    dice = lambda a, b: 2 * len(a & b) / (len(a) + len(b))  # noqa: E731
    best = max(
        (sum(map(dice, few, chosen)) for chosen in permutations(many, len(few))), default=0.0
    )
    assert sum(pair.f1 for pair in mapped_groups(said, gold)) == pytest.approx(best)


@pytest.mark.slow
@given(st.lists(st.lists(IDS), max_size=5), GROUPS, st.randoms())
def test_order_of_groups_and_ids_changes_nothing(said, gold, random):
    shuffled = [list(reversed(group)) + group[:1] for group in reversed(said)]
    assert groups_of("yes", said) == groups_of("yes", shuffled)
    before = relaxed_sums(groups_of("yes", said), gold)
    assert relaxed_sums(groups_of("yes", shuffled), gold) == before


@pytest.mark.slow
@given(GROUPS, GROUPS, st.frozensets(st.sampled_from("uvw"), min_size=1))
def test_a_group_that_shares_no_id_never_raises_precision(said, gold, added):
    for sums in (exact_sums, relaxed_sums):
        assert scores(sums(said | {added}, gold))[0] <= scores(sums(said, gold))[0]
        assert sums(said | {added}, gold)._replace(said=0) == sums(said, gold)._replace(said=0)


@pytest.mark.slow
@given(
    st.integers(0, 5).flatmap(
        lambda n: st.tuples(*[st.frozensets(GROUP, min_size=n, max_size=n)] * 2)
    )
)
def test_relaxed_is_at_least_exact_among_as_many_groups(pair: tuple[IdGroups, IdGroups]) -> None:
    said, gold = pair
    assert f1(*relaxed_sums(said, gold)) >= f1(*exact_sums(said, gold)) - 1e-12


def test_where_the_mapping_leaves_equal_groups_relaxed_may_be_below_exact() -> None:
    """2/3 + 2/5 is more than the 1 of the equal pair: P = (1 + 1/2) / 2, R = (1/2 + 1/3) / 5."""
    said, gold = groups("e", "de"), groups("a", "c", "abd", "de", "bcd")
    assert scores(relaxed_sums(said, gold)) == pytest.approx((3 / 4, 1 / 6, 3 / 11))
    assert f1(*exact_sums(said, gold)) == pytest.approx(2 / 7)
