"""The JSON form (docs/benchmarks/mdcr.md) of documents, relations and scenarios."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.files import MAX_JSON_BYTES, first_problem
from branchwise.base.text import one_line
from branchwise.corpora.conditions.documents import (
    DOCUMENT_ID,
    NAME,
    OPERATORS,
    QUESTION_KINDS,
    SENTENCE,
    ConditionRelation,
    ConditionsAnswer,
    ConditionsDocument,
    ConditionsSet,
    ExpressionError,
    QuestionKind,
    RelationKind,
    Scenario,
    ScenarioPart,
    conditions_of,
    names,
    parse_expression,
)
from branchwise.corpora.conditions.published_folder import FILES, published_record
from branchwise.corpora.json_rows import json_object

FORM = 1
"""The version of the form, which `"mdcr"` says."""
MAX_DOCUMENTS = 5
"""Of a scenario, as MDCR has them."""
MAX_CONDITIONS = 500
"""Of a document."""
_MAX_TEXT = 20_000
_MOST_LISTED = 10
_DESCRIBED = "see docs/benchmarks/mdcr.md for the form"
_ANOTHER = (
    'give {"mdcr": 1, "documents": ...} (docs/benchmarks/mdcr.md), or MDCR\'s folder, which holds '
    f"{', '.join(FILES)}"
)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DocumentRecord(_Record):
    id: str
    title: str = Field(max_length=_MAX_TEXT)
    domain: str = Field(min_length=1, max_length=100)
    sentences: dict[str, str] = Field(max_length=2_000)
    conditions: dict[str, str | Annotated[list[str], Field(min_length=1)]] = Field(
        min_length=1, max_length=MAX_CONDITIONS
    )
    expression: str


class RelationRecord(_Record):
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


class PartRecord(_Record):
    text: str = Field(max_length=_MAX_TEXT)
    values: dict[str, bool] = {}


class GoldRecord(_Record):
    """An answer that is not worked out."""

    short: Literal["yes", "no"] | Annotated[int, Field(ge=0, le=MAX_DOCUMENTS)]
    groups: list[list[str]] = Field(max_length=10_000)


class ScenarioRecord(_Record):
    id: str = Field(min_length=1, max_length=200)
    documents: list[str] = Field(min_length=1, max_length=MAX_DOCUMENTS)
    text: str | None = Field(None, max_length=_MAX_TEXT)
    values: dict[str, bool] | None = None
    parts: list[PartRecord] | None = None
    kinds: list[QuestionKind] = Field(list(QUESTION_KINDS), min_length=1)
    gold: dict[QuestionKind, GoldRecord] = {}

    @model_validator(mode="after")
    def _is_said_once(self) -> Self:
        if (self.text is None) == (self.parts is None) or (self.parts and self.values):
            raise ValueError('needs either "text" and "values", or "parts"')
        return self


class FileRecord(_Record):
    """A whole file. Without `relations` it does not say whether there are any."""

    mdcr: Literal[1]
    about: dict[str, Any] = {}
    documents: list[DocumentRecord]
    relations: list[RelationRecord] | None = None
    scenarios: list[ScenarioRecord]


def conditions_record(conditions: ConditionsSet) -> dict[str, Any]:
    """What `read_conditions` reads as the same set."""
    relations: list[dict[str, Any]] = []
    for kind, first, second in ((r.kind, r.first, r.second) for r in conditions.relations):
        if kind == "inclusive":
            relations.append({"kind": kind, "narrower": first, "wider": second})
        else:
            relations.append({"kind": kind, "between": [first, second]})
    return {
        "mdcr": FORM,
        "about": dict(conditions.about),
        "documents": [
            {
                "id": document.id,
                "title": document.title,
                "domain": document.domain,
                "sentences": dict(document.sentences),
                "conditions": {c.name: c.stated_by for c in document.conditions},
                "expression": str(document.expression),
            }
            for document in conditions.documents.values()
        ],
        **({"relations": relations} if conditions.has_relations else {}),
        "scenarios": [_scenario_record(scenario) for scenario in conditions.scenarios],
    }


def _scenario_record(scenario: Scenario) -> dict[str, Any]:
    parts = [{"text": part.text, "values": dict(part.values)} for part in scenario.parts]
    gold = {
        kind: {"short": answer.short, "groups": [list(group) for group in answer.groups]}
        for kind, answer in scenario.gold.items()
    }
    return {
        "id": scenario.id,
        "documents": list(scenario.documents),
        **({"parts": parts} if scenario.has_values else {"text": scenario.text}),
        "kinds": list(scenario.kinds),
        **({"gold": gold} if gold else {}),
    }


def read_conditions(path: Path) -> ConditionsSet:
    """A file of our form, or the folder that MDCR's authors publish."""
    if path.is_dir():
        return parse_conditions(published_record(path), str(path))
    return parse_conditions(json_object(path, MAX_JSON_BYTES, _ANOTHER), str(path))


