"""Calling metric plug-ins: every value is a finite number or None, whatever they do."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, NamedTuple

from branchwise.corpora.plugins.faults import WrongResult
from branchwise.corpora.plugins.isolator import PluginFailure
from branchwise.corpora.plugins.worker import PluginWorker
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
        self._worker: PluginWorker[Callable[[AnsweredItem], Any]] = PluginWorker(
            plugin.name, lambda: plugin.function, plugin.seconds
        )

    def of(self, item: AnsweredItem) -> Measured:
        """The metric of one item, which it gets as a copy of its own."""
        try:
            value = self._worker.call(
                lambda function, item: function(item),
                {"item": item},
                seconds=self.metric.plugin.seconds,
                read=_number,
            )
        except PluginFailure as failure:
            return Measured(None, failure.line)
        return Measured(value)


def measures(metrics: Sequence[LoadedMetric]) -> list[Measure]:
    """The metrics ready to be called."""
    return [Measure(metric) for metric in metrics]


def _number(returned: Any) -> float | None:
    """The value. Raises WrongResult for what is none."""
    if returned is None:
        return None
    said = type(returned).__name__
    if isinstance(returned, Real) or _is_truth(returned):
        with suppress(OverflowError):
            value = float(returned)
            if math.isfinite(value) and abs(value) <= LARGEST:
                return value
            said = f"{value:g}"
    raise WrongResult(f"returned {said}; return a number up to {LARGEST:g}, or None")


def _is_truth(returned: object) -> bool:
    """numpy's bool, which is not a Python number."""
    return type(returned).__module__ == "numpy" and type(returned).__name__.startswith("bool")
