"""Questions from plans: drawn, checked against what a good question keeps to, worded, put together.

Each check raises RejectedError with the reason that is counted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from branchwise.base.errors import InputError
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, Question
from branchwise.kg.schema import FORMERLY
from branchwise.worlds.questions.ambiguity import EntityNaming, Focuses, SharedNames
from branchwise.worlds.questions.drafts import (
    Focus,
    Moves,
    NameQuota,
    RejectedError,
)
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import (
    Filter,
    Members,
    Plan,
    PlanError,
    PlanExecution,
    execute,
)
from branchwise.worlds.questions.rules import (
    check_answers,
    check_effect,
    check_form,
    check_silent,
    check_unsaid,
)
from branchwise.worlds.questions.sampling import Sampler, Template, TemplateDraw
from branchwise.worlds.questions.sources import GenerationTally, Settings
from branchwise.worlds.questions.support import Support, support_of
from branchwise.worlds.questions.wording.writing import Verbalization, Verbalizer


@dataclass(frozen=True)
class Reading:
    """A plan for one bearer of a name, and what it came to."""

    entity: str
    plan: Plan
    execution: PlanExecution


@dataclass(frozen=True)
class Assembly:
    """Makes questions of readings, with passages where there is a corpus."""

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
        relations = self.naming.facts.schema.relations
        # What each filter looks at: date, number, award or type.
        filters = [relations[step.relation] for step in plan.steps if isinstance(step, Filter)]
        named = zip(branches, readings, strict=True)
        involved = frozenset().union(*(s for reading in readings for s in reading.execution.sets))
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
                "predicates": [(*relation.predicates, "value")[0] for relation in filters],
                "sizes": {branch.name: list(reading.execution.sizes) for branch, reading in named},
                "entities": len(involved),
                "looked_at": len(looked_at(readings)),
            },
        )

    def branches(self, readings: Sequence[Reading], *, ambiguous: bool) -> tuple[Branch, ...]:
        """A branch for each reading, named by its entity's title, or the one called default."""
        members = dict.fromkeys(e for reading in readings for e in reading.execution.answers)
        forms = {entity: self.forms(entity) for entity in members}
        bearers = Counter(form for own in forms.values() for form in own)
        return tuple(
            Branch(
                name=self.naming(reading.entity) if ambiguous else DEFAULT_BRANCH,
                qid=reading.entity if ambiguous else None,
                answers=self._answers(reading, forms, bearers),
            )
            for reading in readings
        )

    def forms(self, entity: str) -> tuple[str, ...]:
        """Everything that an entity is called: label, title, aliases."""
        facts = self.naming.facts
        every = (facts.label(entity), self.naming(entity), *facts.aliases(entity))
        return tuple(dict.fromkeys(every))

    def _answers(
        self, reading: Reading, forms: Mapping[str, tuple[str, ...]], bearers: Mapping[str, int]
    ) -> tuple[Answer, ...]:
        """A form that two answers of the question have stands for neither: their titles do."""
        passages: Mapping[str, tuple[str, ...]] = {}
        if self.support is not None:
            facts = self.naming.facts
            passages = support_of(reading.plan, reading.execution, facts, self.support)
        answers = []
        for entity in reading.execution.answers:
            own = [form for form in forms[entity] if bearers[form] == 1] or [self.naming(entity)]
            bearer = self.naming.bearers.get(entity)
            description = (bearer.description or None) if bearer else None
            support = passages.get(entity, ())
            answers.append(Answer(own[0], tuple(own[1:]), entity, support, description))
        return tuple(sorted(answers, key=lambda answer: (answer.text, answer.qid or "")))


_BENCHMARK = "deepambigqa"
"""Whose form the questions have. They are none of its own, which `generated` says."""

_FEW_ANSWERS = {1: 0.11, 2: 0.38, 3: 0.65}
"""The share of questions with so few answers that is kept: published ones have nine on average."""

_FEW_READINGS = {2: 0.13, 3: 0.6}
"""The share of ambiguous questions with so few readings that is kept: published ones have 3.3."""

_VARIANTS = 1_000

_FORMER = 0.12
"""How many questions are to be about what was so before, in a graph that says it; few fail to."""

_FORMER_TRIES = 2_000
"""How often such a question is tried for before another one is taken."""


