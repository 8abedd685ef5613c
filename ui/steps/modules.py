"""What calls of modules cost, what they left of a passage, and which lines were not taken."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from branchwise.report.terminal.step_text import count
from branchwise.trace.events import Expansion
from branchwise.trace.parts import Dropped, Extracted, ExtractionRequest


class _Named(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_Named)


def call_cost(calls: Sequence[Expansion | Extracted | ExtractionRequest]) -> list[str]:
    """Tokens where servers count them, seconds together, and whether all are replays."""
    read = sum(call.usage.input for call in calls)
    written = sum(call.usage.output for call in calls)
    notes = [f"{read} tokens in, {written} out"] if read or written else []
    notes.append(f"{sum(call.seconds for call in calls):.2f} s")
    return [*notes, "replayed"] if calls and all(call.replayed for call in calls) else notes


def reasons(dropped: Iterable[Dropped]) -> str:
    """How many lines were dropped for each reason, in the order in which the reasons came."""
    counts = Counter(one.why for one in dropped)
    return ", ".join(f"{number} {why}" for why, number in counts.items())


def extracted(record: Extracted) -> str:
    """What evidence extraction left of a passage, in few words."""
    if record.how == "failed":
        return "extraction failed, shown whole"
    whole = " (whole)" if record.whole else ""
    kept = f"{count(len(record.spans), 'span')}{whole}" if record.spans else "nothing extracted"
    return f"{kept}, read before" if record.reused else kept


def at_place(id: str, place: int, listed: Sequence[T]) -> T | None:
    """What belongs to a passage, or the passage itself: at its place, in other orders by its id."""
    return next((one for one in [*listed[place : place + 1], *listed] if one.id == id), None)
