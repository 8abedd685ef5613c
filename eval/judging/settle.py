"""What models decide about a run's items before they are scored, and the scorer that says so.

A `JudgeCheck` says how far a judge's grades can be relied on: the same requests are graded again,
by the same judge under sample numbers of their own, or by another one beside it.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import GRADING_PROMPTS, MAPPING_PROMPTS, Prompts
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.eval.bootstrap import Aggregate, Summed, aggregate_drawn, aggregate_sums
from branchwise.eval.items import AnsweredItem, best_gold_sets
from branchwise.eval.judging.consultant import Consulted, Judgements, Ready
from branchwise.eval.judging.grading import (
    GRADING,
    SAMPLES,
    Announce,
    Grader,
    GradeReport,
    GradeRequest,
    grade_items,
    property_requests,
)
from branchwise.eval.judging.judge import JudgeReport, judge_entities
from branchwise.eval.judging.matcher import Agreement, MatcherReport, agreement, align_with_model
from branchwise.eval.scores import Scorer
from branchwise.eval.scoring_choice import CheckChoice, ScoringChoice
from branchwise.eval.tasks import Task, get_task
from branchwise.graphs.own_settings import NO_ROLES, RoleDecoding, decoding_with

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHECK = "judge check"
_SEED = 0
_Drawn = TypeVar("_Drawn")


@dataclass(frozen=True)
class JudgeCheck:
    """Two grades of each request, and how far they agree: the mean absolute `difference`, 0 to 1,
    and Spearman's `rho`, None where all grades of either are the same; their intervals draw
    questions. `spec`: the second model, `beside`: not the judge itself."""

    spec: str
    beside: bool
    items: int
    graded: int
    ungraded: int
    difference: Aggregate
    rho: Aggregate
    consulted: Consulted

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.spec,
            "beside": self.beside,
            "items": self.items,
            "grades": self.graded,
            "without_two_grades": self.ungraded,
            "mean_absolute_difference": self.difference.to_json(),
            "spearman_rho": self.rho.to_json(),
            "calls": self.consulted.to_json(),
        }


GradedRequest = tuple[str, GradeRequest, float | None]
"""A question's id, what was asked of it, and the grade; None: there is none."""


async def _grade_again(
    graded: Iterable[GradedRequest], second: Grader, *, items: int, beside: bool, **asking: Any
) -> JudgeCheck:
    """Grades by `second` beside those of the requests of so many items, `asking` as
    `Grader.grade_each` does. What several questions ask alike counts in the first of them."""
    asked: dict[GradeRequest, tuple[str, float | None]] = {}
    for question, request, grade in graded:
        asked.setdefault(request, (question, grade))
    again = await second.grade_each(asked, **asking)
    both = defaultdict[str, list[tuple[float, float]]](list)
    for request, (question, grade) in asked.items():
        other = again[request].value
        if grade is not None and other is not None:
            both[question].append((grade, other))
    twice = list(both.values())
    graded_twice = sum(map(len, twice))
    return JudgeCheck(
        second.spec,
        beside,
        items,
        graded_twice,
        len(asked) - graded_twice,
        mean_difference(twice),
        rank_correlation(twice),
        second.consulted,
    )


def draw_items(items: Sequence[AnsweredItem], n: int) -> list[AnsweredItem]:
    """The first `n` of the items in a seeded order, in which their own has no part."""
    return _drawn(sorted(items, key=lambda item: (item.question.id, item.epoch)), n)


def _drawn(ordered: list[_Drawn], n: int) -> list[_Drawn]:
    random.Random(_SEED).shuffle(ordered)
    return ordered[:n]


Twice = Sequence[tuple[float, float]]
"""Two grades of each of a question's requests."""


def mean_difference(questions: Sequence[Twice]) -> Aggregate:
    sums = [(sum(abs(a - b) for a, b in twice), float(len(twice))) for twice in questions]
    return aggregate_sums(Summed(sums, lambda total, n: total / n))


def rank_correlation(questions: Sequence[Twice]) -> Aggregate:
    """Spearman's rho of the two grades (ties share their mean rank), and its interval."""
    import numpy as np

    grades = np.array([pair for twice in questions for pair in twice]).reshape(-1, 2)
    owner = np.repeat(np.arange(len(questions)), [len(twice) for twice in questions])
    return aggregate_drawn(
        lambda times: spearman(np.repeat(grades, times[owner].astype(int), axis=0)), len(questions)
    )


