"""The file that holds documents, relations and scenarios: our own JSON form.

docs/benchmarks/mdcr.md describes it field by field.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from branchwise.corpora.conditions.documents import (
    DOCUMENT_ID,
    QUESTION_KINDS,
    SENTENCE,
    ConditionRelation,
    ConditionsDocument,
    ConditionsProblem,
    QuestionKind,
    RelationKind,
    Scenario,
    ScenarioPart,
    StatedCondition,
    document_of,
)
from branchwise.corpora.conditions.expressions import (
    NAME,
    OPERATORS,
    ExpressionError,
    names,
    parse_expression,
)
from branchwise.corpora.errors import InputError, did_you_mean
from branchwise.corpora.files import first_problem, read_json_object
from branchwise.corpora.text import one_line

FORM = 1
"""The version of the form, which `"mdcr"` says."""
MAX_DOCUMENTS = 5
"""Of a scenario, as MDCR has them."""
MAX_CONDITIONS = 500
"""Of a document."""
_DESCRIBED = "see docs/benchmarks/mdcr.md for the form"
_MAX_TEXT = 20_000


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _DocumentRecord(_Record):
    id: str
    title: str = Field(max_length=_MAX_TEXT)
    domain: str = Field(min_length=1, max_length=100)
    sentences: dict[str, str] = Field(max_length=2_000)
    conditions: dict[str, str] = Field(min_length=1, max_length=MAX_CONDITIONS)
    expression: str


class _RelationRecord(_Record):
    kind: RelationKind
    between: list[str] | None = Field(None, min_length=2, max_length=2)
    narrower: str | None = None
    wider: str | None = None

    @model_validator(mode="after")
    def _names_two(self) -> Self:
        ordered = self.narrower is not None and self.wider is not None
        if (self.kind == "inclusive") != ordered or ordered == (self.between is not None):
            wanted = '"narrower" and "wider"' if self.kind == "inclusive" else '"between"'
            raise ValueError(f"{self.kind} needs {wanted}")
        return self

    @property
    def ends(self) -> tuple[str, str]:
        """The narrower before the wider."""
        if self.between:
            return self.between[0], self.between[1]
        return self.narrower or "", self.wider or ""


class _PartRecord(_Record):
    text: str = Field(max_length=_MAX_TEXT)
    values: dict[str, bool] = {}


class _ScenarioRecord(_Record):
    id: str = Field(min_length=1, max_length=200)
    documents: list[str] = Field(min_length=1, max_length=MAX_DOCUMENTS)
    text: str | None = Field(None, max_length=_MAX_TEXT)
    values: dict[str, bool] | None = None
    parts: list[_PartRecord] | None = None
    kinds: list[QuestionKind] = Field(list(QUESTION_KINDS), min_length=1)

    @model_validator(mode="after")
    def _is_said_once(self) -> Self:
        whole = self.text is not None or self.values is not None
        if whole == (self.parts is not None):
            raise ValueError('needs either "text" and "values", or "parts"')
        return self


class _FileRecord(_Record):
    mdcr: Literal[1]
    about: dict[str, Any] = {}
    documents: list[_DocumentRecord]
    relations: list[_RelationRecord] = []
    scenarios: list[_ScenarioRecord]


@dataclass(frozen=True)
class ConditionsSet:
    """What a file holds. `path` is its own, for messages."""

    path: str
    documents: Mapping[str, ConditionsDocument]
    relations: tuple[ConditionRelation, ...]
    scenarios: tuple[Scenario, ...]
    about: Mapping[str, Any]

    def place(self, scenario: Scenario) -> str:
        return f"{self.path}:scenario {scenario.id}"

    def problem(self, scenario: Scenario, kind: QuestionKind) -> ConditionsProblem:
        """A scenario's question, with what concerns its documents alone."""
        documents = tuple(self.documents[id] for id in scenario.documents)
        own = {condition.id for one in documents for condition in one.conditions}
        relations = {
            relation
            for id in scenario.documents
            for relation in self._relations_of[id]
            if relation.first in own and relation.second in own
        }
        return ConditionsProblem(
            kind,
            documents,
            tuple(sorted(relations, key=self._order.__getitem__)),
            {id: value for id, value in scenario.values.items() if id in own},
        )

    @cached_property
    def _order(self) -> Mapping[ConditionRelation, int]:
        return {relation: place for place, relation in enumerate(self.relations)}

    @cached_property
    def _relations_of(self) -> Mapping[str, list[ConditionRelation]]:
        """Relations by document, so that not every question reads all of them."""
        found: dict[str, list[ConditionRelation]] = {id: [] for id in self.documents}
        for relation in self.relations:
            for end in (relation.first, relation.second):
                found[document_of(end)].append(relation)
        return found


