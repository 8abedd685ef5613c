"""Metrics of one's own: `@metric`, a function from an answered item to a number, as a column of
every report."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, overload

from branchwise.base.errors import InputError, warn
from branchwise.base.plugins.call import call_blocking
from branchwise.base.plugins.declare import Declaration, Group, Plugin
from branchwise.base.plugins.sources import WrongResult, source_of_module
from branchwise.base.plugins.specs import BERTSCORE, load_plugin
from branchwise.base.text import one_line, printable
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks import TASKS, Column

SECONDS = 10.0
MAX_NOTE, MAX_DIGITS = 300, 6
LARGEST = 1e12
"""What a metric may be at most, either way: sums and squares of such numbers stay exact enough."""
TABLE = "further metrics"
"""Title of the table that plug-ins' columns stand in."""
_OF_TABLES = ("n", "questions", "system", "subset", "origin", "scored_by")
"""Keys of other columns in the tables that metrics stand in."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricPlugin(Plugin):
    """A declared metric. `name` is its key in JSON and CSV; `heading` may hold one line break.

    `description` is the line under the table that says what the number means. `digits`: after the
    point. `seconds`: what a call may take. `spec`: how it was named, its file where it was not.
    """

    plugin_group: ClassVar[Group] = "metrics"
    heading: str
    digits: int = 2
    seconds: float = SECONDS
    spec: str = ""

    @property
    def column(self) -> Column:
        """Its column in reports."""
        note = f"{self.name.replace('_', ' ')}: {self.description.removesuffix('.')}"
        return Column(self.name, self.heading, TABLE, self.digits, note, unit="value")

    def to_json(self) -> dict[str, Any]:
        """What its values depend on, and how they are shown: JSON-serialisable, free of paths."""
        return {**self.column.described(), "source": self.source.identity}

    def of(self, item: AnsweredItem) -> float | None:
        """The metric of one item, which it gets as a copy of its own; None where it does not apply.

        Raises PluginFailure, whose line says why there is none.
        """
        given = {"item": item}
        return call_blocking(
            self.name, lambda item: self(item), given, seconds=self.seconds, read=_number
        )


@overload
def metric(function: Callable[..., Any], /) -> MetricPlugin: ...
@overload
def metric(
    *,
    name: str | None = None,
    heading: str | None = None,
    note: str | None = None,
    digits: int = 2,
    seconds: float = SECONDS,
) -> Callable[[Callable[..., Any]], MetricPlugin]: ...
def metric(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    heading: str | None = None,
    note: str | None = None,
    digits: int = 2,
    seconds: float = SECONDS,
) -> MetricPlugin | Callable[[Callable[..., Any]], MetricPlugin]:
    """Declare a function of an `AnsweredItem` as a metric.

    It returns a finite number (True is 1), or None for an item that it does not apply to, which
    stays out of the mean. It gets a copy of the item as it is scored: with the answers of a judge
    among the gold aliases, and without any prediction where the item failed (`item.error` says
    why). Items come one at a time. What it raises leaves the item unscored, and is reported. The
    mean over questions, its interval and the paired tests are those of every other metric.

    `name`: by default the function's. `heading`: of its column, by default the name in words.
    `note`: what the number means, by default the docstring's first paragraph. `digits`: after the
    point. `seconds`: a limit for a call.

    Raises InputError, with file and line, for a function that cannot be a metric.
    """

    def read(declaration: Declaration) -> Mapping[str, Any]:
        called = declaration.name
        try:
            inspect.signature(declaration.function).bind(None)
        except TypeError:
            what = f"the metric {called} cannot be called with an item alone"
            remedy = f"write def {called}(item: AnsweredItem) -> float | None"
            raise declaration.refused(what, remedy) from None
        shown = called.replace("_", " ") if heading is None else heading
        described = declaration.description
        for setting, text, most in (("heading", shown, 40), ("note", described, 3000)):
            right = isinstance(text, str) and bool(text.strip()) and len(text) <= most
            what = f"the {setting} of {called} is not a text of 1 to {most} characters"
            declaration.check(right, what)
        in_range = isinstance(digits, int) and 0 <= digits <= MAX_DIGITS
        declaration.check(in_range, f"digits is {digits!r}, and may be 0 to {MAX_DIGITS}")
        # Printable, on one line: they stand in tables of every kind.
        lines = [printable(one_line(line), "?") for line in shown.split("\n", 1)]
        description = printable(one_line(described), "?")[:MAX_NOTE]
        return {"heading": "\n".join(lines), "description": description, "digits": digits}

    def declare(declared: Callable[..., Any]) -> MetricPlugin:
        return MetricPlugin.declared(declared, read, name=name, seconds=seconds, description=note)

    return declare if function is None else declare(function)


def _number(returned: Any) -> float | None:
    """The value. Raises WrongResult for what is none."""
    if returned is None:
        return None
    shown = type(returned).__name__
    # numpy's bool is not a Python number.
    if isinstance(returned, Real) or (type(returned).__module__ == "numpy" and "bool" in shown):
        with suppress(OverflowError):
            value = float(returned)
            if abs(value) <= LARGEST:  # which nan is not
                return value
            shown = f"{value:g}"
    raise WrongResult(f"returned {shown}; return a number up to {LARGEST:g}, or None")


Named = str | MetricPlugin
"""A spec, or from Python the metric itself."""


def load_metrics(named: Iterable[Named]) -> tuple[MetricPlugin, ...]:
    """The metrics of specs, in order, each once.

    Raises InputError where there is no such metric, or two columns would have one name.
    """
    found: dict[str, MetricPlugin] = {}
    for one in named:
        loaded = _load(one)
        other = found.setdefault(loaded.name, loaded)
        if other.source.identity != loaded.source.identity or other.place != loaded.place:
            raise InputError(
                f"two metrics are called {loaded.name!r}: {other.spec} and {loaded.spec}",
                remedy='name one of them otherwise: @metric(name="...")',
            )
    return tuple(found.values())


def metrics_of(asked: Iterable[Named], kept: Iterable[str], where: str) -> tuple[MetricPlugin, ...]:
    """The metrics that a run was begun with, then those that are asked for.

    One that is asked for stands for one of the same name that was kept. One that was kept and can
    no longer be loaded is left out, with a warning: the run's other scores are as good without.
    Raises InputError as `load_metrics`.
    """
    chosen = load_metrics(asked)
    before: dict[str, MetricPlugin] = {}
    for spec in kept:
        try:
            [metric] = load_metrics([spec])
            before.setdefault(metric.name, metric)
        except InputError as error:
            if spec not in [metric.spec for metric in chosen]:
                what = f"{where}: without its metric {spec}, which cannot be loaded: {error}"
                warn(what)
    names = [metric.name for metric in chosen]
    return (*(one for name, one in before.items() if name not in names), *chosen)


def _load(named: Named) -> MetricPlugin:
    if isinstance(named, MetricPlugin):
        source = source_of_module(named.function.__module__, named.function, None)
        loaded = replace(named, source=source, spec=named.place)
    elif named.startswith(BERTSCORE):
        from branchwise.eval.bertscore import load_bertscore

        loaded = load_bertscore(named)
    else:
        loaded = replace(load_plugin(named, "metrics"), spec=named)
    tasks = [task.name for task in TASKS.values() if loaded.name in [c.key for c in task.columns]]
    if tasks or loaded.name in _OF_TABLES:
        what = f"{loaded.name!r} is another column of every table"
        if tasks:
            what = f"the task {tasks[0]} has a metric {loaded.name!r} of its own"
        remedy = 'name the metric otherwise: @metric(name="...")'
        raise InputError(what, where=loaded.place, remedy=remedy)
    return loaded
