"""Kinds of error of a task's items, in classes: what each is called, and which items have it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)
"""What is known of an item."""


@dataclass(frozen=True)
class ErrorType(Generic[T_contra]):
    """What happened: its key in files, its heading in its class, what it says in a few words.

    `holds`: whether it happened to an item; None where that cannot be known.
    """

    key: str
    title: str
    words: str
    holds: Callable[[T_contra], bool | None]


@dataclass(frozen=True)
class ErrorClass(Generic[T_contra]):
    """Error types that belong together; an item of any of them is of the class.

    `published`: the class as the paper that it is of words it, where that is not the same; it is
    counted beside the class, and is none of its types.
    """

    key: str
    title: str
    types: tuple[ErrorType[T_contra], ...]
    published: ErrorType[T_contra] | None = None

    @property
    def counted(self) -> "tuple[ErrorType[T_contra], ...]":
        """Its types, then the class as the paper words it."""
        return (*self.types, *([self.published] if self.published else []))

    @property
    def shown(self) -> "tuple[ErrorClass[T_contra] | ErrorType[T_contra], ...]":
        """The class, then as the paper words it."""
        return (self, *([self.published] if self.published else []))


@dataclass(frozen=True)
class ErrorClasses(Generic[T_contra]):
    """All classes of a task's errors, in the order in which they are read; `says`: what they mean,
    a line each."""

    classes: tuple[ErrorClass[T_contra], ...]
    says: tuple[str, ...]

    @property
    def types(self) -> tuple[ErrorType[T_contra], ...]:
        """Those of all classes."""
        return tuple(one for group in self.classes for one in group.types)

    @property
    def counted(self) -> tuple[ErrorType[T_contra], ...]:
        """The same, and the classes as papers word them."""
        return tuple(one for group in self.classes for one in group.counted)


@dataclass(frozen=True)
class FoundErrors:
    """An item (a question in one epoch): the keys of the error types that it has, those of papers
    among them, and of those of which it cannot be known."""

    id: str
    epoch: int
    ambiguous: bool
    found: frozenset[str]
    unknown: frozenset[str] = frozenset()


def found_errors(
    id: str, epoch: int, ambiguous: bool, classes: ErrorClasses[T_contra], known: T_contra
) -> FoundErrors:
    """The errors of an item by what is `known` of it."""
    holds = {one.key: one.holds(known) for one in classes.counted}
    found, unknown = (
        frozenset(key for key, value in holds.items() if value is wanted) for wanted in (True, None)
    )
    return FoundErrors(id, epoch, ambiguous, found, unknown)