def read_conditions(path: Path) -> ConditionsSet:
    """Raises InputError, with file and place, for a file that is not of the form, and for what
    contradicts itself in it, except for values and relations that do so through others (the
    solver finds these)."""
    data = read_json_object(path)
    where = str(path)
    if "mdcr" not in data:
        raise InputError(
            "is not of the form that is read",
            where=where,
            remedy='give {"mdcr": 1, "documents": ...} (docs/benchmarks/mdcr.md); the published '
            "form will be read when a published file is at hand",
        )
    try:
        record = _FileRecord.model_validate(data)
    except ValidationError as error:
        raise InputError(first_problem(error), where=where, remedy=_DESCRIBED) from None
    return _Reading(where, record).result()


def conditions_record(found: ConditionsSet) -> dict[str, Any]:
    """What `read_conditions` reads as the same set."""
    return {
        "mdcr": FORM,
        "about": dict(found.about),
        "documents": [_document_record(document) for document in found.documents.values()],
        "relations": [_relation_record(relation) for relation in found.relations],
        "scenarios": [_scenario_record(scenario) for scenario in found.scenarios],
    }


def _document_record(document: ConditionsDocument) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "domain": document.domain,
        "sentences": dict(document.sentences),
        "conditions": {one.name: one.sentence for one in document.conditions},
        "expression": str(document.expression),
    }


def _relation_record(relation: ConditionRelation) -> dict[str, Any]:
    if relation.kind == "inclusive":
        return {"kind": relation.kind, "narrower": relation.first, "wider": relation.second}
    return {"kind": relation.kind, "between": [relation.first, relation.second]}


def _scenario_record(scenario: Scenario) -> dict[str, Any]:
    return {
        "id": scenario.id,
        "documents": list(scenario.documents),
        "parts": [{"text": part.text, "values": dict(part.values)} for part in scenario.parts],
        "kinds": list(scenario.kinds),
    }


