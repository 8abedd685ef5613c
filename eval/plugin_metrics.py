"""Metrics of one's own: `@metric`, a function from an answered item to a number, as a column of
every report; and BERTScore, the one that comes with the package."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, overload

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError, warn
from branchwise.base.plugins.call import PluginFailure, call_blocking
from branchwise.base.plugins.declare import Declaration, Group, Plugin
from branchwise.base.plugins.sources import (
    PluginSource,
    WrongResult,
    fault_place,
    raised_at,
    source_of_module,
)
from branchwise.base.plugins.specs import BERTSCORE, load_plugin
from branchwise.base.text import one_line, printable
from branchwise.corpora.encoder_models import folder_digest, quiet
from branchwise.corpora.encoders import refuse_telemetry
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.common_text import compared
from branchwise.eval.items import AnsweredItem
from branchwise.eval.tasks import TASKS, Column, get_task
from branchwise.eval.tasks.cambignq.clarifications import gold_asked, said_question

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
    """A declared metric. `name`: its key in JSON and CSV; `heading` may hold one line break;
    `description`: the line under the table; `digits`: after the point; `seconds`: what a call may
    take; `spec`: how it was named, its file where it was not."""

    plugin_group: ClassVar[Group] = "metrics"
    heading: str
    digits: int = 2
    seconds: float = SECONDS
    spec: str = ""

    @property
    def column(self) -> Column:
        note = f"{self.name.replace('_', ' ')}: {self.description.removesuffix('.')}"
        return Column(self.name, self.heading, TABLE, self.digits, note, unit="value")

    def to_json(self) -> dict[str, Any]:
        """What its values depend on, and how they are shown: JSON-serialisable, free of paths."""
        return {**self.column.described(), "source": self.source.identity}

    def of(self, item: AnsweredItem) -> float | None:
        """The metric of one item, of which it gets a copy; None where it does not apply. Raises
        PluginFailure, whose line says why there is none."""
        given, limit = {"item": item}, self.seconds
        try:
            return call_blocking(
                self.name, lambda item: self(item), given, seconds=limit, read=_number
            )
        except PluginFailure as failure:
            if place := fault_place(failure.error, self.function):
                failure.line += f", {place}"
            raise


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
            problem = f"the metric {called} cannot be called with an item alone"
            remedy = f"write def {called}(item: AnsweredItem) -> float | None"
            raise declaration.refused(problem, remedy) from None
        shown = called.replace("_", " ") if heading is None else heading
        described = declaration.description
        for setting, text, most in (("heading", shown, 40), ("note", described, 3000)):
            right = isinstance(text, str) and bool(text.strip()) and len(text) <= most
            problem = f"the {setting} of {called} is not a text of 1 to {most} characters"
            declaration.check(right, problem)
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
    """The metrics of specs, in order, each once. Raises InputError where there is no such metric,
    or two columns would have one name."""
    by_name: dict[str, MetricPlugin] = {}
    for loaded in map(_load, named):
        other = by_name.setdefault(loaded.name, loaded)
        if other.source.identity != loaded.source.identity or other.place != loaded.place:
            raise InputError(
                f"two metrics are called {loaded.name!r}: {other.spec} and {loaded.spec}",
                remedy='name one of them otherwise: @metric(name="...")',
            )
    return tuple(by_name.values())


def check_metrics(metrics: Iterable[MetricPlugin], questions: QuestionSet) -> None:
    """Call each metric as scoring will, once, with the gold answers of the first question as the
    prediction. Raises InputError, with file and line, for one that does not give a value."""
    for metric in metrics:
        task, question = get_task(questions.task), questions[0]
        gold = task.gold_prediction(question) if question.has_gold(task.gold) else Prediction()
        try:
            metric.of(AnsweredItem(question, gold, gold_set=0 if question.alternatives else None))
        except PluginFailure as failure:
            at = failure.error and raised_at(failure.error, Path(metric.place.rpartition(":")[0]))
            place = f", {fault_place(failure.error, metric.function)}"
            why = failure.line.removeprefix(f"{metric.name}: ").removesuffix(place)
            problem = f"fails on the first question, {question.id!r}: {why}"
            raise InputError(
                f"the metric {metric.name} {problem}",
                where=at or metric.place,
                remedy="fix it there",
            ) from None


def metrics_of(asked: Iterable[Named], kept: Iterable[str], where: str) -> tuple[MetricPlugin, ...]:
    """The metrics that a run was begun with, then those that are asked for, also in place of one of
    the same name. One that can no longer be loaded is left out, with a warning: the run's other
    scores are as good without. Raises InputError as `load_metrics`."""
    chosen = load_metrics(asked)
    before: dict[str, MetricPlugin] = {}
    for spec in kept:
        try:
            [metric] = load_metrics([spec])
            before.setdefault(metric.name, metric)
        except InputError as error:
            if spec not in [metric.spec for metric in chosen]:
                warn(f"{where}: without its metric {spec}, which cannot be loaded: {error}")
    for metric in chosen:
        before.pop(metric.name, None)
    return (*before.values(), *chosen)


def _load(named: Named) -> MetricPlugin:
    if isinstance(named, MetricPlugin):
        source = source_of_module(named.function.__module__, named.function, None)
        loaded = replace(named, source=source, spec=named.place)
    elif not isinstance(named, str):
        problem = f"{getattr(named, '__name__', type(named).__name__)} is not a metric"
        raise InputError(problem, where="metrics", remedy="declare the function with @metric")
    elif named.startswith(BERTSCORE):
        loaded = load_bertscore(named)
    else:
        loaded = replace(load_plugin(named, "metrics"), spec=named)
    tasks = [task.name for task in TASKS.values() if loaded.name in [c.key for c in task.columns]]
    if tasks or loaded.name in _OF_TABLES:
        problem = f"{loaded.name!r} is another column of every table"
        if tasks:
            problem = f"the task {tasks[0]} has a metric {loaded.name!r} of its own"
        remedy = 'name the metric otherwise: @metric(name="...")'
        raise InputError(problem, where=loaded.place, remedy=remedy)
    return loaded


_LAYER = re.compile(r"(.*)@(\d+)", re.DOTALL)


def load_bertscore(spec: str) -> MetricPlugin:
    """BERTScore of clarification questions, `bertscore:FOLDER[@LAYER]`, with its model loaded.

    Zhang et al. 2020, "BERTScore: Evaluating Text Generation with BERT", by its authors' package:
    F1 of the question that was asked back against the gold one, neither rescaled nor weighted by
    idf, by a model in a local folder. Without a question it is 0; without a gold one, nothing.

    Raises InputError without the package, for a folder that holds no model, and for a layer that
    it has not.
    """
    refuse_telemetry()
    try:
        from bert_score import BERTScorer
    except ImportError:
        problem, remedy = "it needs bert-score", "pip install 'branchwise[bertscore]'"
        raise InputError(problem, where="BERTScore", remedy=remedy) from None
    named = spec.removeprefix(BERTSCORE)
    with_layer = _LAYER.fullmatch(named)
    folder = Path(with_layer[1] if with_layer else named).expanduser()
    if not folder.is_dir():
        raise InputError("no such folder", where=spec, remedy="name the folder of a model")
    if not any(folder.glob("*.safetensors")):
        problem = "has no weights in safetensors format"
        raise InputError(problem, where=str(folder), remedy="pickled weights can run code")
    layer = int(with_layer[2]) if with_layer else _published_layer(folder)
    try:
        with quiet():
            scorer = BERTScorer(model_type=str(folder), num_layers=layer)
            scorer.score(["one"], ["one"])
    except Exception as error:
        problem = f"its layer {layer} gives no scores ({type(error).__name__}: {error})"[:200]
        raise InputError(
            problem, where=str(folder), remedy="name another folder or @LAYER"
        ) from error

    def bertscore(item: AnsweredItem) -> float | None:
        gold, asked = gold_asked(item.question), said_question(item.prediction)
        if gold is None or not asked.strip():
            return None if gold is None else 0.0
        _, _, f1 = scorer.score([compared(asked)], [compared(gold.text)])
        return float(f1[0])

    digests = {"model": folder_digest(folder), "layer": str(layer)}
    return MetricPlugin(
        name=BERTSCORE.removesuffix(":"),
        function=bertscore,
        heading="BERTScore",
        description=f"F1 by layer {layer} of {folder.resolve().name}, not rescaled, without idf",
        digits=3,
        seconds=600.0,
        source=PluginSource(str(folder), digests, f"bert-score=={version('bert-score')}"),
        spec=spec,
    )


def _published_layer(folder: Path) -> int:
    """The layer at which the package's authors found the model best, by the folder's name."""
    from bert_score.utils import model2layers

    name, spec = folder.resolve().name, f"{BERTSCORE}{folder}"
    for known, layer in model2layers.items():
        if known.rpartition("/")[2] == name:
            return int(layer)
    problem = f"it is not known which layer of {name} tells most"
    raise InputError(problem, where=spec, remedy=f"write {spec}@LAYER")
