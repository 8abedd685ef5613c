"""From specs to metrics: what is named is there, and no two columns have one name."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.kinds import made
from branchwise.corpora.plugins.loading import find_plugin
from branchwise.corpora.plugins.sources import PluginSource, source_of_module
from branchwise.corpora.plugins.specs import BERTSCORE
from branchwise.corpora.warning import warn
from branchwise.eval.plugins.metric import MetricPlugin
from branchwise.eval.tasks import TASKS, Column

TABLE = "further metrics"
"""Title of the table that plug-ins' columns stand in."""


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
        from branchwise.eval.plugins.bertscore import load_bertscore

        return LoadedMetric(*load_bertscore(named), named)
    else:
        found = find_plugin(named, "metrics")
        plugin = made(found.object, "metrics", named)
        loaded = LoadedMetric(plugin, found.source, named)
    _check_free(loaded)
    return loaded


_OF_TABLES = ("n", "questions", "system", "subset", "origin", "scored_by")
"""Keys of other columns in the tables that metrics stand in."""


def _check_free(loaded: LoadedMetric) -> None:
    if loaded.name in _OF_TABLES:
        raise InputError(
            f"{loaded.name!r} is another column of every table",
            where=loaded.plugin.place,
            remedy='name the metric otherwise: @metric(name="...")',
        )
    for task in TASKS.values():
        if loaded.name in [column.key for column in task.columns]:
            raise InputError(
                f"the task {task.name} has a metric {loaded.name!r} of its own",
                where=loaded.plugin.place,
                remedy='name yours otherwise: @metric(name="...")',
            )
