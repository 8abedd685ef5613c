"""Reading a file of documents, relations and scenarios, or refusing it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from pydantic import ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.files import MAX_JSON_BYTES, first_problem
from branchwise.base.text import one_line
from branchwise.corpora.conditions.conditions_set import ConditionsSet
from branchwise.corpora.conditions.documents import (
    DOCUMENT_ID,
    SENTENCE,
    ConditionRelation,
    ConditionsAnswer,
    ConditionsDocument,
    QuestionKind,
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
from branchwise.corpora.conditions.file_form import (
    DocumentRecord,
    FileRecord,
    PartRecord,
    ScenarioRecord,
)
from branchwise.corpora.rows.json_rows import json_object

_MOST_LISTED = 10
_DESCRIBED = "see docs/benchmarks/mdcr.md for the form"
_ANOTHER = (
    'give {"mdcr": 1, "documents": ...} (docs/benchmarks/mdcr.md); the published form will be read '
    "when a published file is at hand"
)


def read_conditions(path: Path) -> ConditionsSet:
    """What a file holds. Raises InputError as `parse_conditions` does, and for what is not JSON."""
    return parse_conditions(json_object(path, MAX_JSON_BYTES, _ANOTHER), str(path))


def parse_conditions(document: Mapping[str, Any], where: str) -> ConditionsSet:
    """Raises InputError, with `where` and the place in it, for what is not of the form, and for
    what contradicts itself in it, except for values and relations that do so through others (the
    solver finds these)."""
    if "mdcr" not in document:
        raise InputError("is not of the form that is read", where=where, remedy=_ANOTHER)
    try:
        record = FileRecord.model_validate(document)
    except ValidationError as error:
        raise InputError(first_problem(error), where=where, remedy=_DESCRIBED) from None
    return _Reading(where, record).result()


class _Reading:
    """A record made into what it stands for, or refused."""

    def __init__(self, where: str, record: FileRecord) -> None:
        self._where = where
        self._record = record
        self._documents: dict[str, ConditionsDocument] = {}
        self._conditions: dict[str, None] = {}

    def result(self) -> ConditionsSet:
        for record in self._record.documents:
            self._add(record)
        relations = tuple(dict.fromkeys(self._relations()))
        scenarios = tuple(self._scenarios())
        about = MappingProxyType(self._record.about)
        has_relations = self._record.relations is not None
        return ConditionsSet(
            self._where, self._documents, relations, scenarios, about, has_relations
        )

    def _add(self, record: DocumentRecord) -> None:
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
        self._conditions |= dict.fromkeys(condition.id for condition in conditions)

    def _check_sentences(self, place: str, record: DocumentRecord) -> None:
        for name in record.sentences:
            if not re.fullmatch(SENTENCE, name):
                self._refuse(f"{place}, sentences", f"{name!r} is not c0, c1, ...")
        numbers = [int(name[1:]) for name in record.sentences]
        if numbers != sorted(set(numbers)):
            self._refuse(f"{place}, sentences", "the numbers do not rise")

    def _check_conditions(self, place: str, record: DocumentRecord) -> None:
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
        for number, record in enumerate(self._record.relations or [], start=1):
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
            has_values = record.parts is not None or record.values is not None
            yield Scenario(
                record.id,
                tuple(record.documents),
                tuple(self._parts(place, record)),
                tuple(record.kinds),
                MappingProxyType(dict(self._gold(place, record, has_values=has_values))),
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
            yield ScenarioPart(one_line(part.text), MappingProxyType(dict(part.values)))

    def _known(self, place: str, used: Iterable[str], known: Collection[str], what: str) -> None:
        for name in used:
            if name not in known:
                many = "see the file's documents" if len(known) > _MOST_LISTED else ""
                remedy = did_you_mean(name, known, else_=many)
                self._refuse(place, f"there is no {what} {name!r}", remedy)

    def _refuse(self, place: str, what: str, remedy: str = _DESCRIBED) -> NoReturn:
        raise InputError(what, where=f"{self._where}:{place}", remedy=remedy)