class _Reading:
    """A record made into what it stands for, or refused."""

    def __init__(self, where: str, record: _FileRecord) -> None:
        self._where = where
        self._record = record
        self._documents: dict[str, ConditionsDocument] = {}
        self._conditions: set[str] = set()

    def result(self) -> ConditionsSet:
        for record in self._record.documents:
            self._add(record)
        relations = tuple(dict.fromkeys(self._relations()))
        scenarios = tuple(self._scenarios())
        about = MappingProxyType(self._record.about)
        return ConditionsSet(self._where, self._documents, relations, scenarios, about)

    def _add(self, record: _DocumentRecord) -> None:
        place = f"document {record.id}"
        if not re.fullmatch(DOCUMENT_ID, record.id):
            self._refuse(f"document {record.id!r}", "the id is not letters, digits, _ and -")
        if record.id in self._documents:
            self._refuse(place, "the id is already used", "give each document its own id")
        self._check_sentences(place, record)
        self._check_conditions(place, record)
        stated = record.conditions.items()
        conditions = tuple(StatedCondition(record.id, name, at) for name, at in stated)
        try:
            expression = parse_expression(record.expression)
        except ExpressionError as error:
            self._refuse(f"{place}, expression", str(error), "write it as c1 AND (c2 OR c3)")
        self._known(f"{place}, expression", names(expression), record.conditions, "condition")
        self._documents[record.id] = ConditionsDocument(
            record.id,
            one_line(record.title),
            one_line(record.domain),
            MappingProxyType({c: one_line(text) for c, text in record.sentences.items()}),
            conditions,
            expression,
        )
        self._conditions.update(condition.id for condition in conditions)

    def _check_sentences(self, place: str, record: _DocumentRecord) -> None:
        for name in record.sentences:
            if not re.fullmatch(SENTENCE, name):
                self._refuse(f"{place}, sentences", f"{name!r} is not c0, c1, ...")
        numbers = [int(name[1:]) for name in record.sentences]
        if numbers != sorted(set(numbers)):
            self._refuse(f"{place}, sentences", "the numbers do not rise")

    def _check_conditions(self, place: str, record: _DocumentRecord) -> None:
        for name, sentence in record.conditions.items():
            at = f"{place}, condition {name}"
            if not re.fullmatch(NAME, name) or name.upper() in OPERATORS:
                self._refuse(f"{place}, conditions", f"{name!r} is not a name for a condition")
            if sentence not in record.sentences:
                self._refuse(at, f"there is no sentence {sentence!r}", "name one that states it")
            if name in record.sentences and name != sentence:
                self._refuse(at, f"is named like a sentence, but {sentence} states it")

    def _relations(self) -> Iterator[ConditionRelation]:
        conflicting: dict[frozenset[str], tuple[bool, int]] = {}
        for number, record in enumerate(self._record.relations, start=1):
            place = f"relation {number}"
            self._known(place, record.ends, self._conditions, "condition")
            first, second = record.ends
            if document_of(first) == document_of(second):
                self._refuse(
                    place,
                    f"{first} and {second} are of one document",
                    "say it in the document's expression",
                )
            conflicts = record.kind == "conflicting"
            pair = frozenset(record.ends)
            before, earlier = conflicting.setdefault(pair, (conflicts, number))
            if before != conflicts:
                what = f"contradicts relation {earlier}: {first} and {second} cannot both conflict"
                self._refuse(place, f"{what} and be related otherwise", "leave one out")
            yield ConditionRelation(record.kind, first, second)

    def _scenarios(self) -> Iterator[Scenario]:
        seen: set[str] = set()
        for record in self._record.scenarios:
            place = f"scenario {one_line(record.id)}"
            if record.id in seen:
                self._refuse(place, "the id is already used", "give each scenario its own id")
            seen.add(record.id)
            self._known(f"{place}, documents", record.documents, self._documents, "document")
            for what, listed in (("documents", record.documents), ("kinds", record.kinds)):
                if len(set(listed)) < len(listed):
                    self._refuse(f"{place}, {what}", "one is named twice")
            parts = tuple(self._parts(place, record))
            yield Scenario(record.id, tuple(record.documents), parts, tuple(record.kinds))

    def _parts(self, place: str, record: _ScenarioRecord) -> Iterator[ScenarioPart]:
        given: dict[str, bool] = {}
        parts = record.parts
        if parts is None:
            parts = [_PartRecord(text=record.text or "", values=record.values or {})]
        for part in parts:
            self._known(f"{place}, values", part.values, self._conditions, "condition")
            for id, value in part.values.items():
                if given.setdefault(id, value) != value:
                    self._refuse(f"{place}, values", f"{id} is both true and false")
            yield ScenarioPart(one_line(part.text), MappingProxyType(dict(part.values)))

    def _known(self, place: str, used: Iterable[str], known: Collection[str], what: str) -> None:
        for name in used:
            if name not in known:
                remedy = did_you_mean(name, known, else_="see the file's documents")
                self._refuse(place, f"there is no {what} {name!r}", remedy)

    def _refuse(self, place: str, what: str, remedy: str = _DESCRIBED) -> NoReturn:
        raise InputError(what, where=f"{self._where}:{place}", remedy=remedy)
