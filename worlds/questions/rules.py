"""Which plans make a question: rules on a plan's form, on what its steps do, and on its answers."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from branchwise.worlds.questions.drafts import PlanLimits, RejectedError
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    Members,
    Plan,
    PlanExecution,
    PlanStep,
    Union,
    execute,
)

_DIFFERENT = 0.6  # how many different answer sets there are at least, as a share of the readings


def check_form(plan: Plan) -> None:
    """Refuse a plan of one step, a set operation or a statement that comes twice, a relation walked
    there and straight back, and two filters by one relation in a row."""
    steps = plan.steps
    if len(steps) < 2:
        raise RejectedError("fewer than two steps")
    operations = [step.op for step in steps if isinstance(step, Union | Intersection | Difference)]
    if len(set(operations)) < len(operations):
        raise RejectedError("a set operation comes twice")
    stated = []
    for step in steps:
        if isinstance(step, Atomic):
            stated.append((step.relation, step.entity))
        elif isinstance(step, Join | GroupBy):
            # What all of a set came by leads back: what they came from is among the answers.
            for walk in _walks(steps[step.of], steps):
                if walk.relation == step.relation and walk.inverse != step.inverse:
                    raise RejectedError("straight back")
        elif isinstance(step, Filter):
            if isinstance(step.condition, Holds):
                stated.append((step.relation, step.condition.value))
            before = steps[step.of]
            while isinstance(before, Filter):
                if before.relation == step.relation:
                    raise RejectedError("filtered twice by one relation")
                before = steps[before.of]
    if len(set(stated)) < len(stated):
        raise RejectedError("says one thing twice")


def _walks(step: PlanStep, steps: Sequence[PlanStep]) -> Iterator[Atomic | Join | GroupBy]:
    """The latest relations that every member of a step's set was reached by."""
    if isinstance(step, Atomic | Join | GroupBy):
        yield step
    elif isinstance(step, Filter | Difference):
        yield from _walks(steps[step.of], steps)
    elif isinstance(step, Intersection):
        for source in step.sources:
            yield from _walks(steps[source], steps)


def check_effect(plan: Plan, executions: Sequence[PlanExecution], facts: Facts) -> None:
    """Every filter, set operation and count changes its set, in half of the readings at least, and
    no relation leads back to where the walk began (the country of its capital)."""
    every = [execution.sets for execution in executions]
    for place, step in enumerate(plan.steps):
        if isinstance(step, Join):
            before = plan.steps[step.of]
            while isinstance(before, Filter):
                before = plan.steps[before.of]
            back = 0
            if isinstance(before, Atomic):
                back = sum(sets[place] == {before.entity} for sets in every)
            elif isinstance(before, Join):
                back = sum(sets[place] == sets[before.of] for sets in every)
            if 2 * back > len(every):
                raise RejectedError("leads back")
        elif not isinstance(step, Atomic):
            changed = sum(_changed(step, place, sets, facts) for sets in every)
            if 2 * changed < len(every):
                raise RejectedError(f"{step.op} changes nothing")


def _changed(step: PlanStep, place: int, sets: Sequence[frozenset[str]], facts: Facts) -> bool:
    after = sets[place]
    if isinstance(step, GroupBy):
        links = facts.related(step.relation, step.inverse, sets[step.of])
        return after != frozenset(chain.from_iterable(links.values()))
    if isinstance(step, Union | Intersection):
        return after not in (sets[step.of], sets[step.other])
    return after != sets[step.sources[0]]


def check_answers(answers: Sequence[Members], limits: PlanLimits, *, ambiguous: bool) -> None:
    """Refuse none, too many in all, and alike ones of a name's readings. `answers`: of each."""
    if not answers:
        raise RejectedError("no answers")
    if ambiguous and len(answers) < 2:
        raise RejectedError("one reading")
    if ambiguous and len(set(answers)) < max(2, _DIFFERENT * len(answers)):
        raise RejectedError("readings have the same answers")
    if sum(map(len, answers)) > limits.answers:
        raise RejectedError("too many answers")


def check_silent(plan: Plan, silent: Sequence[str], types: Collection[str], facts: Facts) -> None:
    """No bearer of the name that the focus's relation could be said of, and is not, has answers.
    They would be what a union adds for anything of that name. `silent`: bearers without values of
    the relation, which all come to the same; `types`: what it is said of. Who is of the same class
    counts, too: an actor who directed nothing may be meant where films are asked for that somebody
    directed."""
    if silent and execute(plan.about(silent[0]), facts).answers:
        schema = facts.schema
        classes = {schema.resolved(name).class_id for name in types} - {""}
        alike = [n for n in schema.concrete if schema.resolved(n).class_id in classes]
        for members in map(facts.members, {*types, *alike}):
            for entity in silent:
                place = bisect_left(members, entity)
                if place < len(members) and members[place] == entity:
                    raise RejectedError("a reading without facts of its own")


def check_unsaid(text: str, names: Mapping[str, Collection[str]]) -> None:
    """No answer stands in the question. `names`: what each answer is called."""
    for name in chain.from_iterable(names.values()):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            raise RejectedError("an answer stands in the question")
