"""The JSON form of documents, relations and scenarios, as it is read and written.

docs/benchmarks/mdcr.md describes it field by field.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from branchwise.corpora.conditions.conditions_set import ConditionsSet
from branchwise.corpora.conditions.documents import (
    QUESTION_KINDS,
    ConditionRelation,
    ConditionsDocument,
    QuestionKind,
    RelationKind,
    Scenario,
)

FORM = 1
"""The version of the form, which `"mdcr"` says."""
MAX_DOCUMENTS = 5
"""Of a scenario, as MDCR has them."""
MAX_CONDITIONS = 500
"""Of a document."""
_MAX_TEXT = 20_000


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DocumentRecord(_Record):
    """One of `documents`."""

    id: str
    title: str = Field(max_length=_MAX_TEXT)
    domain: str = Field(min_length=1, max_length=100)
    sentences: dict[str, str] = Field(max_length=2_000)
    conditions: dict[str, str] = Field(min_length=1, max_length=MAX_CONDITIONS)
    expression: str


class RelationRecord(_Record):
    """One of `relations`."""

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
    """One of a scenario's `parts`."""

    text: str = Field(max_length=_MAX_TEXT)
    values: dict[str, bool] = {}


class GoldRecord(_Record):
    """An answer that is not worked out."""

    short: Literal["yes", "no"] | Annotated[int, Field(ge=0, le=MAX_DOCUMENTS)]
    groups: list[list[str]] = Field(max_length=10_000)


class ScenarioRecord(_Record):
    """One of `scenarios`."""

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


def conditions_record(found: ConditionsSet) -> dict[str, Any]:
    """What `read_conditions` reads as the same set."""
    relations = [_relation_record(relation) for relation in found.relations]
    return {
        "mdcr": FORM,
        "about": dict(found.about),
        "documents": [_document_record(document) for document in found.documents.values()],
        **({"relations": relations} if found.has_relations else {}),
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
