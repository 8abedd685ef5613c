"""Tool calls that brought nothing, and what was wrong with them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from branchwise.eval.errors.item_errors import FailedCall
from branchwise.eval.errors.labels import CallFailure
from branchwise.eval.errors.trail import CallCost
from branchwise.trace.conversation import ToolCall

_KNOWN: Mapping[str, CallFailure] = {kind: kind for kind in get_args(CallFailure)}


def failed_calls(calls: Iterable[ToolCall]) -> Iterator[FailedCall]:
    """The calls without a result, in the order made."""
    for call in calls:
        cost = CallCost.of(call)
        if cost.error is not None:
            kind = _KNOWN.get(str(call.result.failure), "failed")
            yield FailedCall(call.number, call.step, cost.tool, kind, cost.error)