def generate(
    facts: Facts,
    names: SharedNames,
    settings: Settings,
    *,
    tally: GenerationTally | None = None,
    support: Support | None = None,
    words: Verbalizer | None = None,
) -> Iterator[Question]:
    """As many questions as are wanted, or as can be found; the same seed gives the same ones.

    `names`: names that several entities bear. `tally` counts tries and why they were rejected.
    With `support`, answers say which passages state the facts that lead to them.
    """
    words = words or Verbalizer(facts.schema, settings.seed)
    tally = GenerationTally() if tally is None else tally
    yield from _Generator(facts, names, settings, tally, support, words).questions()


class _Generator:
    def __init__(
        self,
        facts: Facts,
        names: SharedNames,
        settings: Settings,
        tally: GenerationTally,
        support: Support | None,
        words: Verbalizer,
    ) -> None:
        least = settings.limits.looked_at
        types = facts.schema.concrete if least else ()
        if least > (known := sum(len(facts.members(name)) for name in types)):
            problem = f"the graph has only {known:,} entities, not {least:,}"
            raise InputError(problem, where="--looked-at", remedy="give less, or a larger graph")
        self._facts = facts
        self._settings = settings
        self._tally = tally
        self._words = words
        self._rng = Random(settings.seed)
        self._naming = EntityNaming(facts, names)
        self._assembly = Assembly(self._naming, support)
        self._quota = NameQuota(facts, settings.most_of_a_name)
        self._focuses = Focuses(self._naming, settings.limits, self._quota, self._rng)
        self._templates = {
            kind: TemplateDraw(self._rng, ambiguous=kind) for kind in settings.wanted
        }
        # By domain, and whether former values may be asked about.
        self._moves = {
            (name, former): Moves(facts.schema, self._relations(own, former), common, words.sayable)
            for former in (False, True)
            for common in [self._relations(settings.common, former)]
            for name, own in settings.domains.items()
        }
        self._seen: set[str] = set()
        self._choosy = True

    def questions(self) -> Iterator[Question]:
        left = self._settings.wanted
        made = {kind: dict.fromkeys(self._settings.domains, 0) for kind in left}
        while any(left[kind] and made[kind] for kind in left):
            kind = max((k for k in left if left[k] and made[k]), key=lambda k: left[k])
            domain = min(made[kind], key=lambda name: made[kind][name])
            if question := self._try_hard(domain, ambiguous=kind):
                made[kind][domain] += 1
                left[kind] -= 1
                yield question
            else:
                del made[kind][domain]
                of_kind = "with several readings" if kind else "with one reading"
                self._tally.exhausted.append(f"{domain} {of_kind}")

    def _relations(self, names: Collection[str], former: bool) -> Collection[str]:
        """These relations, and those to their former values where the graph has any."""
        others = (FORMERLY + name for name in names if former)
        return [*names, *(name for name in others if name in self._facts.schema.relations)]

    def _try_hard(self, domain: str, *, ambiguous: bool) -> Question | None:
        known = self._facts.schema.relations.values()
        former = any(r.ended for r in known) and self._rng.random() < _FORMER
        for attempt in range(self._settings.patience):
            self._choosy = attempt < self._settings.patience // 2
            former = former and attempt < _FORMER_TRIES
            try:
                template = self._templates[ambiguous].draw()
                question = self._question(domain, template, ambiguous, former)
            except RejectedError as reason:
                self._tally.rejected[str(reason)] += 1
            else:
                self._tally.accepted += 1
                return question
        return None

    def _question(self, domain: str, template: Template, ambiguous: bool, former: bool) -> Question:
        moves = self._moves[domain, former]
        draw = self._focuses.shared if ambiguous else self._focuses.single
        least = 1 if template.letters[1] == "J" else 2
        focus = draw(moves, least)
        sampler = Sampler(self._facts, moves, self._settings.limits, self._quota, self._rng)
        plan = sampler.draft(template, focus).plan()
        check_form(plan)
        relations = {step.relation for step in plan.steps if hasattr(step, "relation")}
        if relations.isdisjoint(moves.own):
            raise RejectedError("nothing of the domain")
        if former and not any(self._facts.schema.relations[name].ended for name in relations):
            raise RejectedError("nothing that was so before")
        self._words.review_template(plan, self._naming.kind)
        chosen_by = {}
        if self._words.chooses:
            focus, chosen_by["entities_by"] = self._chosen(plan, focus, least)
            plan = plan.about(focus.entities[0])
            check_form(plan)
        own = focus.entities if focus.ambiguous else ()
        if set(plan.entities()).difference(own) & self._naming.bearers.keys():
            raise RejectedError("a name needs a bracket")
        readings = self._readings(plan, focus)
        wording = self._wording(plan, focus, readings)
        self._quota.take(plan)
        self._focuses.used(focus, plan)
        self._templates[ambiguous].accept(template)
        number = f"{domain}-{self._settings.seed}-{self._tally.accepted + 1:04d}"
        meta = {
            "benchmark": _BENCHMARK,
            "generated": True,
            "domain": domain,
            "seed": self._settings.seed,
            "wording": wording.by,
            **self._words.recipe,
            **chosen_by,
            "plan": list(wording.steps),
        }
        return self._assembly.question(number, wording.text, readings, meta, ambiguous=ambiguous)

    def _chosen(self, plan: Plan, focus: Focus, least: int) -> tuple[Focus, str]:
        """The candidate that a model chooses, and who chose: where it names none, the draw."""
        candidates = self._focuses.candidates(focus, least)
        listed = [
            f"{c.name}: {'; '.join(map(self._naming, c.entities))}" if c.ambiguous else c.name
            for c in candidates
        ]

        def name(entity: str) -> str:
            return "THE CANDIDATE" if entity == focus.entities[0] else self._naming(entity)

        index = self._words.choose(plan, name, listed)
        by = "draw" if index is None else "model"
        self._tally.choices[by] += 1
        return (focus if index is None else candidates[index]), by

    def _wording(self, plan: Plan, focus: Focus, readings: Sequence[Reading]) -> Verbalization:
        # Questions are alike whose plans differ in the bounds of filters alone.
        lines = [focus.name]
        for number, step in enumerate(plan.steps):
            hidden = {"condition"} if isinstance(step, Filter) else set()
            hidden |= {"entity"} if number == plan.focus else set()
            lines.append(step.model_dump_json(exclude=hidden))
        key = "\n".join(lines)

        def name(entity: str) -> str:
            return focus.name if entity == focus.entities[0] else self._naming(entity)

        if key in self._seen:
            raise RejectedError("a duplicate")
        answers = [sorted(reading.execution.answers) for reading in readings]
        named = [list(map(self._naming, own)) for own in answers]
        wording = self._words.say(plan, name, self._rng.randrange(_VARIANTS), named)
        if wording.text in self._seen:
            raise RejectedError("a duplicate")
        every = frozenset().union(*answers)
        check_unsaid(wording.text, {entity: self._assembly.forms(entity) for entity in every})
        self._words.review(wording, plan, name, named)
        self._seen |= {key, wording.text}
        return wording

    def _readings(self, plan: Plan, focus: Focus) -> Sequence[Reading]:
        readings = []
        for entity in focus.entities:
            about = plan.about(entity)
            try:
                reading = Reading(entity, about, execute(about, self._facts))
            except PlanError:
                raise RejectedError("types do not fit") from None
            if reading.execution.answers:
                readings.append(reading)
        answers = [reading.execution.answers for reading in readings]
        check_answers(answers, self._settings.limits, ambiguous=focus.ambiguous)
        if len(looked_at(readings)) < self._settings.limits.looked_at:
            raise RejectedError("too few entities to look at")
        if any(frozenset(plan.about(e).entities()) & a for e in focus.entities for a in answers):
            raise RejectedError("an answer stands in the question")
        check_effect(plan, [reading.execution for reading in readings], self._facts)
        share, few = _FEW_ANSWERS.get(len(answers[0]), 1.0), "answers"
        if focus.ambiguous:
            bearers = [bearer.id for bearer in self._naming.names[focus.name]]
            silent = [entity for entity in bearers if entity not in focus.entities]
            check_silent(plan, silent, focus.move.sources, self._facts)
            share, few = _FEW_READINGS.get(len(answers), 1.0), "readings"
        # Some of what there is most of is dropped, unless questions are hard to find.
        if self._choosy and self._rng.random() >= share:
            raise RejectedError(f"fewer {few} than wanted")
        return readings


def looked_at(readings: Iterable[Reading]) -> Members:
    """The entities of all readings that must be looked at one by one."""
    own = (reading.execution.looked_at(reading.plan) for reading in readings)
    return frozenset().union(*own)
