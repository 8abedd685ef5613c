"""What models decide about a run's items before they are scored, and the scorer that says so."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import GRADING_PROMPTS, MAPPING_PROMPTS, Prompts
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.eval.gold_sets import best_gold_sets
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.consultant import Judgements, Ready
from branchwise.eval.judging.grading import (
    GRADING,
    SAMPLES,
    Announce,
    Grader,
    GradeReport,
    grade_items,
)
from branchwise.eval.judging.judge import JudgeReport, judge_entities
from branchwise.eval.judging.judge_check import ROLE as CHECK
from branchwise.eval.judging.judge_check import JudgeCheck, check_judge
from branchwise.eval.judging.matcher import Agreement, MatcherReport, agreement, align_with_model
from branchwise.eval.scores import Scorer
from branchwise.eval.scoring_choice import CheckChoice, ScoringChoice
from branchwise.eval.tasks import Task, get_task
from branchwise.graphs.own_settings import NO_ROLES, RoleDecoding, decoding_with

RoleProgress = Callable[[str, int, int], None]
"""Gets the role (`matcher`, `judge`) and the numbers of answered and of all requests."""


DEFAULT_DECODING = Decoding()


@dataclass(frozen=True)
class Settled:
    """Items after the chosen matcher and judge, and what these did.

    `lexical`: the same items by names alone, if both matchers were requested; `lexical_judge`: what
    the judge did with these. Its calls are those that `judge` had not made. `check`: of a judge of
    free text, where some items were graded twice.
    """

    items: Sequence[AnsweredItem]
    lexical: Sequence[AnsweredItem] | None = None
    matcher: MatcherReport | None = None
    judge: JudgeReport | None = None
    grades: GradeReport | None = None
    agreement: Agreement | None = None
    lexical_judge: JudgeReport | None = None
    check: JudgeCheck | None = None

    def decided(self, task: Task) -> "Settled":
        """With one item for each that was settled by several gold sets: the one that scores best.

        What the models did stays as it was: an item counts there by each of its gold sets.
        """
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
        judges = [
            report for report in (self.judge, self.lexical_judge) if report and report.requests
        ]
        if judges and all(report.brought_nothing for report in judges):
            reports["judge"] = judges[0]
        return reports

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: what the models did, and how far the matchers agree."""
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
    """How models are asked: the resolved choice, their cache and prompts.

    `roles`: by role the decoding settings that it has of its own. `headers`: of all requests.
    `graded`: the judge grades free text, rather than accept names; `announce` is then told what it
    is to be asked before the first request, and `check` has it grade some items twice.
    """

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
    graded: bool = False
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
                return await self._graded(items, callers)
            lexical = items if self.choice.matcher == "both" else None
            matcher, agreed = None, None
            if self.choice.matcher != "lexical":
                caller = self._caller("matcher", self.choice.model, callers)
                matched = await align_with_model(
                    items, caller, self.judgements, **self._settings("matcher")
                )
                items, matcher = matched
                agreed = agreement(items) if lexical is not None else None
            judge = lexical_judge = None
            if self.choice.judge_entities:
                caller = self._caller("judge", self.choice.judge, callers)
                settings = self._settings("judge")
                judged = await judge_entities(items, caller, self.judgements, **settings)
                items, judge, verdicts = judged
                if lexical is not None:
                    # Leftovers of both alignments are sent, and paid for, once.
                    lexical, lexical_judge, _ = await judge_entities(
                        lexical, caller, self.judgements, known=verdicts, **settings
                    )
        return Settled(items, lexical, matcher, judge, None, agreed, lexical_judge)

    async def _graded(self, items: Sequence[AnsweredItem], callers: AsyncExitStack) -> Settled:
        decoding = self.decoding.model_copy(update=GRADING)
        caller = self._caller("judge", self.choice.judge, callers, decoding)
        settings = self._settings("judge")
        ready = settings.pop("ready")
        grader = Grader(caller, self.judgements, "judge", ready)
        pairs = self.choice.judge_pairs
        graded, report = await grade_items(
            items, grader, pairs=pairs, announce=self.announce, **settings
        )
        if self.check is None:
            return Settled(graded, grades=report)
        beside = self.check.beside
        if beside:
            caller = self._caller("judge", beside, callers, decoding)
        second = Grader(caller, self.judgements, "judge", ready)
        second.first = 0 if beside else SAMPLES
        settings = self._settings(CHECK)
        settings.pop("ready")
        check = await check_judge(
            items, grader, second, self.check, pairs=pairs, announce=self.announce, **settings
        )
        return Settled(graded, grades=report, check=check)

    def _caller(
        self,
        role: str,
        spec: str | None,
        callers: AsyncExitStack,
        decoding: Decoding | None = None,
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
        return {"concurrency": self.concurrency, "progress": progress, "ready": self.ready}


def scorer_of(
    task: Task,
    choice: ScoringChoice,
    prompts: Prompts,
    settled: Settled,
    roles: RoleDecoding = NO_ROLES,
) -> Scorer:
    """The scorer of a resolved choice; of `both`, the one with the model. `roles`: the decoding of
    matcher and judge.

    If no reply of the model was usable, the scorer says so: such scores must neither pass for the
    model's nor replace them in a run's store.
    """
    variant = choice.variant_of(task.name)
    scored = get_task(task.name, variant)
    matcher = scored.matcher if choice.matcher == "lexical" else "llm"
    model = _name(choice.model) if choice.matcher != "lexical" else None
    judge = _name(choice.judge) if choice.judge_entities else None
    if model and "matcher" in settled.in_vain:
        matcher = f"{task.matcher} ({matcher} brought nothing)"
    if judge and "judge" in settled.in_vain:
        judge = f"{judge} (brought nothing)"
    own_prompts = GRADING_PROMPTS if variant else MAPPING_PROMPTS
    prompts_digest = prompts.digest_of(own_prompts)[:16] if model or judge else None
    asked = {"matcher": model, "judge": judge}
    own = {role: dict(roles[role]) for role, asks in asked.items() if asks and role in roles}
    return Scorer(
        task.name,
        task.version,
        matcher,
        model=model,
        judge=judge,
        prompts=prompts_digest,
        decoding=own,
        variant=variant,
        pairs=choice.judge_pairs if variant and choice.judge_pairs != "all" else "",
    )


def _name(spec: str | None) -> str | None:
    return ModelSpec.parse(spec).model if spec else None
