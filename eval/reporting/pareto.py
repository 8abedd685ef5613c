"""Which systems no other beats, where one thing is paid for another."""

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Priced(Protocol):
    """A system's number in the report, what it spends, and what it gets for it."""

    @property
    def index(self) -> int: ...
    @property
    def spent(self) -> float: ...
    @property
    def value(self) -> float: ...


T = TypeVar("T", bound=Priced)


def pareto_front(systems: Sequence[T]) -> list[T]:
    """The systems that no other equals or beats in both while beating it in one, cheapest first.

    Equal ones are all on it.
    """
    return sorted(
        (one for one in systems if not any(_dominates(other, one) for other in systems)),
        key=lambda one: (one.spent, one.value, one.index),
    )


def _dominates(a: Priced, b: Priced) -> bool:
    no_worse = a.spent <= b.spent and a.value >= b.value
    return no_worse and (a.spent < b.spent or a.value > b.value)
