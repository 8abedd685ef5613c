"""A set of documents with their relations and scenarios."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from branchwise.corpora.conditions.documents import (
    ConditionRelation,
    ConditionsDocument,
    ConditionsProblem,
    QuestionKind,
    Scenario,
    UnknownPart,
    document_of,
)


@dataclass(frozen=True)
class ConditionsSet:
    """What a file holds. `path` is its own, for messages; without `has_relations`, it does not say
    how conditions are related."""

    path: str
    documents: Mapping[str, ConditionsDocument]
    relations: tuple[ConditionRelation, ...]
    scenarios: tuple[Scenario, ...]
    about: Mapping[str, Any]
    has_relations: bool = True

    def lacks(self, scenario: Scenario) -> tuple[UnknownPart, ...]:
        """What is not known, so that the scenario's answers do not follow from the rest."""
        known: dict[UnknownPart, bool] = {
            "values": scenario.has_values,
            "relations": self.has_relations,
        }
        return tuple(what for what, is_known in known.items() if not is_known)

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
