"""Reports made by hand: every score, loss and cost in them follows from what is written here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.branch_scores import (
    BranchMatches,
    GoldPair,
    align_answers,
    branch_matches,
    gold_branches,
)
from branchwise.eval.ceilings import TracedItem
from branchwise.eval.errors.gold_evidence import CallCost, EvidencePlace, GoldEvidence
from branchwise.eval.errors.item_errors import FailedCall, ItemErrors, MissingAnswer, WrongAnswer
from branchwise.eval.errors.labels import Label
from branchwise.eval.errors.module_work import ModuleWork, ToolWork
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.eval.judging.settle import Settled
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.graphs.ledger import RoleUsage
from branchwise.report.study_report import StudyReport, SystemReport, study_report
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import run_costs
from branchwise.runs.scoring.scored import Analysis, ScoredAnswers, TracedRun
from support.eval.scoring_cases import branches

Answers = Mapping[str, Sequence[str]]

QUESTIONS: tuple[tuple[str, Answers, int], ...] = (
    ("q1", {"Heat (1995 film)": ["Mann", "Pacino"], "Heat (1986 film)": ["Reynolds"]}, 2),
    ("q2", {"default": ["Nolan", "Bale"]}, 2),
    ("q3", {"Kong (1933 film)": ["Cooper"], "Kong (1976 film)": ["Guillermin", "Lange"]}, 3),
    ("q4", {"default": ["Kubrick"]}, 3),
)
"""Id, gold branches, steps of the plan."""


@dataclass(frozen=True)
class Case:
    """A system: its answers by question, and at which tool call each gold text was seen first.

    Texts that `seen` lacks were never retrieved; those in `dropped` were lost in extraction; wrong
    ones in `read` are in the evidence. A tool call of the questions in `broken` brought nothing.
    `place`: model and setting in the report; `base`: what it is compared with there; `levels`: of
    a factorial study.
    """

    name: str
    answers: Mapping[str, Answers]
    seen: Mapping[str, int]
    dropped: frozenset[str] = frozenset()
    calls: int = 2
    model: str = "openai:gpt-6-luna"
    tokens: int = 1_000_000
    failed: frozenset[str] = frozenset()
    changes: Mapping[str, Any] = field(default_factory=dict)
    read: frozenset[str] = frozenset()
    broken: frozenset[str] = frozenset()
    base: str = ""
    place: tuple[str, str] = ("", "")
    levels: Mapping[str, str] = field(default_factory=dict)


SEEN = {"Mann": 1, "Pacino": 1, "Nolan": 1, "Bale": 2, "Cooper": 2, "Guillermin": 2, "Kubrick": 1}
BASE = Case(
    "base",
    {
        "q1": {"Heat (1995 film)": ["Mann"]},
        "q2": {"default": ["Nolan", "Bale"]},
        "q3": {"Kong (1933 film)": ["Cooper"], "Kong (1976 film)": ["Bridges"]},
        "q4": {"default": ["Lucas"]},
    },
    SEEN,
)
"""Strict P, R, EM: q1 1, 1/3, 0; q2 1, 1, 1; q3 1/2, 1/3, 0; q4 0, 0, 0."""
EXPANDED = Case(
    "+expansion",
    {
        "q1": {"Heat (1995 film)": ["Mann", "Pacino"], "Heat (1986 film)": ["Reynolds"]},
        "q2": {"default": ["Nolan", "Bale"]},
        "q3": {"Kong (1933 film)": ["Cooper"], "Kong (1976 film)": ["Guillermin"]},
        "q4": {"default": ["Kubrick"]},
    },
    {**SEEN, "Reynolds": 3},
    calls=3,
    tokens=2_000_000,
    changes={"expand": True},
)
"""Strict P, R, EM: q1 1, 1, 1; q2 1, 1, 1; q3 1, 2/3, 0; q4 1, 1, 1."""
EXTRACTED = Case(
    "+extraction",
    {"q1": {}, "q2": {"default": ["Nolan"]}, "q3": {"Kong (1933 film)": ["Cooper"]}},
    SEEN,
    frozenset({"Pacino", "Guillermin"}),
    model="openai:local@http://localhost:8000/v1",
    failed=frozenset({"q4"}),
    changes={"extract": True, "tools": ["local_retriever", "wikisparql"]},
)
"""Of unknown cost; q4 failed."""


def factorial() -> tuple[Case, ...]:
    """A study of 2 x 2 systems, whose strict recall of q1 to q4 is 1/3, 1, 1/3, 0; 1, 1, 2/3, 1;
    0, 1/2, 1/3, 0; 1, 1, 2/3, 1."""
    own = {"expansion": "+expansion"}, {"extraction": "+extraction"}
    both = replace(EXPANDED, name="both", levels=own[0] | own[1])
    return BASE, replace(EXPANDED, levels=own[0]), replace(EXTRACTED, levels=own[1]), both


def two_models() -> tuple[Case, ...]:
    """The three answers above and one more as two systems each of two models."""
    return (
        replace(BASE, name="gpt", base="gpt"),
        replace(EXPANDED, name="gpt, +expansion", base="gpt"),
        replace(EXPANDED, name="qwen", base="qwen", changes={}),
        replace(EXTRACTED, name="qwen, +extraction", base="qwen"),
    )


def question(id: str, gold: Answers, steps: int, meta: Mapping[str, Any]) -> Question:
    plan = tuple({"op": "join"} for _ in range(steps))
    return Question(
        id=id,
        question="Who?",
        ambiguous=len(gold) > 1,
        branches=branches(gold),
        plan=plan,
        meta=dict(meta),
    )


def make_report(
    cases: Sequence[Case] = (BASE, EXPANDED, EXTRACTED),
    *,
    title: str = "modules",
    meta: Mapping[str, Any] | None = None,
    meta_of: Mapping[str, Mapping[str, Any]] | None = None,
    questions: Sequence[tuple[str, Answers, int]] = QUESTIONS,
) -> StudyReport:
    """`meta`: of every question; `meta_of`: by a question's id, its own beside that."""
    own = meta_of or {}
    made = [question(*one, {**(meta or {}), **own.get(one[0], {})}) for one in questions]
    systems = [
        SystemReport(
            case.name, scored(case, made), case.changes, *case.place, case.base, levels=case.levels
        )
        for case in cases
    ]
    return study_report(title, systems, made, "questions.jsonl")


