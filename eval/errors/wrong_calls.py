"""Tool calls that brought nothing, and what was wrong with them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from branchwise.eval.errors.item_errors import FailedCall
from branchwise.eval.errors.labels import CallFailure
from branchwise.eval.errors.trace_reading import ToolCall

_BY_TEXT: Sequence[tuple[str, CallFailure]] = (
    ("not run:", "not_run"),
    ("bad arguments:", "arguments"),
    ("the arguments are not a JSON object", "arguments"),
    ("there is no tool ", "unknown_tool"),
)
"""How errors begin in traces from before the event said what kind of failure it is."""


def failed_calls(calls: Iterable[ToolCall]) -> Iterator[FailedCall]:
    """The calls without a result, in the order made."""
    for call in calls:
        if call.error is not None:
            yield FailedCall(call.number, call.step, call.tool, _failure(call), call.error)


def _failure(call: ToolCall) -> CallFailure:
    known: Mapping[str, CallFailure] = {
        "arguments": "arguments",
        "unknown_tool": "unknown_tool",
        "failed": "failed",
        "not_run": "not_run",
    }
    if kind := known.get(str(call.data.get("failure"))):
        return kind
    error = call.error or ""
    return next((kind for start, kind in _BY_TEXT if error.startswith(start)), "failed")
