"""`@metric`: a function from an answered item to a number, as a column of every report."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from branchwise.corpora.plugins.declaring import Declaration, Plugin, decorating, first_paragraph
from branchwise.corpora.plugins.specs import Group
from branchwise.corpora.text import one_line, printable

SECONDS = 10.0
MAX_HEADING, MAX_NOTE, MAX_DIGITS = 40, 300, 6


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
    why). Items come one at a time, on a thread of the metric's own. What it raises leaves the item
    unscored, and is reported. The mean over questions, its interval and the paired tests are those
    of every other metric.

    `name`: by default the function's. `heading`: of its column, by default the name in words.
    `note`: what the number means, by default the docstring's first paragraph. `digits`: after the
    point. `seconds`: a limit for a call.

    Raises InputError, with file and line, for a function that cannot be a metric.
    """

    def read(declaration: Declaration) -> Mapping[str, Any]:
        _check_signature(declaration)
        said = first_paragraph(declaration) if note is None else note
        called = declaration.name.replace("_", " ") if heading is None else heading
        texts = (("heading", called, MAX_HEADING), ("note", said, 10 * MAX_NOTE))
        for setting, text, longest in texts:
            right = isinstance(text, str) and bool(text.strip()) and len(text) <= longest
            what = f"the {setting} of {declaration.name} is not a text of 1 to {longest} characters"
            declaration.check(right, what)
        in_range = isinstance(digits, int) and 0 <= digits <= MAX_DIGITS
        declaration.check(in_range, f"digits is {digits!r}, and may be 0 to {MAX_DIGITS}")
        return {
            "heading": "\n".join(_one_line(line) for line in called.split("\n", 1)),
            "description": _one_line(said)[:MAX_NOTE],
            "digits": digits,
        }

    return decorating(
        function,
        lambda declared: MetricPlugin.declared(
            declared, read, name=name, seconds=seconds, description=note
        ),
    )


def _check_signature(declaration: Declaration) -> None:
    name = declaration.name
    try:
        inspect.signature(declaration.function).bind(None)
    except TypeError:
        what = f"the metric {name} cannot be called with an item alone"
        remedy = f"write def {name}(item: AnsweredItem) -> float | None"
        raise declaration.refused(what, remedy) from None


def _one_line(text: str) -> str:
    """Printable, on one line: it stands in tables of every kind."""
    return printable(one_line(text), "?")