def scored(case: Case, questions: Sequence[Question]) -> ScoredAnswers:
    items = [_item(case, one) for one in questions]
    scores = score_items(get_task("branches"), items)
    metrics = {row.id: row.metrics for row in scores.items}
    traced, errors = [], []
    for item in items:
        gold = gold_branches(item.question.branches)
        answers = {} if item.error else item.prediction.answers
        alignment = align_answers(gold, answers)
        matches = branch_matches(gold, answers, alignment)
        evidence = _evidence(case, item.question)
        traced.append(TracedItem(item, matches, evidence, metrics=metrics[item.question.id]))
        errors.append(_errors(case, item, matches, evidence))
    usage = vars(RoleUsage(case.calls + 1, case.tokens, 0))
    outcomes = [{"error": item.error, "usage": {"agent": usage}} for item in items]
    costs = run_costs(outcomes, {"model": case.model}, Prices.load())
    found = TracedRun(tuple(traced), tuple(errors))
    analysis = Analysis(lambda: found, get_task("branches"), scores.items)
    modules = ModuleWork(tools={"local_retriever": ToolWork(case.calls * len(items))})
    return ScoredAnswers(Path("run"), scores, costs, Settled(items), None, analysis, modules)


def _item(case: Case, question: Question) -> AnsweredItem:
    answers = {name: tuple(texts) for name, texts in case.answers.get(question.id, {}).items()}
    error = "boom" if question.id in case.failed else None
    return AnsweredItem(question, Prediction(answers=answers), 0, Evidence(("p",)), "strict", error)


def _pairs(question: Question) -> dict[GoldPair, str]:
    gold = gold_branches(question.branches)
    return {
        GoldPair(index, entity): answer.text
        for index, name in enumerate(gold.names)
        for branch in question.branches
        if branch.name == name
        for entity, answer in enumerate(branch.answers)
    }


def _evidence(case: Case, question: Question) -> GoldEvidence:
    places = {
        pair: (EvidencePlace(2 * case.seen[text], case.seen[text], shown=text not in case.dropped),)
        for pair, text in _pairs(question).items()
        if text in case.seen
    }
    calls = tuple(CallCost(2 * n, "local_retriever", 100 * n) for n in range(1, case.calls + 1))
    whole = {pair: places.get(pair, ()) for pair in _pairs(question)}
    return GoldEvidence(whole, {}, calls, 500, frozenset(2 * n for n in range(1, case.calls + 1)))


def _errors(
    case: Case, item: AnsweredItem, matches: BranchMatches, evidence: GoldEvidence
) -> ItemErrors:
    texts = _pairs(item.question)
    wrong = tuple(_wrong(case, one.branch, one.text, texts) for one in matches.wrong)
    elsewhere = {one.text for one in wrong}
    lost = {
        pair: replace(found, label=Label.WRONG_BRANCH, lost_at=None)
        if found.text in elsewhere
        else found
        for pair in matches.missing
        for found in [_missing(texts[pair], evidence.places[pair], item)]
    }
    calls = (FailedCall(1, 2, "local_retriever", "failed", "boom"),)
    labels = {one.label for one in (*lost.values(), *wrong) if one.label}
    unseen = {pair for pair in lost if lost[pair].label is Label.INCOMPLETE_EXTRACTION}
    of_branch = [{one for one in texts if one.branch == pair.branch} for pair in texts]
    labels |= {Label.MISSING_BRANCH} if any(pairs <= unseen for pairs in of_branch) else set()
    labels |= {Label.WRONG_TOOL_CALL} if item.question.id in case.broken else set()
    given = {text for own in item.prediction.answers.values() for text in own}
    counted = {} if item.error else texts
    return ItemErrors(
        item.question.id,
        0,
        item.question.ambiguous,
        traced=True,
        labels=tuple(sorted(labels)),
        missing=tuple(lost.values()),
        wrong=wrong,
        failed_calls=calls if item.question.id in case.broken else (),
        error=item.error,
        unmentioned=sum(not evidence.places[pair] for pair in counted),
        unanswered=sum(
            bool(evidence.places[pair]) and text not in given for pair, text in counted.items()
        ),
    )


def _wrong(case: Case, branch: str, text: str, gold: Mapping[GoldPair, str]) -> WrongAnswer:
    if text in gold.values():
        return WrongAnswer(branch, text, Label.WRONG_BRANCH, "b")
    return WrongAnswer(branch, text, None if text in case.read else Label.UNSUPPORTED_ANSWER)


def _missing(text: str, places: tuple[EvidencePlace, ...], item: AnsweredItem) -> MissingAnswer:
    if item.error:
        return MissingAnswer("b", text, None, None)
    if not places:
        return MissingAnswer("b", text, None, Label.INCOMPLETE_EXTRACTION)
    lost_at = "agent" if places[0].shown else "extraction"
    return MissingAnswer("b", text, None, Label.INCORRECT_REASONING, lost_at)
