"""What a store's rows add up to: which items are whole, and what is missing."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.runs.costs.usage import KEPT_COUNTS
from branchwise.runs.store.passage_references import references
from branchwise.runs.store.run_file import QUESTION_COUNT, count_items
from branchwise.runs.store.tables import ENDED, Row

_MAX_EVENTS = 1 << 20
Rows = Callable[[str], Iterable[Row]]
"""By table: its intact rows, without checksums, in any order, perhaps with repeats."""


class ItemState(NamedTuple):
    """An item's row: where it belongs, and once it has ended how many other rows it has."""

    question: int
    epoch: int
    status: str
    events: int | None
    responses: int | None


@dataclass
class Survey:
    """What is there. Items and questions by number.

    `events`: by item, a bit for each event number. `responses`: by item, their keys. `lacking`:
    items with an event or a response that cannot be read or refers to a missing passage. `opening`:
    how many of its events are whole. `unread`: by table, rows that are not records.
    """

    item_count: int
    question_count: int
    questions: dict[int, str] = field(default_factory=dict)
    items: dict[int, ItemState] = field(default_factory=dict)
    lacking: set[int] = field(default_factory=set)
    responses: dict[int, set[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(set))
    opening: int = 0
    unread: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    events: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def is_whole(self, item: int) -> bool:
        """Whether everything written for the item exists."""
        state = self.items.get(item)
        if state is None or state.question not in self.questions or item in self.lacking:
            return False
        if state.status == "pending":
            # With its first row it would be running.
            return not self.events.get(item) and not self.responses.get(item)
        if state.status not in ENDED:
            return True
        # From the first on, none is missing.
        is_full = self.events[item] == (1 << (state.events or 0)) - 1
        return is_full and state.responses == len(self.responses[item])

    def has_ended(self, item: int) -> bool:
        """Whether the item's row exists and says so."""
        return item in self.items and self.items[item].status in ENDED

    @property
    def whole(self) -> list[int]:
        """The items that are whole."""
        return [item for item in range(1, self.item_count + 1) if self.is_whole(item)]

    @property
    def lost_questions(self) -> list[int]:
        """Missing questions, by number."""
        return [n for n in range(self.question_count) if n not in self.questions]


def survey(rows: Rows, meta: Mapping[str, Any]) -> Survey:
    """Read all rows of a run with these settings."""
    passages = {row[0] for row in rows("passages")}
    found = Survey(0, 0)

    def has_passages(table: str, body: bytes) -> bool:
        wanted = _references(body)
        found.unread[table] += wanted is None
        return wanted is not None and passages.issuperset(wanted)

    for n, id, body in rows("questions"):
        wanted = _passages_of_question(body)
        found.unread["questions"] += wanted is None
        if wanted is not None and passages.issuperset(wanted):
            found.questions[n] = id
    for item, question, epoch, status, events, responses, outcome in rows("items"):
        if is_outcome(outcome) if status in ENDED else outcome is None:
            found.items[item] = ItemState(question, epoch, status, events, responses)
        else:
            found.unread["items"] += 1
    for item, seq, _, _, body in rows("events"):
        if not has_passages("events", body) or not 0 <= seq < _MAX_EVENTS:
            found.lacking.add(item)
        else:
            found.events[item] |= 1 << seq
    for item, *key, body in rows("responses"):
        if not has_passages("responses", body):
            found.lacking.add(item)
        found.responses[item].add(tuple(key))
    for _, _, _, body in rows("opening"):
        found.opening += has_passages("opening", body)
    found.question_count = int(meta[QUESTION_COUNT])
    found.item_count = count_items(meta, found.question_count)
    return found


def _passages_of_question(body: bytes) -> list[str] | None:
    """Passages of a question; None if it is not a question."""
    try:
        record = orjson.loads(body)
        Question.model_validate({**record, "passages": ()})
        return list(record["passages"])
    except (ValueError, LookupError, TypeError):
        return None


def is_outcome(outcome: bytes | None) -> bool:
    """Whether this is a valid outcome, as scorers read it."""
    try:
        record = orjson.loads(outcome or b"")
        Prediction.model_validate(record["prediction"])
        texts = isinstance(record["how"], str) and isinstance(record.get("error"), str | None)
        return texts and isinstance(record["evidence"], list) and _is_cost(record)
    except (ValueError, LookupError, TypeError, AttributeError):
        return False


def _is_cost(outcome: Mapping[str, Any]) -> bool:
    """Whether an item's usage, by role, consists of numbers."""
    roles = outcome["usage"].values()
    counts = [usage.get(name, 0) for usage in roles for name in KEPT_COUNTS]
    return all(isinstance(count, int | float) for count in counts)


def _references(body: bytes) -> list[str] | None:
    """Passages that a record refers to; None if it is not a record."""
    try:
        record = orjson.loads(body)
        return references(record)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
