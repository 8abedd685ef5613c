"""How steps are said: the words of each kind, and those for a kind that has none of its own."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import begun, short
from branchwise.trace.conversation import ToolCall, read_conversation
from branchwise.trace.events import Body, Event
from branchwise.ui.steps import kinds, parts
from branchwise.ui.steps.parts import MAX_FACT, Looked

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
    """The words of a kind of event. These are made from its declared fields: a kind overrides what
    it says better, in a module of `kinds`."""

    def label(self, body: B) -> str:
        """A few words, the essential first."""
        return next(iter(self.lines(body, 0)))

    def lines(self, body: B, most: int) -> Iterator[str]:
        """At least one line; of a search or query, the first `most` results below it."""
        said = (f"{name}: {value}" for name, value in _fields(body).items() if value is not None)
        yield begun(body.KIND, short(", ".join(said))).rstrip()

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
