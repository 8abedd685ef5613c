"""Labels and aliases of entities, in the language that is best understood."""

from collections.abc import Iterable
from typing import NamedTuple

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALIAS = "http://www.w3.org/2004/02/skos/core#altLabel"
LANGUAGES = ("en", "mul", "")
"""Best first. A label of another language is better than none; an alias is not."""


class Name(NamedTuple):
    """A label or an alias in a language ("" where none is given)."""

    text: str
    language: str


def best_label(names: Iterable[Name]) -> str | None:
    """The label in the best language, the first in order where that has several."""
    best = min(names, key=_rank, default=None)
    return best.text if best else None


def best_aliases(names: Iterable[Name], label: str) -> tuple[str, ...]:
    """The aliases in `LANGUAGES` that differ from the label, sorted."""
    return tuple(sorted({name.text for name in names if name.language in LANGUAGES} - {label}))


class EntityNames:
    """The names of many entities, as they are found."""

    def __init__(self) -> None:
        self._labels: dict[str, Name] = {}
        self._aliases: dict[str, tuple[Name, ...]] = {}

    def add_label(self, entity: str, name: Name) -> None:
        """Keep a label, if it is the best up to now."""
        known = self._labels.get(entity)
        if known is None or _rank(name) < _rank(known):
            self._labels[entity] = name

    def add_alias(self, entity: str, name: Name) -> None:
        """Keep an alias."""
        self._aliases[entity] = (*self._aliases.get(entity, ()), name)

    def label(self, entity: str) -> str:
        """The best label; the entity's number or IRI where it has none."""
        known = self._labels.get(entity)
        return known.text if known else entity

    def aliases(self, entity: str) -> tuple[str, ...]:
        """Other names, sorted."""
        return best_aliases(self._aliases.get(entity, ()), self.label(entity))


def _rank(name: Name) -> tuple[int, str, str]:
    known = name.language in LANGUAGES
    place = LANGUAGES.index(name.language) if known else len(LANGUAGES)
    return place, name.language, name.text
