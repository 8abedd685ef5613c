"""A step of a trace in words: for `ask` as it happens, for the trace's tree, and in full.

Passages and model output are data: each line is plain text without control characters, for a
console that does not interpret markup. A step that is not understood, of a newer version or of a
plug-in, is shown as it was recorded.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from branchwise.base.text import printable
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import SHOWN_RESULTS, begun, short
from branchwise.trace.conversation import ToolCall, read_conversation
from branchwise.trace.events import Event, Unknown
from branchwise.trace.parts import Body
from branchwise.ui.steps import kinds, parts
from branchwise.ui.steps.parts import MAX_FACT, Looked

MAX_LABEL = 160
EDITED = "edited: a text that was written for this run stands in the place of the step's own"
_TEXTS = ("message", "problem", "reason", "text")
"""Fields that stand alone in a step in full, however short they are."""

B = TypeVar("B", bound=Body)


@dataclass(frozen=True)
class Around:
    """What a step in full shows beside its own event: of the item's other events, and of its
    errors (None where they are not known). `looked`: what is looked for in its texts."""

    events: Sequence[Event] = ()
    errors: ItemErrors | None = None
    looked: Looked = field(default_factory=Looked)

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """The item's tool calls, each with its result, its extraction, and what nodes changed."""
        return read_conversation(self.events).calls


class EventWords(Generic[B]):
    """The words of a kind of event, from its declared fields; a module of `kinds` overrides
    them."""

    def label(self, body: B) -> str:
        """A few words, the essential first."""
        return next(iter(self.lines(body, 0)))

    def lines(self, body: B, most: int) -> Iterator[str]:
        """At least one line; of a search or query, the first `most` results below it."""
        fields = _fields(body)
        facts = (f"{name}: {value}" for name, value in fields.items() if value is not None)
        yield begun(body.KIND, short(", ".join(facts))).rstrip()

    def blocks(self, body: B, around: Around) -> Iterator[Block]:
        """All that it has: short facts on one line, then the texts, then the rest as JSON."""
        fields = _fields(body)
        facts = {k: v for k, v in fields.items() if k not in _TEXTS and _is_short(v)}
        yield from parts.note(*(f"{name}: {value}" for name, value in facts.items()))
        texts = {k: v for k, v in fields.items() if k not in facts and isinstance(v, str)}
        for name, value in texts.items():
            yield from parts.text(value, name, kind="error" if body.FAILED else "text")
        shown = facts.keys() | texts.keys()
        yield from parts.rest({k: v for k, v in fields.items() if k not in shown})

    def brought(self, body: B) -> Iterable[str] | None:
        """The texts in which it brought answers; None where it brings none."""
        return None


def _fields(body: Body) -> dict[str, Any]:
    return body.changed(edited=False).record()


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) < MAX_FACT // 2 and "\n" not in value
    return value is None or isinstance(value, int | float)


_WORDS: dict[type[Body], EventWords[Any]] = {}


def says(kind: type[B]) -> Callable[[type[EventWords[B]]], type[EventWords[B]]]:
    """Declare the words of a kind of event."""

    def declared(words: type[EventWords[B]]) -> type[EventWords[B]]:
        _WORDS[kind] = words()
        return words

    return declared


def words_of(body: Body) -> EventWords[Any]:
    """The words that a module of `kinds` declares for its kind, or the general ones."""
    _load_kinds()
    return _WORDS.get(type(body)) or EventWords()


@cache
def _load_kinds() -> None:
    for module in pkgutil.iter_modules(kinds.__path__):
        importlib.import_module(f"{kinds.__name__}.{module.name}")


def label(event: Event) -> str:
    """One line of at most 160 printable characters, the essential first; says if it was edited."""
    body = event.body
    words = words_of(body).label(body) if _is_understood(event) else _as_recorded(event)
    return short(printable(f"edited {words}" if body.edited else words, " "), MAX_LABEL)


def describe(event: Event, *, passages: int = SHOWN_RESULTS) -> list[str]:
    """The lines that say what a step did; of a search or query, the first `passages` results."""
    body, lines = event.body, [_as_recorded(event)]
    if _is_understood(event):
        lines = list(words_of(body).lines(body, passages))
    if body.edited:
        lines[0] += " (edited)"
    return [printable(line, " ") for line in lines]


def blocks(event: Event, around: Around) -> list[Block]:
    """Everything that the trace has of a step, its heading first."""
    body = event.body
    head = parts.heading(f"step {event.seq}: {event.kind} · {label(event)}")
    notes = parts.note(EDITED) if body.edited else ()
    if _is_understood(event):
        return [head, *notes, *words_of(body).blocks(body, around)]
    return [head, *notes, parts.as_json(_record(event))]


def brought(event: Event) -> Iterable[str] | None:
    """The texts in which a step brought answers; None where it is of a kind that brings none."""
    return words_of(event.body).brought(event.body)


def _is_understood(event: Event) -> bool:
    return not (isinstance(event.body, Unknown) or event.body.problems)


def _as_recorded(event: Event) -> str:
    return f"{event.kind}: {short(_record(event))}"


def _record(event: Event) -> Any:
    return event.data if event.body.problems else event.body.more
