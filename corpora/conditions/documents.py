"""Documents that offer something under conditions: expressions, relations, scenarios, problems.

An expression over the conditions of one document, `c1 AND (c2 OR c3)`:

    expression = product {"OR" product}
    product    = factor {"AND" factor}
    factor     = NAME | "(" expression ")"

AND binds more strongly than OR; both are read in any case of letters. There is no NOT: what is
required is never the absence of a condition, so a condition that becomes true never makes an
expression false (it is monotone), which the solver relies on.

A condition's id is `DOCUMENT-NAME` (`doc17-c4`), a sentence's `DOCUMENT-cN`. Answers name
sentences; a sentence may state several conditions.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, cast

NAME = r"[A-Za-z][A-Za-z0-9_]{0,49}"
"""What conditions are called within their document, as a regular expression, but for AND and OR."""
MAX_CHARACTERS = 20_000
MAX_DEPTH = 50
"""Of brackets within brackets."""
OPERATORS = ("AND", "OR")
_TOKEN = re.compile(rf"\s*(?:({NAME})(?![A-Za-z0-9_])|([()]))")
QuestionKind = Literal["q1", "q2", "q3"]
"""At least one of the documents' requirements / all of them / the maximum number of them."""
QUESTION_KINDS: tuple[QuestionKind, ...] = ("q1", "q2", "q3")
RelationKind = Literal["conflicting", "equivalent", "inclusive"]
UnknownPart = Literal["values", "relations"]
"""What a file may not say of a question."""
DOCUMENT_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
SENTENCE = r"c\d{1,4}"
"""What documents and (within their document) sentences are called, as regular expressions."""
_RELATED: Mapping[RelationKind, str] = {
    "conflicting": "conflicts with",
    "equivalent": "is equivalent to",
    "inclusive": "is narrower than",
}


class ExpressionError(ValueError):
    """A text that is not an expression; the message says at which column, counted from 1."""


@dataclass(frozen=True)
class Atom:
    """One condition, by its name within the document."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Compound:
    operator: ClassVar[str]

    parts: "tuple[Expression, ...]"

    def __str__(self) -> str:
        shown = (str(part) if isinstance(part, Atom) else f"({part})" for part in self.parts)
        return f" {self.operator} ".join(shown)

    @classmethod
    def of(cls, *parts: "Expression") -> "Expression":
        flat = [p for part in parts for p in (part.parts if isinstance(part, cls) else (part,))]
        return flat[0] if len(flat) == 1 else cast(Expression, cls(tuple(flat)))


class AllOf(_Compound):
    """True where every part is. Parts are atoms or alternatives, at least two."""

    operator = "AND"


class AnyOf(_Compound):
    """True where at least one part is. Parts are atoms or conjunctions, at least two."""

    operator = "OR"


Expression = Atom | AllOf | AnyOf
all_of, any_of = AllOf.of, AnyOf.of
"""The conjunction or alternative of parts; of one part, that part. Nested ones become one."""


def names(expression: Expression) -> Iterator[str]:
    """The conditions that an expression speaks of, in its order, repeats included."""
    if isinstance(expression, Atom):
        yield expression.name
    else:
        for part in expression.parts:
            yield from names(part)


def parse_expression(text: str) -> Expression:
    """Raises ExpressionError for a text that is not of the form above, is longer than
    `MAX_CHARACTERS`, or nests brackets more deeply than `MAX_DEPTH`."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"is longer than {MAX_CHARACTERS:,} characters")
    reader = _Reader(text)
    expression = reader.expression(0)
    if reader.token.text:
        raise reader.unexpected("AND, OR or the end")
    return expression


class _Token(NamedTuple):
    text: str  # "" at the end
    column: int
    is_name: bool = False


