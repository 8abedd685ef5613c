"""What a question with conditions is about: documents, their conditions, relations, values.

A condition's id is `DOCUMENT-NAME` (`doc17-c4`), a sentence's `DOCUMENT-cN`. Answers name
sentences; a sentence may state several conditions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal

from branchwise.corpora.conditions.expressions import Expression

QuestionKind = Literal["q1", "q2", "q3"]
"""At least one of the documents' requirements / all of them / the maximum number of them."""
QUESTION_KINDS: tuple[QuestionKind, ...] = ("q1", "q2", "q3")

RelationKind = Literal["conflicting", "equivalent", "inclusive"]

UnknownPart = Literal["values", "relations"]
"""What a file may not say of a question."""

DOCUMENT_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
SENTENCE = r"c\d{1,4}"
"""What documents and (within their document) sentences are called, as regular expressions."""


def document_of(id: str) -> str:
    """The document of a condition or sentence, by its id."""
    return id.rpartition("-")[0]


@dataclass(frozen=True)
class StatedCondition:
    """A condition by its `name` in a document's expression; `sentence` states it."""

    document: str
    name: str
    sentence: str

    @property
    def id(self) -> str:
        return f"{self.document}-{self.name}"

    @property
    def sentence_id(self) -> str:
        """What answers name: `doc17-c4`."""
        return f"{self.document}-{self.sentence}"


@dataclass(frozen=True)
class ConditionsDocument:
    """A document that offers something if its expression over its conditions is true.

    `sentences` are HTML by number (`c0`, `c1`, ...), in their order; `conditions` are in document
    order, by which one of two equivalent ones stays in an answer. `domain` is what the documents
    offer, as a plural noun ("scholarships").
    """

    id: str
    title: str
    domain: str
    sentences: Mapping[str, str]
    conditions: tuple[StatedCondition, ...]
    expression: Expression

    def sentence_id(self, sentence: str) -> str:
        return f"{self.id}-{sentence}"

    @cached_property
    def stating(self) -> Mapping[str, str]:
        """The sentences that state conditions, in their order (the hint that names these)."""
        stated = {condition.sentence for condition in self.conditions}
        return MappingProxyType({c: text for c, text in self.sentences.items() if c in stated})


@dataclass(frozen=True)
class ConditionRelation:
    """A relation between conditions, by their ids. Of `inclusive` ones the first is the narrower:
    where it is true the second, wider one is."""

    kind: RelationKind
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} {_RELATED[self.kind]} {self.second}"


_RELATED: Mapping[RelationKind, str] = {
    "conflicting": "conflicts with",
    "equivalent": "is equivalent to",
    "inclusive": "is narrower than",
}


@dataclass(frozen=True)
class ConditionsProblem:
    """One question without its words: which of the documents can be had together, and what else
    must be true.

    `relations` and `values` (what the scenario says, by condition id) are of the documents'
    conditions alone. Documents are in the order in which they are shown.
    """

    kind: QuestionKind
    documents: tuple[ConditionsDocument, ...]
    relations: tuple[ConditionRelation, ...]
    values: Mapping[str, bool]

    @cached_property
    def conditions(self) -> Mapping[str, StatedCondition]:
        """All conditions by id, in document order: by document, then as they stand in it."""
        return MappingProxyType({one.id: one for one in self._all()})

    @cached_property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Where each sentence stands, by its id: the document's place, then the sentence's."""
        return MappingProxyType(
            {
                document.sentence_id(sentence): (place, number)
                for place, document in enumerate(self.documents)
                for number, sentence in enumerate(document.sentences)
            }
        )

    def _all(self) -> Iterator[StatedCondition]:
        for document in self.documents:
            yield from document.conditions


@dataclass(frozen=True)
class ConditionsAnswer:
    """The answer to a question: `short` is "yes" or "no" (q1, q2), or a number (q3).

    `groups` are alternatives, each of the ids of sentences that state what must also be true, in
    document order; none where nothing more is needed, and for "no" and 0.
    """

    short: str | int
    groups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class ScenarioPart:
    """Some sentences of a scenario, and the values of conditions that they give."""

    text: str
    values: Mapping[str, bool]


@dataclass(frozen=True)
class Scenario:
    """Someone's situation, and the documents that its questions are about.

    Parts may also give values of conditions of other documents: they change nothing. `gold` are
    answers that are known otherwise, where the values (unless `has_values`) or the relations that
    they would follow from are not.
    """

    id: str
    documents: tuple[str, ...]
    parts: tuple[ScenarioPart, ...]
    kinds: tuple[QuestionKind, ...] = QUESTION_KINDS
    gold: Mapping[QuestionKind, ConditionsAnswer] = field(default_factory=dict)
    has_values: bool = True

    @property
    def text(self) -> str:
        return " ".join(part.text for part in self.parts if part.text)

    @cached_property
    def values(self) -> Mapping[str, bool]:
        """Of all parts together. No condition has two values."""
        return MappingProxyType({c: v for part in self.parts for c, v in part.values.items()})