def spearman(grades: "NDArray[np.float64]") -> float | None:
    """The correlation of the columns' ranks, -1 to 1; None where a column is all the same.
    `grades`: float64 [n, 2]."""
    import numpy as np
    from scipy.stats import rankdata

    if not len(grades) or np.ptp(grades, axis=0).min() == 0:
        return None
    ranks = rankdata(grades, axis=0)
    return float(np.asarray(np.corrcoef(ranks, rowvar=False))[0, 1])


RoleProgress = Callable[[str, int, int], None]
"""Gets the role (`matcher`, `judge`) and the numbers of answered and of all requests."""

DEFAULT_DECODING = Decoding()


@dataclass(frozen=True)
class Settled:
    """Items after the chosen matcher and judge, and what these did. `lexical`: the same items by
    names alone, if both matchers were requested; `lexical_judge`: what the judge did with these,
    by calls that `judge` had not made. `check`: of items graded twice."""

    items: Sequence[AnsweredItem]
    lexical: Sequence[AnsweredItem] | None = None
    matcher: MatcherReport | None = None
    judge: JudgeReport | None = None
    grades: GradeReport | None = None
    agreement: Agreement | None = None
    lexical_judge: JudgeReport | None = None
    check: JudgeCheck | None = None

    def decided(self, task: Task) -> "Settled":
        """With one item for each that was settled by several gold sets: that which scores best."""
        lexical = None if self.lexical is None else best_gold_sets(task, self.lexical)
        return replace(self, items=best_gold_sets(task, self.items), lexical=lexical)

    @property
    def in_vain(self) -> Mapping[str, MatcherReport | JudgeReport | GradeReport]:
        """Reports, by role, of models that were asked without any usable reply."""
        reports: dict[str, MatcherReport | JudgeReport | GradeReport] = {}
        if self.matcher and self.matcher.brought_nothing:
            reports["matcher"] = self.matcher
        if self.grades and self.grades.brought_nothing:
            reports["judge"] = self.grades
        judges = [r for r in (self.judge, self.lexical_judge) if r and r.requests]
        if judges and all(report.brought_nothing for report in judges):
            reports["judge"] = judges[0]
        return reports

    def to_json(self) -> dict[str, Any]:
        reports = {
            "matcher": self.matcher,
            "judge": self.judge,
            "grades": self.grades,
            "agreement": self.agreement,
            "lexical_judge": self.lexical_judge,
            "judge_check": self.check,
        }
        return {role: report.to_json() for role, report in reports.items() if report}


