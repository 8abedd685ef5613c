"""Metrics of one's own: `@metric`, a function from an answered item to a number, as a column of
every report."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, overload

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.call import PluginFailure, call_blocking
from branchwise.corpora.plugins.declare import Declaration, Group, Plugin, made
from branchwise.corpora.plugins.faults import WrongResult
from branchwise.corpora.plugins.sources import PluginSource, source_of_module
from branchwise.corpora.plugins.specs import BERTSCORE, find_plugin
from branchwise.corpora.text import one_line, printable
from branchwise.corpora.warning import warn
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks import TASKS, Column

SECONDS = 10.0
MAX_HEADING, MAX_NOTE, MAX_DIGITS = 40, 300, 6
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
    point. `seconds`: what a call may take.
    """

    plugin_group: ClassVar[Group] = "metrics"
    heading: str
    digits: int = 2
    seconds: float = SECONDS


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
        said = called.replace("_", " ") if heading is None else heading
        texts = (
            ("heading", said, MAX_HEADING),
            ("note", declaration.description, 10 * MAX_NOTE),
        )
        for setting, text, longest in texts:
            right = isinstance(text, str) and bool(text.strip()) and len(text) <= longest
            what = f"the {setting} of {called} is not a text of 1 to {longest} characters"
            declaration.check(right, what)
        in_range = isinstance(digits, int) and 0 <= digits <= MAX_DIGITS
        declaration.check(in_range, f"digits is {digits!r}, and may be 0 to {MAX_DIGITS}")
        # Printable, on one line: they stand in tables of every kind.
        lines = [printable(one_line(line), "?") for line in said.split("\n", 1)]
        description = printable(one_line(declaration.description), "?")[:MAX_NOTE]
        return {"heading": "\n".join(lines), "description": description, "digits": digits}

    def declare(declared: Callable[..., Any]) -> MetricPlugin:
        return MetricPlugin.declared(declared, read, name=name, seconds=seconds, description=note)

    return declare if function is None else declare(function)


class Measured(NamedTuple):
    """A metric's value; None where it does not apply, or where `failure` says why there is none."""

    value: float | None
    failure: str | None = None


@dataclass(frozen=True)
class LoadedMetric:
    """A metric plug-in and its source; `spec` is how it was named, its file where it was not."""

    plugin: MetricPlugin
    source: PluginSource
    spec: str

    @property
    def name(self) -> str:
        return self.plugin.name

    @property
    def column(self) -> Column:
        """Its column in reports."""
        plugin = self.plugin
        note = f"{plugin.name.replace('_', ' ')}: {plugin.description.removesuffix('.')}"
        return Column(plugin.name, plugin.heading, TABLE, plugin.digits, note, unit="value")

    def to_json(self) -> dict[str, Any]:
        """What its values depend on, and how they are shown: JSON-serialisable, free of paths."""
        return {**self.column.described(), "source": self.source.identity}

    def of(self, item: AnsweredItem) -> Measured:
        """The metric of one item, which it gets as a copy of its own."""
        plugin = self.plugin
        try:
            value = call_blocking(
                plugin.name,
                lambda item: plugin.function(item),
                {"item": item},
                seconds=plugin.seconds,
                read=_number,
            )
        except PluginFailure as failure:
            return Measured(None, failure.line)
        return Measured(value)


def _number(returned: Any) -> float | None:
    """The value. Raises WrongResult for what is none."""
    if returned is None:
        return None
    said, module = type(returned).__name__, type(returned).__module__
    # numpy's bool is not a Python number.
    if isinstance(returned, Real) or (module == "numpy" and said.startswith("bool")):
        with suppress(OverflowError):
            value = float(returned)
            if math.isfinite(value) and abs(value) <= LARGEST:
                return value
            said = f"{value:g}"
    raise WrongResult(f"returned {said}; return a number up to {LARGEST:g}, or None")


Named = str | MetricPlugin
"""A spec, or from Python the metric itself."""


def load_metrics(named: Iterable[Named]) -> tuple[LoadedMetric, ...]:
    """The metrics of specs, in order, each once.

    Raises InputError where there is no such metric, or two columns would have one name.
    """
    found: dict[str, LoadedMetric] = {}
    for one in named:
        loaded = _load(one)
        other = found.setdefault(loaded.name, loaded)
        if other.source.identity != loaded.source.identity or (
            other.plugin.place != loaded.plugin.place
        ):
            raise InputError(
                f"two metrics are called {loaded.name!r}: {other.spec} and {loaded.spec}",
                remedy='name one of them otherwise: @metric(name="...")',
            )
    return tuple(found.values())


def metrics_of(asked: Iterable[Named], kept: Iterable[str], where: str) -> tuple[LoadedMetric, ...]:
    """The metrics that a run was begun with, then those that are asked for.

    One that is asked for stands for one of the same name that was kept. One that was kept and can
    no longer be loaded is left out, with a warning: the run's other scores are as good without.
    Raises InputError as `load_metrics`.
    """
    chosen, before = load_metrics(asked), []
    names = {metric.name for metric in chosen}
    for spec in kept:
        try:
            found = load_metrics([spec])[0]
        except InputError as error:
            if spec not in [metric.spec for metric in chosen]:
                what = f"{where}: without its metric {spec}, which cannot be loaded: {error}"
                warn(what)
            continue
        if found.name not in names:
            names.add(found.name)
            before.append(found)
    return (*before, *chosen)


def _load(named: Named) -> LoadedMetric:
    if isinstance(named, MetricPlugin):
        source = source_of_module(named.function.__module__, named.function, None)
        loaded = LoadedMetric(named, source, named.place)
    elif named.startswith(BERTSCORE):
        from branchwise.eval.bertscore import load_bertscore

        return LoadedMetric(*load_bertscore(named), named)
    else:
        found = find_plugin(named, "metrics")
        loaded = LoadedMetric(made(found.object, "metrics", named), found.source, named)
    tasks = [task.name for task in TASKS.values() if loaded.name in [c.key for c in task.columns]]
    if tasks or loaded.name in _OF_TABLES:
        what = f"{loaded.name!r} is another column of every table"
        if tasks:
            what = f"the task {tasks[0]} has a metric {loaded.name!r} of its own"
        remedy = 'name the metric otherwise: @metric(name="...")'
        raise InputError(what, where=loaded.plugin.place, remedy=remedy)
    return loaded
