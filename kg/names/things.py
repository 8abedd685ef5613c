"""What a graph says of one thing, as far as it helps to find it and to tell it apart."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from branchwise.kg.vocabulary import (
    ALIASES,
    DATES,
    LABELS,
    NAMING,
    OCCUPATION,
    TYPES,
    local_name,
    short_id,
)

if TYPE_CHECKING:
    import pyoxigraph

_MAX_TYPES = 4
_MAX_OCCUPATIONS = 4
_MAX_YEARS = 12


class TaggedText(NamedTuple):
    """A name or description in a language ("" where it has none)."""

    value: str
    language: str

    @property
    def order(self) -> tuple[int, str, str]:
        """English first, then what is of no language or of all, then the others by tag."""
        if self.language == "en":
            return (0, "", self.value)
        if self.language.startswith("en-"):
            return (2, self.language, self.value)
        if self.language in {"", "mul"}:
            return (1, self.language, self.value)
        return (3, self.language, self.value)


@dataclass
class Thing:
    """What a graph says about one IRI. `statements`: where it is the subject, without names.

    `types` and `occupations` are ids; `years` are those of all its dates.
    """

    id: str
    labels: list[TaggedText] = field(default_factory=list)
    aliases: list[TaggedText] = field(default_factory=list)
    descriptions: list[TaggedText] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    occupations: list[str] = field(default_factory=list)
    years: set[str] = field(default_factory=set)
    statements: int = 0

    @property
    def label(self) -> str | None:
        """The first of its labels in the order of `TaggedText`."""
        return min(self.labels, key=lambda text: text.order).value if self.labels else None

    @property
    def description(self) -> str:
        """The first of its descriptions; "" where there is none."""
        if not self.descriptions:
            return ""
        return min(self.descriptions, key=lambda text: text.order).value

    @property
    def kinds(self) -> list[str]:
        """Types as shown; for people "human" says little, so what they do stands beside it."""
        return sorted(self.types)[:_MAX_TYPES] + sorted(self.occupations)[:_MAX_OCCUPATIONS]

    @property
    def dates(self) -> list[str]:
        """Years that a name may be told apart by: "King Kong (1976 film)"."""
        return sorted(year for year in self.years if year.isdecimal())[:_MAX_YEARS]

    def add_link(self, predicate: str, iri: str) -> None:
        """Take an IRI that is said of it, if it says what kind of thing it is."""
        if predicate in TYPES:
            self.types.append(short_id(iri))
        elif predicate == OCCUPATION:
            self.occupations.append(short_id(iri))

    def add_text(self, predicate: str, value: "pyoxigraph.Literal") -> None:
        """Take a literal that is said of it, if it is a name, a description or a date."""
        if predicate in NAMING:
            if value.value.strip():
                texts = self._texts(predicate)
                texts.append(TaggedText(value.value, value.language or ""))
        elif value.datatype.value in DATES:
            self.years.add(value.value[:4])

    def names(self) -> Iterator[str]:
        """Its names, each once, the label first; of what has none, the end of its IRI."""
        label = self.label
        if label is None and not self.aliases:
            if self.id.startswith(("http", "urn:")) and self.statements:
                yield local_name(self.id)
            return
        if label is not None:
            yield label
        others = {text.value: None for text in sorted(self.labels + self.aliases)}
        others.pop(label or "", None)
        yield from others

    def _texts(self, predicate: str) -> list[TaggedText]:
        if predicate in LABELS:
            return self.labels
        return self.aliases if predicate in ALIASES else self.descriptions
