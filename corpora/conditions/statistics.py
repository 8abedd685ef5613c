"""How large a set of documents, scenarios and questions is, beside MDCR's published numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from branchwise.corpora.conditions.conditions_set import ConditionsSet
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.questions import Question


@dataclass(frozen=True)
class MdcrStatistics:
    """Counts. `groups`: sets of documents that scenarios are about, by their number of documents;
    `all_true`: scenarios that give every condition the value true; `with_relations`: questions
    whose gold answer relations decide; `with_groups`: those where something more must be true."""

    documents: int
    groups: Mapping[int, int]
    scenarios: int
    all_true: int
    questions: int
    with_relations: int
    with_groups: int


PUBLISHED_MDCR = MdcrStatistics(
    documents=40,
    groups={2: 55, 3: 68, 4: 31, 5: 10},
    scenarios=1138,
    all_true=518,
    questions=3414,
    with_relations=round(0.281 * 3414),
    with_groups=round(0.660 * 3414),
)
"""Of MDCR; the last two are published as 28.1% and 66.0%."""


def describe_conditions(found: ConditionsSet, questions: Sequence[Question]) -> MdcrStatistics:
    """`questions`: the set's own, as they are loaded."""
    read = [ConditionsQuestion.of(question) for question in questions]
    groups = {frozenset(scenario.documents) for scenario in found.scenarios}
    return MdcrStatistics(
        len(found.documents),
        dict(sorted(Counter(map(len, groups)).items())),
        len(found.scenarios),
        sum(one.has_values and all(one.values.values()) for one in found.scenarios),
        len(read),
        sum(question.relations_decide is True for question in read),
        sum(bool(question.gold.groups) for question in read),
    )
