"""What a good question keeps to.

Each function raises RejectedError with the reason that is counted.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from branchwise.worlds.questions.drafts import PlanLimits, RejectedError
from branchwise.worlds.questions.execute import PlanExecution, execute
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import (
    Atomic,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    Plan,
    PlanStep,
    Union,
)

_DIFFERENT = 0.6
"""How many different answer sets there are at least, as a share of the readings."""


def check_form(plan: Plan) -> None:
    """Rules on the plan alone: two steps or more, no set operation twice, no relation walked there
    and straight back, no two filters by one relation in a row of filters, nothing said twice of one
    entity."""
    steps = plan.steps
    if len(steps) < 2:
        raise RejectedError("fewer than two steps")
    operations = [step.op for step in steps if isinstance(step, Union | Intersection | Difference)]
    if len(set(operations)) < len(operations):
        raise RejectedError("a set operation comes twice")
    for step in steps:
        if isinstance(step, Join | GroupBy) and _walked_back(step, steps):
            raise RejectedError("straight back")
        if isinstance(step, Filter) and _filtered_again(step, steps):
            raise RejectedError("filtered twice by one relation")
    said = [one for step in steps for one in _said(step)]
    if len(set(said)) < len(said):
        raise RejectedError("says one thing twice")


def _said(step: PlanStep) -> Iterator[tuple[str, str]]:
    """What a step says of an entity that it names: won by it, directed by it."""
    if isinstance(step, Atomic):
        yield step.relation, step.entity
    elif isinstance(step, Filter) and isinstance(step.condition, Holds):
        yield step.relation, step.condition.value


def _walked_back(step: Join | GroupBy, steps: Sequence[PlanStep]) -> bool:
    """Whether all of a step's set came by its own relation: what they came from is among the
    answers."""
    return any(
        before.relation == step.relation and before.inverse != step.inverse
        for before in _walks(steps[step.of], steps)
    )


def _walks(step: PlanStep, steps: Sequence[PlanStep]) -> Iterator[Atomic | Join | GroupBy]:
    """The latest relations that every member of a step's set was reached by."""
    if isinstance(step, Atomic | Join | GroupBy):
        yield step
    elif isinstance(step, Filter | Difference):
        yield from _walks(steps[step.of], steps)
    elif isinstance(step, Intersection):
        for source in step.sources:
            yield from _walks(steps[source], steps)


def _before_filters(step: PlanStep, steps: Sequence[PlanStep]) -> PlanStep:
    while isinstance(step, Filter):
        step = steps[step.of]
    return step


def _filtered_again(step: Filter, steps: Sequence[PlanStep]) -> bool:
    before = steps[step.of]
    while isinstance(before, Filter):
        if before.relation == step.relation:
            return True
        before = steps[before.of]
    return False


def check_effect(plan: Plan, executions: Sequence[PlanExecution], facts: Facts) -> None:
    """Every filter, set operation and count changes its set, in half of the readings at least, and
    no relation leads back to where the walk began (the country of its capital)."""
    for place, step in enumerate(plan.steps):
        if isinstance(step, Join):
            back = sum(_led_back(step, place, plan, one.sets) for one in executions)
            if 2 * back > len(executions):
                raise RejectedError("leads back")
        if isinstance(step, Atomic | Join):
            continue
        changed = sum(_changed(step, place, one.sets, facts) for one in executions)
        if 2 * changed < len(executions):
            raise RejectedError(f"{step.op} changes nothing")


def _led_back(step: Join, place: int, plan: Plan, sets: Sequence[frozenset[str]]) -> bool:
    before = _before_filters(plan.steps[step.of], plan.steps)
    if isinstance(before, Atomic):
        return sets[place] == {before.entity}
    return isinstance(before, Join) and sets[place] == sets[before.of]


def _changed(step: PlanStep, place: int, sets: Sequence[frozenset[str]], facts: Facts) -> bool:
    after = sets[place]
    if isinstance(step, GroupBy):
        links = facts.related(step.relation, step.inverse, sets[step.of])
        return after != frozenset(chain.from_iterable(links.values()))
    if isinstance(step, Union | Intersection):
        return after not in (sets[step.of], sets[step.other])
    return after != sets[step.sources[0]]


def check_answers(
    answers: Sequence[frozenset[str]], limits: PlanLimits, *, ambiguous: bool
) -> None:
    """Answers there are, not too many in all, and different ones where a name has several readings.

    `answers`: of each reading that has any.
    """
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
    the relation, which all come to the same; `types`: what it is said of.
    """
    if silent and execute(plan.about(silent[0]), facts).answers:
        for members in map(facts.members, types):
            places = [(bisect_left(members, entity), entity) for entity in silent]
            if any(place < len(members) and members[place] == one for place, one in places):
                raise RejectedError("a reading without facts of its own")


def check_unsaid(text: str, answers: Iterable[str], names: Mapping[str, Collection[str]]) -> None:
    """No answer stands in the question. `names`: what each answer is called."""
    for answer in sorted(answers):
        for name in names[answer]:
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                raise RejectedError("an answer stands in the question")