def parse_conditions(document: Mapping[str, Any], where: str) -> ConditionsSet:
    """Raises InputError, with `where` and the place in it, for what is not of the form or
    contradicts itself, except through other values and relations (the solver's part)."""
    if "mdcr" not in document:
        raise InputError("is not of the form that is read", where=where, remedy=_ANOTHER)
    try:
        record = FileRecord.model_validate(document)
    except ValidationError as error:
        raise InputError(first_problem(error), where=where, remedy=_DESCRIBED) from None
    return _Reading(where, record).result()


class _Reading:
    def __init__(self, where: str, record: FileRecord) -> None:
        self._where, self._record = where, record
        self._documents: dict[str, ConditionsDocument] = {}
        self._conditions: dict[str, None] = {}

    def result(self) -> ConditionsSet:
        for record in self._record.documents:
            place = f"document {record.id}"
            if not re.fullmatch(DOCUMENT_ID, record.id):
                self._refuse(f"document {record.id!r}", "the id is not letters, digits, _ and -")
            if record.id in self._documents:
                self._refuse(place, "the id is already used", "give each document its own id")
            self._check_sentences(place, record)
            conditions = conditions_of(record.id, record.conditions)
            try:
                expression = parse_expression(record.expression)
            except ExpressionError as error:
                self._refuse(f"{place}, expression", str(error), "write it as c1 AND (c2 OR c3)")
            self._known(f"{place}, expression", names(expression), record.conditions, "condition")
            self._documents[record.id] = ConditionsDocument(
                record.id,
                one_line(record.title),
                one_line(record.domain),
                {c: one_line(text) for c, text in record.sentences.items()},
                conditions,
                expression,
            )
            self._conditions |= dict.fromkeys(condition.id for condition in conditions)
        relations = tuple(dict.fromkeys(self._relations()))
        scenarios = tuple(self._scenarios())
        has, about = self._record.relations is not None, self._record.about
        return ConditionsSet(self._where, self._documents, relations, scenarios, about, has)

    def _check_sentences(self, place: str, record: DocumentRecord) -> None:
        for name in record.sentences:
            if not re.fullmatch(SENTENCE, name):
                self._refuse(f"{place}, sentences", f"{name!r} is not c0, c1, ...")
        numbers = [int(name[1:]) for name in record.sentences]
        if numbers != sorted(set(numbers)):
            self._refuse(f"{place}, sentences", "the numbers do not rise")
        for condition in conditions_of(record.id, record.conditions):
            name, sentence = condition.name, condition.sentence
            at = f"{place}, condition {name}"
            if not re.fullmatch(NAME, name) or name.upper() in OPERATORS:
                self._refuse(f"{place}, conditions", f"{name!r} is not a name for a condition")
            for stating in condition.sentences:
                if stating not in record.sentences:
                    self._refuse(at, f"there is no sentence {stating!r}", "name one that states it")
            if name in record.sentences and name != sentence:
                self._refuse(at, f"is named like a sentence, but {sentence} states it")

    def _relations(self) -> Iterator[ConditionRelation]:
        conflicting: dict[frozenset[str], tuple[bool, int]] = {}
        for number, record in enumerate(self._record.relations or [], start=1):
            place = f"relation {number}"
            self._known(place, record.ends, self._conditions, "condition")
            first, second = record.ends
            if first == second:
                self._refuse(place, f"relates {first} to itself", "name two conditions")
            conflicts = record.kind == "conflicting"
            pair = frozenset(record.ends)
            before, earlier = conflicting.setdefault(pair, (conflicts, number))
            if before != conflicts:
                fault = f"contradicts relation {earlier}: {first} and {second} cannot both conflict"
                self._refuse(place, f"{fault} and be related otherwise", "leave one out")
            yield ConditionRelation(record.kind, first, second)

    def _scenarios(self) -> Iterator[Scenario]:
        seen: set[str] = set()
        for record in self._record.scenarios:
            place = f"scenario {one_line(record.id)}"
            if record.id in seen:
                self._refuse(place, "the id is already used", "give each scenario its own id")
            seen.add(record.id)
            self._known(f"{place}, documents", record.documents, self._documents, "document")
            for name, listed in (("documents", record.documents), ("kinds", record.kinds)):
                if len(set(listed)) < len(listed):
                    self._refuse(f"{place}, {name}", "one is named twice")
            has_values = record.parts is not None or record.values is not None
            yield Scenario(
                record.id,
                tuple(record.documents),
                tuple(self._parts(place, record)),
                tuple(record.kinds),
                dict(self._gold(place, record, has_values=has_values)),
                has_values,
            )

    def _gold(
        self, place: str, record: ScenarioRecord, *, has_values: bool
    ) -> Iterator[tuple[QuestionKind, ConditionsAnswer]]:
        """Stated answers, which there must be exactly where none can be worked out."""
        if has_values and self._record.relations is not None:
            if record.gold:
                remedy = "leave it out"
                self._refuse(f"{place}, gold", "it is worked out from the values", remedy)
            return
        sentences = dict.fromkeys(
            self._documents[id].sentence_id(name)
            for id in record.documents
            for name in self._documents[id].sentences
        )
        for kind in record.kinds:
            if kind not in record.gold:
                missing = '"relations"' if has_values else '"values"'
                self._refuse(place, f"has neither {missing} nor gold of {kind}", "give one of them")
            gold, at = record.gold[kind], f"{place}, gold of {kind}"
            if isinstance(gold.short, int) != (kind == "q3"):
                self._refuse(at, f"{gold.short!r} does not answer {kind}")
            self._known(at, (id for group in gold.groups for id in group), sentences, "sentence")
            if gold.groups and (gold.short in ("no", 0) or not all(gold.groups)):
                self._refuse(at, "a group is empty, or has no answer that it is for")
            yield kind, ConditionsAnswer(gold.short, tuple(map(tuple, gold.groups)))

    def _parts(self, place: str, record: ScenarioRecord) -> Iterator[ScenarioPart]:
        given: dict[str, bool] = {}
        parts = record.parts
        if parts is None:
            parts = [PartRecord(text=record.text or "", values=record.values or {})]
        for part in parts:
            self._known(f"{place}, values", part.values, self._conditions, "condition")
            for id, value in part.values.items():
                if given.setdefault(id, value) != value:
                    self._refuse(f"{place}, values", f"{id} is both true and false")
            yield ScenarioPart(one_line(part.text), dict(part.values))

    def _known(self, place: str, used: Iterable[str], known: Collection[str], noun: str) -> None:
        for name in used:
            if name not in known:
                many = "see the file's documents" if len(known) > _MOST_LISTED else ""
                remedy = did_you_mean(name, known, else_=many)
                self._refuse(place, f"there is no {noun} {name!r}", remedy)

    def _refuse(self, place: str, problem: str, remedy: str = _DESCRIBED) -> NoReturn:
        raise InputError(problem, where=f"{self._where}:{place}", remedy=remedy)
