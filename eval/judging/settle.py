"""What models decide about a run's items before they are scored: branches, then answers."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.eval.gold_sets import best_gold_sets
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.agreement import Agreement, agreement
from branchwise.eval.judging.grades import GradeReport, grade_items
from branchwise.eval.judging.grading import GRADING, SAMPLES, Announce, Grader
from branchwise.eval.judging.judge import JudgeReport, judge_entities
from branchwise.eval.judging.judge_check import ROLE as CHECK
from branchwise.eval.judging.judge_check import JudgeCheck, check_judge
from branchwise.eval.judging.judgements import Judgements
from branchwise.eval.judging.matcher import MatcherReport, align_with_model
from branchwise.eval.judging.readiness import Ready
from branchwise.eval.scoring_choice import CheckChoice, ScoringChoice
from branchwise.eval.tasks import Task
from branchwise.graphs.role_decoding import RoleDecoding, decoding_with

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
        found: dict[str, MatcherReport | JudgeReport | GradeReport] = {}
        if self.matcher and self.matcher.brought_nothing:
            found["matcher"] = self.matcher
        if self.grades and self.grades.brought_nothing:
            found["judge"] = self.grades
        judges = [one for one in (self.judge, self.lexical_judge) if one and one.requests]
        if judges and all(one.brought_nothing for one in judges):
            found["judge"] = judges[0]
        return found

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
        told = self.progress
        progress = None if told is None else lambda done, of: told(role, done, of)
        return {"concurrency": self.concurrency, "progress": progress, "ready": self.ready}
