"""Questions put together from plans, readings and words."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, Question
from branchwise.worlds.questions.ambiguity import EntityNaming
from branchwise.worlds.questions.execute import PlanExecution
from branchwise.worlds.questions.plans import Filter, Plan
from branchwise.worlds.questions.support import Support, support_of
from branchwise.worlds.questions.wording.vocabulary import NameOf


@dataclass(frozen=True)
class Reading:
    """A plan for one bearer of a name, and what it came to."""

    entity: str
    plan: Plan
    execution: PlanExecution


@dataclass(frozen=True)
class Assembly:
    """Makes branches of readings, with passages where there is a corpus."""

    naming: EntityNaming
    support: Support | None = None

    def question(
        self,
        number: str,
        text: str,
        readings: Sequence[Reading],
        meta: Mapping[str, Any],
        *,
        ambiguous: bool,
    ) -> Question:
        """A question with all that is known of it. Its plan is that of the first reading."""
        branches = self.branches(readings, ambiguous=ambiguous)
        plan = readings[0].plan
        named = zip(branches, readings, strict=True)
        involved = frozenset().union(*(s for one in readings for s in one.execution.sets))
        return Question(
            id=number,
            question=text,
            ambiguous=ambiguous,
            branches=branches,
            plan=tuple(plan.to_json()),
            meta={
                **meta,
                "steps": len(plan.steps),
                "operations": [step.op for step in plan.steps],
                "shape": plan.shape,
                "predicates": list(self._predicates(plan)),
                "sizes": {branch.name: list(one.execution.sizes) for branch, one in named},
                "entities": len(involved),
            },
        )

    def branches(self, readings: Iterable[Reading], *, ambiguous: bool) -> tuple[Branch, ...]:
        """A branch for each reading, named by its entity's title, or the one called default."""
        readings = list(readings)
        members = dict.fromkeys(e for one in readings for e in one.execution.answers)
        forms = {entity: self.forms(entity) for entity in members}
        bearers = Counter(form for found in forms.values() for form in found)
        return tuple(
            Branch(
                name=self.naming(one.entity) if ambiguous else DEFAULT_BRANCH,
                qid=one.entity if ambiguous else None,
                answers=self._answers(one, forms, bearers),
            )
            for one in readings
        )

    def forms(self, entity: str) -> tuple[str, ...]:
        """Everything that an entity is called: label, title, aliases."""
        facts = self.naming.facts
        every = (facts.label(entity), self.naming(entity), *facts.aliases(entity))
        return tuple(dict.fromkeys(every))

    def _predicates(self, plan: Plan) -> Iterator[str]:
        """What each filter looks at: date, number, award or type."""
        for step in plan.steps:
            if isinstance(step, Filter):
                kinds = self.naming.facts.schema.relations[step.relation].predicates
                yield kinds[0] if kinds else "value"

    def _answers(
        self, reading: Reading, forms: Mapping[str, tuple[str, ...]], bearers: Mapping[str, int]
    ) -> tuple[Answer, ...]:
        members = reading.execution.answers
        passages: Mapping[str, tuple[str, ...]] = {}
        if self.support is not None:
            facts = self.naming.facts
            passages = support_of(reading.plan, reading.execution, facts, self.support)
        made = [self._answer(e, forms[e], bearers, passages.get(e, ())) for e in members]
        return tuple(sorted(made, key=lambda answer: (answer.text, answer.qid or "")))

    def _answer(
        self,
        entity: str,
        forms: tuple[str, ...],
        bearers: Mapping[str, int],
        support: tuple[str, ...],
    ) -> Answer:
        """A form that two answers of the question have stands for neither: their titles do."""
        own = [form for form in forms if bearers[form] == 1] or [self.naming(entity)]
        bearer = self.naming.bearers.get(entity)
        description = (bearer.description or None) if bearer else None
        return Answer(own[0], tuple(own[1:]), entity, support, description)


def name_in(naming: EntityNaming, focus: Mapping[str, str]) -> NameOf:
    """How a question calls entities: the focus by the name given, all others without doubt."""
    return lambda entity: focus.get(entity) or naming(entity)
