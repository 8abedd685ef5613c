"""The single-document control: the same questions about one document each."""

from dataclasses import replace
from random import Random
from types import MappingProxyType

from branchwise.corpora.conditions.conditions_set import ConditionsSet
from branchwise.corpora.conditions.documents import Scenario, ScenarioPart


def single_documents(found: ConditionsSet, seed: int) -> ConditionsSet:
    """As many scenarios, drawn from all pairs of a scenario and one of its documents, in order.

    Each keeps the parts that tell a value of the document's own conditions, and those that tell
    none at all.
    """
    pairs = [(one, id) for one in found.scenarios for id in one.documents]
    chosen = sorted(Random(f"{seed}/control").sample(range(len(pairs)), len(found.scenarios)))
    scenarios = tuple(_restricted(found, *pairs[place]) for place in chosen)
    about = {**found.about, "single_documents": {"seed": seed}}
    return replace(found, scenarios=scenarios, about=about)


def _restricted(found: ConditionsSet, scenario: Scenario, id: str) -> Scenario:
    own = {condition.id for condition in found.documents[id].conditions}
    parts = []
    for part in scenario.parts:
        values = {condition: value for condition, value in part.values.items() if condition in own}
        if values or not part.values:
            parts.append(ScenarioPart(part.text, MappingProxyType(values)))
    return Scenario(f"{scenario.id}-{id}", (id,), tuple(parts), scenario.kinds)
