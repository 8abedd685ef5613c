from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.eval.breakdowns import (
    GROUPINGS,
    Breakdown,
    breakdown,
    check_grouping,
    groupings_of,
    places_of,
)
from branchwise.eval.ceilings import TracedItem
from branchwise.eval.ceilings import ceilings as run_ceilings
from branchwise.eval.grouping import MAX_LABELS, Bins
from branchwise.eval.scores import ItemScore
from branchwise.eval.tasks import get_task
from support.eval.traced_cases import evidence, traced, traced_items

ceilings = partial(run_ceilings, recall="strict_recall")
ONE = [(0, 0)]
FOUND = evidence({(0, 0): [(1, True)]}, [10])


def by(name: str, items: Sequence[TracedItem]) -> Breakdown:
    task = get_task("branches")
    grouping = groupings_of(task)[name]
    rows = [ItemScore(*one.key, one.item.question.ambiguous, one.metrics) for one in items]
    places = places_of(grouping, items)
    return breakdown(grouping, rows, places, task.headline, ceilings(items))


def sizes(found: Breakdown) -> dict[str, tuple[int, int]]:
    """Label of each bin to its questions and items."""
    return {place.label: (place.questions, place.items) for place in found.bins}


def test_means_in_a_bin_by_hand() -> None:
    items = [
        traced("a", ONE, ONE, FOUND, metrics={"strict_precision": 0.5, "strict_em": 0.0}),
        traced("b", ONE, (), FOUND, metrics={"strict_precision": 0.0, "strict_em": 0.0}),
        traced("c", [(0, 0), (1, 0)], ONE, FOUND, metrics={"strict_precision": 1.0}),
    ]
    first, second = by("branches", items).bins
    assert (first.label, second.label) == ("1", "2")
    means = {metric: found.mean for metric, found in first.aggregates.items()}
    assert means["strict_precision"] == 0.25
    assert means["strict_recall"] == 0.5
    assert means["ceiling_retrieved"] == 1
    assert means["reasoning_loss"] == 0.5
    assert second.aggregates["strict_recall"].mean == 0.5
    assert second.aggregates["ceiling_retrieved"].mean == 0.5
    assert (second.aggregates["strict_em"].n, second.aggregates["strict_precision"].n) == (0, 1)
    found = first.aggregates["strict_recall"]
    assert (found.n, found.low, found.high) == (2, 0.0, 1.0)


def test_sizes_branches_and_steps_fall_into_fixed_bins() -> None:
    items = [
        traced(f"q{n}", [(b, e) for b in range(n) for e in range(2)], plan=[{"op": "join"}] * n)
        for n in range(1, 13)
    ]
    assert sizes(by("branches", items)) == {
        "1": (1, 1), "2": (1, 1), "3-5": (3, 3), "6-9": (4, 4), "10+": (3, 3)
    }  # fmt: skip
    # Answers: 2, 4, 6 ... 24.
    assert sizes(by("answers", items)) == {
        "2": (1, 1), "3-5": (1, 1), "6-10": (3, 3), "11-20": (5, 5), "21+": (2, 2)
    }  # fmt: skip
    assert sizes(by("steps", items)) == {
        "1": (1, 1), "2": (1, 1), "3": (1, 1), "4": (1, 1), "5-6": (2, 2), "7+": (6, 6)
    }  # fmt: skip


def test_epochs_are_averaged_in_the_bin_that_they_fall_into() -> None:
    items = [
        traced("a", ONE, ONE, evidence({}, [10]), epoch=0),
        traced("a", ONE, (), evidence({}, [10]), epoch=1),
        traced("a", ONE, (), evidence({}, [10] * 3), epoch=2),
        traced("b", ONE, (), evidence({}, [10]), epoch=0),
    ]
    found = by("calls", items)
    assert sizes(found) == {"1": (2, 3), "3-4": (1, 1)}
    assert found.bins[0].aggregates["strict_recall"].mean == (1 / 2 + 0) / 2


def test_questions_without_the_property_are_unknown_beside_others_and_nothing_alone() -> None:
    with_domain = traced("a", ONE, meta={"domain": "film"})
    for odd in (None, 7, "", "  ", ["film"], {"film": 1}):
        without = traced("b", ONE, meta={} if odd is None else {"domain": odd})
        assert by("domain", [without]).bins == ()
        found = by("domain", [with_domain, without])
        assert sizes(found) == {"film": (1, 1), "unknown": (1, 1)}
    assert by("steps", [traced("a", ONE)]).bins == ()
    assert by("calls", [traced("a", ONE)]).bins == ()
    assert by("branches", []).bins == ()


def test_labels_from_files_are_short_on_one_line_and_not_too_many() -> None:
    items = [traced(f"q{n}", ONE, meta={"domain": f"d{n:02}"}) for n in range(MAX_LABELS + 5)]
    items.append(traced("again", ONE, meta={"domain": "d34"}))
    items.append(traced("long", ONE, meta={"domain": "a\nb " * 10**6}))
    items.append(traced("none", ONE))
    found = by("domain", items)
    assert len(found.bins) == MAX_LABELS + 2
    assert [place.label for place in found.bins[-2:]] == ["others", "unknown"]
    # 36 domains, of which the 30 most common, and first by name, are kept.
    assert found.bins[-2].items == 6
    assert all(len(place.label) <= 60 and "\n" not in place.label for place in found.bins)
    assert "d34" in sizes(found)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean domain"):
        check_grouping("domains")
    with pytest.raises(InputError, match="branches, steps, operations, domain, answers"):
        check_grouping("\x1b[2J")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.sampled_from(sorted(GROUPINGS)), traced_items())
def test_bins_partition_the_items(name: str, items: list[TracedItem]) -> None:
    found = by(name, items)
    assert all(place.items >= place.questions > 0 for place in found.bins)
    if not found.bins:
        return
    if name == "operations":
        counted = Counter(
            operation
            for item in items
            for operation in {step["op"] for step in item.item.question.plan} or {"unknown"}
        )
        assert {place.label: place.items for place in found.bins} == counted
    else:
        assert sum(place.items for place in found.bins) == len(items)


@given(st.sets(st.integers(0, 50), min_size=1), st.lists(st.integers(0, 60)))
def test_a_value_is_in_the_bin_whose_label_says_so(edges: set[int], values: list[int]) -> None:
    bins = Bins(tuple(sorted(edges | {0})))
    found = defaultdict(set)
    for value in values:
        found[bins.label(bins.place(value))].add(value)
    for label, members in found.items():
        low, _, high = label.rstrip("+").partition("-")
        most = 60 if label.endswith("+") else int(high or low)
        assert members == {value for value in values if int(low) <= value <= most}
