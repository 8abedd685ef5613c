"""Questions from plans: drawn, checked, worded, and put together for the file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, Question
from branchwise.worlds.questions.ambiguity import EntityNaming, Focuses, SharedNames
from branchwise.worlds.questions.drafts import Draft, Focus, Moves, RejectedError
from branchwise.worlds.questions.execute import PlanError, PlanExecution, execute
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import Filter, Plan
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
from branchwise.worlds.questions.wording.vocabulary import NameOf
from branchwise.worlds.questions.wording.writing import Verbalization, Verbalizer


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


_BENCHMARK = "deepambigqa"
"""Whose form the questions have. They are none of its own, which `generated` says."""

_FEW_ANSWERS = {1: 0.11, 2: 0.38, 3: 0.65}
"""The share that is let through of questions with one reading that have so few answers: what the
facts offer is mostly small, and published questions have nine answers on average."""

_FEW_READINGS = {2: 0.15, 3: 0.6}
"""The share that is let through of ambiguous questions with so few readings: the published ones
have 3.3 on average. Their answers, ten in all readings together, need no help."""

_VARIANTS = 1_000


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
        self._facts = facts
        self._settings = settings
        self._tally = tally
        self._words = words
        self._rng = Random(settings.seed)
        self._naming = EntityNaming(facts, names)
        self._assembly = Assembly(self._naming, support)
        self._focuses = Focuses(self._naming, settings.limits, self._rng)
        self._templates = TemplateDraw(self._rng)
        self._moves = {name: self._moves_of(name) for name in settings.domains}
        self._seen: set[str] = set()
        self._choosy = True

    def questions(self) -> Iterator[Question]:
        """Domains take turns, and so do ambiguous and other questions."""
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

    def _try_hard(self, domain: str, *, ambiguous: bool) -> Question | None:
        for place in range(self._settings.patience):
            self._choosy = place < self._settings.patience // 2
            try:
                question = self._question(domain, self._templates.draw(), ambiguous)
            except RejectedError as reason:
                self._tally.rejected[str(reason)] += 1
            else:
                self._tally.accepted += 1
                return question
        return None

    def _question(self, domain: str, template: Template, ambiguous: bool) -> Question:
        focus, draft = self._draft(domain, template, ambiguous)
        plan = draft.plan()
        self._check(plan, domain)
        readings = self._readings(plan, focus)
        key = _key(plan, focus)
        said = self._said(plan, focus, readings, key)
        self._seen |= {key, said.text}
        self._focuses.used(focus)
        self._templates.accept(template)
        number = f"{domain}-{self._settings.seed}-{self._tally.accepted + 1:04d}"
        meta = {
            "benchmark": _BENCHMARK,
            "generated": True,
            "domain": domain,
            "seed": self._settings.seed,
            "wording": said.by,
            "plan": list(said.steps),
        }
        return self._assembly.question(number, said.text, readings, meta, ambiguous=ambiguous)

    def _check(self, plan: Plan, domain: str) -> None:
        """What can be said before the plan is executed."""
        check_form(plan)
        relations = {step.relation for step in plan.steps if hasattr(step, "relation")}
        if not relations & set(self._settings.domains[domain]):
            raise RejectedError("nothing of the domain")
        self._words.review_template(plan, self._naming.kind)

    def _said(
        self, plan: Plan, focus: Focus, readings: Sequence[Reading], key: str
    ) -> Verbalization:
        """The question in words; neither asked before nor answered by its own text."""
        if key in self._seen:
            raise RejectedError("a duplicate")
        name = name_in(self._naming, {focus.entities[0]: focus.name})
        said = self._words.say(plan, name, self._rng.randrange(_VARIANTS))
        if said.text in self._seen:
            raise RejectedError("a duplicate")
        answers = frozenset().union(*(one.execution.answers for one in readings))
        check_unsaid(said.text, answers, {a: self._assembly.forms(a) for a in answers})
        found = [[self._naming(a) for a in sorted(one.execution.answers)] for one in readings]
        self._words.review(said, plan, name, found)
        return said

    def _draft(self, domain: str, template: Template, ambiguous: bool) -> tuple[Focus, Draft]:
        moves = self._moves[domain]
        draw = self._focuses.shared if ambiguous else self._focuses.single
        focus = draw(moves, 1 if template.letters[1] == "J" else 2)
        sampler = Sampler(self._facts, moves, self._settings.limits, self._rng)
        return focus, sampler.draft(template, focus)

    def _readings(self, plan: Plan, focus: Focus) -> Sequence[Reading]:
        """The plan executed for every bearer; those with answers."""
        readings = []
        for entity in focus.entities:
            about = plan.about(entity)
            try:
                found = Reading(entity, about, execute(about, self._facts))
            except PlanError:
                raise RejectedError("types do not fit") from None
            if found.execution.answers:
                readings.append(found)
        answers = [one.execution.answers for one in readings]
        check_answers(answers, self._settings.limits, ambiguous=focus.ambiguous)
        if any(frozenset(plan.about(e).entities()) & a for e in focus.entities for a in answers):
            raise RejectedError("an answer stands in the question")
        check_effect(plan, [one.execution for one in readings], self._facts)
        check_silent(plan, self._silent(focus), focus.move.sources, self._facts)
        if self._choosy:
            self._thin_out(answers, ambiguous=focus.ambiguous)
        return readings

    def _silent(self, focus: Focus) -> list[str]:
        """The bearers of a shared name that the focus's relation does not lead on from."""
        if not focus.ambiguous:
            return []
        bearers = (bearer.id for bearer in self._naming.names[focus.name])
        return [entity for entity in bearers if entity not in focus.entities]

    def _thin_out(self, answers: Sequence[frozenset[str]], *, ambiguous: bool) -> None:
        """Drop some of what there is most of. Where questions are hard to find, none is dropped."""
        if ambiguous:
            share, few = _FEW_READINGS.get(len(answers), 1), "readings"
        else:
            share, few = _FEW_ANSWERS.get(len(answers[0]), 1), "answers"
        if self._rng.random() >= share:
            raise RejectedError(f"fewer {few} than wanted")

    def _moves_of(self, domain: str) -> Moves:
        settings = self._settings
        return Moves(
            self._facts.schema, settings.domains[domain], settings.common, self._words.sayable
        )


def _key(plan: Plan, focus: Focus) -> str:
    """What makes two questions alike: the plan without the bounds of its filters."""
    steps = [
        step.model_dump_json(
            exclude={"condition", "entity"} if place == plan.focus else {"condition"}
        )
        if isinstance(step, Filter) or place == plan.focus
        else step.model_dump_json()
        for place, step in enumerate(plan.steps)
    ]
    return "\n".join([focus.name, *steps])
