"""`@metric`: a function from an answered item to a number, as a column of every report."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.declaring import (
    check_once,
    check_positive,
    checked_name,
    first_paragraph,
    look_like,
    place_of,
)
from branchwise.corpora.plugins.specs import Group

SECONDS = 10.0
MAX_HEADING, MAX_NOTE, MAX_DIGITS = 40, 300, 6


@dataclass(frozen=True)
class MetricPlugin:
    """A declared metric; calling it calls the function, as if it had never been declared.

    `name` is its key in JSON and CSV. `heading` may hold one line break; `note` is the line under
    the table that says what the number means. `seconds`: what a call may take.
    """

    plugin_group: ClassVar[Group] = "metrics"
    name: str
    function: Callable[..., Any]
    heading: str
    note: str
    digits: int = 2
    seconds: float = SECONDS

    def __post_init__(self) -> None:
        look_like(self, self.function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    @property
    def place(self) -> str:
        """`file:line` of the function."""
        return place_of(self.function)


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
    why). Items come one at a time, on a thread of the metric's own. What it raises leaves the item
    unscored, and is reported. The mean over questions, its interval and the paired tests are those
    of every other metric.

    `name`: by default the function's. `heading`: of its column, by default the name in words.
    `note`: what the number means, by default the docstring's first paragraph. `digits`: after the
    point. `seconds`: a limit for a call.

    Raises InputError, with file and line, for a function that cannot be a metric.
    """

    def declare(declared: Callable[..., Any]) -> MetricPlugin:
        plugin = _declared(declared, name, heading, note, digits, seconds)
        check_once("metric", plugin, getattr(declared, "__globals__", {}))
        return plugin

    return declare if function is None else declare(function)


def _declared(
    function: Callable[..., Any],
    name: str | None,
    heading: str | None,
    note: str | None,
    digits: int,
    seconds: float,
) -> MetricPlugin:
    chosen = checked_name("metric", function, name)
    check_positive("metric", function, seconds=seconds)
    _check_signature(chosen, function)
    said = first_paragraph("metric", chosen, function) if note is None else note
    called = chosen.replace("_", " ") if heading is None else heading
    texts = (("heading", called, MAX_HEADING), ("note", said, 10 * MAX_NOTE))
    for setting, text, longest in texts:
        if not isinstance(text, str) or not text.strip() or len(text) > longest:
            what = f"@metric: the {setting} of {chosen} is no text of 1 to {longest} characters"
            raise InputError(what, where=place_of(function))
    if not isinstance(digits, int) or not 0 <= digits <= MAX_DIGITS:
        what = f"@metric: digits is {digits!r}, and may be 0 to {MAX_DIGITS}"
        raise InputError(what, where=place_of(function))
    shown = "\n".join(_one_line(line) for line in called.split("\n", 1))
    return MetricPlugin(chosen, function, shown, _one_line(said)[:MAX_NOTE], digits, seconds)


def _check_signature(name: str, function: Callable[..., Any]) -> None:
    where = place_of(function)
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        what = f"the metric {name} is async or a generator"
        raise InputError(what, where=where, remedy="make it a plain function that returns a number")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        what = f"the metric {name} cannot be called with an item alone"
        remedy = f"write def {name}(item: AnsweredItem) -> float | None"
        raise InputError(what, where=where, remedy=remedy) from None


def _one_line(text: str) -> str:
    """Printable, on one line: it stands in tables of every kind."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "?" for c in line)