@dataclass(frozen=True)
class Settling:
    """How models are asked: the resolved choice, their cache and prompts. `roles`: by role the
    decoding settings of its own. `graded`: the task whose free text the judge grades; `announce` is
    then told before the first request what it takes, and `check` has some items graded twice."""

    choice: ScoringChoice
    judgements: Judgements
    prompts: Prompts
    concurrency: int = 8
    progress: RoleProgress | None = None
    ready: Ready = check_ready
    decoding: Decoding = DEFAULT_DECODING
    keys: Keys = NO_KEYS
    roles: RoleDecoding = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    graded: Task | None = None
    announce: Announce | None = None
    check: CheckChoice | None = None
    restraints: Restraints = UNRESTRAINED

    async def settle(self, items: Sequence[AnsweredItem]) -> Settled:
        """Ask about whatever names and spelling leave open and has no kept reply.

        Raises:
            ModelError: no request can be answered (a refused key, a spent quota, no such model).
            PassEndedError: a server stays away, or the allowance is spent.
            InputError: a model cannot be asked, and not everything is kept.
        """
        async with AsyncExitStack() as callers:
            if self.graded:
                return await self._graded(items, self.graded, callers)
            lexical = items if self.choice.matcher == "both" else None
            matcher, agreed = None, None
            if self.choice.matcher != "lexical":
                caller = self._caller("matcher", self.choice.model, callers)
                settings = {"ready": self.ready, **self._settings("matcher")}
                items, matcher = await align_with_model(items, caller, self.judgements, **settings)
                agreed = agreement(items) if lexical is not None else None
            judge = lexical_judge = None
            if self.choice.judge_entities:
                caller = self._caller("judge", self.choice.judge, callers)
                settings = {"ready": self.ready, **self._settings("judge")}
                judged = await judge_entities(items, caller, self.judgements, **settings)
                items, judge, settings["known"] = judged
                if lexical is not None:
                    # Leftovers of both alignments are sent, and paid for, once.
                    judged = await judge_entities(lexical, caller, self.judgements, **settings)
                    lexical, lexical_judge, _ = judged
        return Settled(items, lexical, matcher, judge, None, agreed, lexical_judge)

    async def check_stored(
        self, stored: Mapping[str, Mapping[GradeRequest, float]], items: int
    ) -> JudgeCheck:
        """Grades by the judge beside stored ones of another, by question id, of so many questions.
        Raises what `settle` raises."""
        drawn = _drawn(sorted(stored), items)
        graded = [(id, request, grade) for id in drawn for request, grade in stored[id].items()]
        async with AsyncExitStack() as callers:
            grader = self._grader(self.choice.judge, callers)
            asking = {"announce": self.announce, **self._settings(CHECK)}
            return await _grade_again(graded, grader, items=len(drawn), beside=True, **asking)

    async def _graded(
        self, items: Sequence[AnsweredItem], task: Task, callers: AsyncExitStack
    ) -> Settled:
        grader = self._grader(self.choice.judge, callers)
        pairs = self.choice.pairs_of(task.name)
        asking = {"announce": self.announce, **self._settings("judge")}
        graded, report = await grade_items(items, grader, task, pairs=pairs, **asking)
        if self.check is None:
            return Settled(graded, grades=report)
        beside = self.check.beside
        second = self._grader(beside or self.choice.judge, callers)
        second.first = 0 if beside else SAMPLES
        wanted = [item for item in items if property_requests([item], task, pairs)]
        drawn = draw_items(wanted, self.check.items)
        grades = [
            (item.question.id, request, known.value if (known := grader.known(request)) else None)
            for item in drawn
            for request in property_requests([item], task, pairs)
        ]
        asking = {"announce": self.announce, **self._settings(CHECK)}
        is_beside = beside is not None
        check = await _grade_again(grades, second, items=len(drawn), beside=is_beside, **asking)
        return Settled(graded, grades=report, check=check)

    def _grader(self, spec: str | None, callers: AsyncExitStack) -> Grader:
        decoding = self.decoding.model_copy(update=GRADING)
        caller = self._caller("judge", spec, callers, decoding)
        return Grader(caller, self.judgements, "judge", self.ready)

    def _caller(
        self, role: str, spec: str | None, callers: AsyncExitStack, decoding: Decoding | None = None
    ) -> ModelCaller:
        assert spec is not None, "the choice was not resolved"
        caller = ModelCaller(
            ModelSpec.parse(spec),
            decoding_with(decoding or self.decoding, self.roles.get(role, {})),
            self.prompts,
            restraints=self.restraints,
            keys=self.keys,
            headers=self.headers,
        )
        callers.push_async_callback(caller.aclose)
        return caller

    def _settings(self, role: str) -> dict[str, Any]:
        report = self.progress
        progress = None if report is None else lambda done, of: report(role, done, of)
        return {"concurrency": self.concurrency, "progress": progress}


def scorer_of(
    task: Task,
    choice: ScoringChoice,
    prompts: Prompts,
    settled: Settled,
    roles: RoleDecoding = NO_ROLES,
) -> Scorer:
    """The scorer of a resolved choice; of `both`, the one with the model. If no reply of a model
    was usable it says so: such scores must neither pass for the model's nor replace them."""
    variant = choice.variant_of(task.name)
    scored = get_task(task.name, variant)
    matcher = scored.matcher if choice.matcher == "lexical" else "llm"
    model = _name(choice.model) if choice.matcher != "lexical" else None
    judge = _name(choice.judge) if choice.judge_entities else None
    own = {
        role: dict(roles[role])
        for role, asked in (("matcher", model), ("judge", judge))
        if asked and role in roles
    }
    if model and "matcher" in settled.in_vain:
        matcher = f"{task.matcher} ({matcher} brought nothing)"
    if judge and "judge" in settled.in_vain:
        judge = f"{judge} (brought nothing)"
    own_prompts = GRADING_PROMPTS if variant else MAPPING_PROMPTS
    return Scorer(
        task.name,
        task.version,
        matcher,
        model=model,
        judge=judge,
        prompts=prompts.digest_of(own_prompts)[:16] if model or judge else None,
        decoding=own,
        variant=variant,
        pairs=choice.judge_pairs if variant and choice.judge_pairs != "all" else "",
    )


def _name(spec: str | None) -> str | None:
    return ModelSpec.parse(spec).model if spec else None
