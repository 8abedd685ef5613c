"""Which of its question's gold sets an item is scored against: the one that suits its answer best.

It is decided here alone. Scores, errors, ceilings and whatever shows an item read the branches of
the question that it leaves the item with. Questions with one gold set stay as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import orjson

from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks import Column, Metrics, Task


def each_gold_set(items: Iterable[AnsweredItem]) -> list[AnsweredItem]:
    """The items, in place of an undecided one the same item by each gold set of its question.

    For models that settle something before the scores are known; `best_gold_sets` then decides.
    """
    return [one for item in items for one in _by_gold_sets(item)]


def best_gold_sets(task: Task, items: Iterable[AnsweredItem]) -> list[AnsweredItem]:
    """One item for each question and epoch: of those that stand for it, the one that scores best.

    Best is the greatest value of the task's main metric, of equal ones that of its other headline
    metrics in their order. What still is equal (an item without an answer) falls to the gold set
    with the most branches, the most answers, then the first by its text: the order of gold sets
    changes nothing. Undecided items are tried by every gold set.
    """
    grouped: list[list[AnsweredItem]] = []
    for item in each_gold_set(items):
        if grouped and _is_by_next_set(grouped[-1][-1], item):
            grouped[-1].append(item)
        else:
            grouped.append([item])
    return [_best(task, candidates) for candidates in grouped]


def by_best_gold_set(task: Task, item: AnsweredItem) -> AnsweredItem:
    """The same for one item; one that was decided stays."""
    return _best(task, list(_by_gold_sets(item)))


def gold_set_note(task: Task, several: int, of: int) -> str:
    """A line for a report in which `several` of its questions have more than one gold set."""
    order = ", then ".join(column.name for column in _preferred(task))
    return (
        f"{several:,} of {of:,} questions {'has' if several == 1 else 'have'} alternative gold "
        f"answers; each item is scored against those that give it the best {order}"
    )


def _by_gold_sets(item: AnsweredItem) -> Iterator[AnsweredItem]:
    if item.gold_set is not None or not item.question.alternatives:
        yield item
        return
    for number in range(len(item.question.gold_sets)):
        yield replace(item, question=item.question.by_gold_set(number), gold_set=number)


def _is_by_next_set(one: AnsweredItem, other: AnsweredItem) -> bool:
    """Whether the other is the same item by a later gold set."""
    if one.gold_set is None or other.gold_set is None or one.gold_set >= other.gold_set:
        return False
    return (one.question.id, one.epoch) == (other.question.id, other.epoch)


def _best(task: Task, candidates: Sequence[AnsweredItem]) -> AnsweredItem:
    if len(candidates) == 1:
        return candidates[0]
    # `max` takes the first of equal ones.
    ordered = sorted(candidates, key=lambda item: sorted(map(orjson.dumps, item.question.branches)))
    return max(ordered, key=lambda item: (_values(task, item), _size(item)))


def _preferred(task: Task) -> list[Column]:
    """The metrics that decide, the first before the others."""
    return list(dict.fromkeys((task.main, *task.headline)))


def _values(task: Task, item: AnsweredItem) -> tuple[float, ...]:
    metrics = task.score(item.as_scored)
    return tuple(_value(column, metrics) for column in _preferred(task))


def _value(column: Column, metrics: Metrics) -> float:
    """An item's own value; one that is unscored is below all others."""
    value = metrics.get(column.key)
    if value is None and column.total and (vector := column.total.vector(metrics)):
        value = column.total.of(*vector)
    return float("-inf") if value is None else value


def _size(item: AnsweredItem) -> tuple[int, int]:
    branches = item.question.branches
    return len(branches), sum(len(branch.answers) for branch in branches)
