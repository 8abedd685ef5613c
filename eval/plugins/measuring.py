"""Calling metric plug-ins: every value is a finite number or None, whatever they do."""

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, NamedTuple

from branchwise.corpora.plugins.calling import PluginFailure
from branchwise.corpora.plugins.worker import Worker
from branchwise.eval.items import AnsweredItem
from branchwise.eval.plugins.loading import LoadedMetric

LARGEST = 1e12
"""What a metric may be at most, either way: sums and squares of such numbers stay exact enough."""


class Measured(NamedTuple):
    """A metric's value; None where it does not apply, or where `failure` says why there is none."""

    value: float | None
    failure: str | None = None


class Measure:
    """One metric at work, on a thread of its own; an item at a time. Raises nothing."""

    def __init__(self, metric: LoadedMetric) -> None:
        self.metric, plugin = metric, metric.plugin
        self._worker: Worker[Callable[[AnsweredItem], Any]] = Worker(
            plugin.name, lambda: plugin.function, plugin.seconds
        )

    def of(self, item: AnsweredItem) -> Measured:
        """The metric of one item, which it gets as a copy of its own."""
        given = copy.deepcopy(item)
        try:
            seconds = self.metric.plugin.seconds
            return Measured(self._worker.call(lambda function: _number(function(given)), seconds))
        except PluginFailure as failure:
            return Measured(None, failure.line)


def measures(metrics: Sequence[LoadedMetric]) -> list[Measure]:
    """The metrics ready to be called."""
    return [Measure(metric) for metric in metrics]


def _number(returned: Any) -> float | None:
    """The value; TypeError for what is none. Runs in the plug-in's thread: a number may be of
    anyone's class."""
    if returned is None:
        return None
    said = type(returned).__name__
    if isinstance(returned, Real) or _is_truth(returned):
        with suppress(OverflowError):
            value = float(returned)
            if math.isfinite(value) and abs(value) <= LARGEST:
                return value
            said = f"{value:g}"
    raise TypeError(f"returned {said}; return a number up to {LARGEST:g}, or None")


def _is_truth(returned: object) -> bool:
    """numpy's bool, which is no number of Python's."""
    return type(returned).__module__ == "numpy" and type(returned).__name__.startswith("bool")