class _Reader:
    """Recursive descent with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self.token = next(self._tokens)

    def expression(self, depth: int) -> Expression:
        parts = [self._product(depth)]
        while self._took("OR"):
            parts.append(self._product(depth))
        return any_of(*parts)

    def unexpected(self, expected: str) -> ExpressionError:
        next_token = repr(self.token.text) if self.token.text else "the end"
        column = self.token.column
        return ExpressionError(f"column {column}: expected {expected}, found {next_token}")

    def _product(self, depth: int) -> Expression:
        parts = [self._factor(depth)]
        while self._took("AND"):
            parts.append(self._factor(depth))
        return all_of(*parts)

    def _factor(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise ExpressionError(f"nests brackets more than {MAX_DEPTH} deep")
        token = self.token
        if self._took("("):
            inner = self.expression(depth + 1)
            if not self._took(")"):
                raise self.unexpected("AND, OR or )")
            return inner
        if not token.is_name:
            raise self.unexpected("a condition or (")
        self.token = next(self._tokens)
        return Atom(token.text)

    def _took(self, text: str) -> bool:
        if self.token.text != text or self.token.is_name:
            return False
        self.token = next(self._tokens)
        return True


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            bad = len(text) - len(text[at:].lstrip())
            raise ExpressionError(f"column {bad + 1}: {text[bad : bad + 20]!r} is not a condition")
        word, at = match[1] or match[2], match.end()
        is_name = bool(match[1]) and word.upper() not in OPERATORS
        yield _Token(word if is_name else word.upper(), at - len(word) + 1, is_name)
    yield _Token("", len(text) + 1)


def document_of(id: str) -> str:
    return id.rpartition("-")[0]


@dataclass(frozen=True)
class StatedCondition:
    """A condition by its `name` in a document's expression. `sentence` states it; `lead` are those
    that lead in to it ("You must be one of these:"), which answers name as well."""

    document: str
    name: str
    sentence: str
    lead: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.document}-{self.name}"

    @property
    def sentence_id(self) -> str:
        return f"{self.document}-{self.sentence}"

    @property
    def sentences(self) -> tuple[str, ...]:
        return (*self.lead, self.sentence)

    @property
    def stated_by(self) -> str | list[str]:
        """As files say it (`conditions_of`)."""
        return [*self.sentences] if self.lead else self.sentence

    @property
    def sentence_ids(self) -> tuple[str, ...]:
        return tuple(f"{self.document}-{sentence}" for sentence in self.sentences)


def conditions_of(
    document: str, stated: Mapping[str, str | Sequence[str]]
) -> tuple[StatedCondition, ...]:
    """A document's conditions, as files say them: by name the sentence that states each, or a list
    of those that lead in to it and, last, the one that states it."""
    listed = {name: [at] if isinstance(at, str) else at for name, at in stated.items()}
    return tuple(StatedCondition(document, n, at[-1], tuple(at[:-1])) for n, at in listed.items())


@dataclass(frozen=True)
class ConditionsDocument:
    """A document that offers something if its expression over its conditions is true. `sentences`:
    HTML by number (`c0`, ...), in order; `conditions`: in document order, which decides between
    equivalent ones. `domain`: what documents offer, as a plural noun ("scholarships")."""

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
        """The sentences that state conditions, in their order (the hint that shows these)."""
        stated = {name for condition in self.conditions for name in condition.sentences}
        return {c: text for c, text in self.sentences.items() if c in stated}


@dataclass(frozen=True)
class ConditionRelation:
    """A relation between conditions, by ids. `inclusive`: the first implies the second."""

    kind: RelationKind
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} {_RELATED[self.kind]} {self.second}"


@dataclass(frozen=True)
class ConditionsProblem:
    """One question without its words: which of the documents (as shown, in order) can be had
    together, and what else must be true. `values` (what the scenario says, also of other documents'
    conditions that a relation ties to these) and `relations` are by condition id."""

    kind: QuestionKind
    documents: tuple[ConditionsDocument, ...]
    relations: tuple[ConditionRelation, ...]
    values: Mapping[str, bool]

    @cached_property
    def conditions(self) -> Mapping[str, StatedCondition]:
        """All conditions by id, in document order: by document, then as they stand in it."""
        return {c.id: c for document in self.documents for c in document.conditions}

    @cached_property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """Where each sentence stands, by its id: the document's place, then the sentence's."""
        return {
            document.sentence_id(sentence): (place, number)
            for place, document in enumerate(self.documents)
            for number, sentence in enumerate(document.sentences)
        }


@dataclass(frozen=True)
class ConditionsAnswer:
    """The answer: `short` is "yes" or "no" (q1, q2), or a number (q3). `groups`: alternatives, of
    ids of sentences that state what must also be true, in document order; perhaps none."""

    short: str | int
    groups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class ScenarioPart:
    """Some sentences of a scenario, and the values of conditions that they give."""

    text: str
    values: Mapping[str, bool]


@dataclass(frozen=True)
class Scenario:
    """Someone's situation, and the documents that its questions are about. Values of other
    documents' conditions count as far as relations carry them. `gold`: answers known otherwise,
    where the values (unless `has_values`) or the relations are not."""

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
        return {c: v for part in self.parts for c, v in part.values.items()}


@dataclass(frozen=True)
class ConditionsSet:
    """What a file holds. `path`: for messages; `has_relations`: whether it relates conditions."""

    path: str
    documents: Mapping[str, ConditionsDocument]
    relations: tuple[ConditionRelation, ...]
    scenarios: tuple[Scenario, ...]
    about: Mapping[str, Any]
    has_relations: bool = True

    def lacks(self, scenario: Scenario) -> tuple[UnknownPart, ...]:
        """What is not known, so that the scenario's answers do not follow from the rest."""
        values: tuple[UnknownPart, ...] = () if scenario.has_values else ("values",)
        return values if self.has_relations else (*values, "relations")

    def place(self, scenario: Scenario) -> str:
        return f"{self.path}:scenario {scenario.id}"

    def problem(self, scenario: Scenario, kind: QuestionKind) -> ConditionsProblem:
        """A scenario's question, with what concerns its documents alone: relations between their
        conditions, and from these to conditions that the scenario mentions. (Relations to others
        are left aside: those of all published documents together contradict each other.)"""
        documents = tuple(self.documents[id] for id in scenario.documents)
        own = {condition.id for document in documents for condition in document.conditions}
        known = own | scenario.values.keys()
        relations = {
            relation
            for id in scenario.documents
            for relation in self._relations_of[id]
            if relation.first in known and relation.second in known
        }
        tied = own | {end for relation in relations for end in (relation.first, relation.second)}
        return ConditionsProblem(
            kind,
            documents,
            tuple(sorted(relations, key=self._order.__getitem__)),
            {id: value for id, value in scenario.values.items() if id in tied},
        )

    @cached_property
    def _order(self) -> Mapping[ConditionRelation, int]:
        return {relation: place for place, relation in enumerate(self.relations)}

    @cached_property
    def _relations_of(self) -> Mapping[str, list[ConditionRelation]]:
        """Relations by document, so that not every question reads all of them."""
        relations: dict[str, list[ConditionRelation]] = {id: [] for id in self.documents}
        for relation in self.relations:
            for end in (relation.first, relation.second):
                relations[document_of(end)].append(relation)
        return relations
