"""The entity judge: a model says which left-over texts are gold answers written another way.

It runs after the alignment, and only on what spelling and aliases leave open under one branch:
wrong texts and missing gold answers. A text that it accepts becomes an alias in a copy of the
question, so that scoring stays one pure function of question and prediction.
"""

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from branchwise.agents.caller import ModelCaller
from branchwise.agents.spec import check_ready
from branchwise.base.normalise import normalise
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.alignment import Alignment
from branchwise.eval.branch_scores import (
    GoldBranches,
    align_answers,
    branch_matches,
    gold_branches,
    pooled_score,
    strict_score,
)
from branchwise.eval.entities import Entity
from branchwise.eval.items import Accepted, AnsweredItem
from branchwise.eval.judging.consultant import (
    Ended,
    Judgements,
    ModelReport,
    Ready,
    ReportedItem,
    RequestProgress,
)
from branchwise.eval.judging.mapping import (
    MAX_QUESTION,
    Mapper,
    MappingOutcome,
    MappingRequest,
    listed,
    shown,
)

MAX_LISTED = 40
"""Texts, and gold answers, that one request may hold."""
MAX_ALIASES, MAX_ALIAS = 10, 100
"""Maximum number of other forms shown of a gold answer, and their characters."""
ROLE = "judge"


@dataclass(frozen=True)
class Unmatched:
    """What is unmatched of one item under one gold branch: distinct predicted texts and gold
    entities. `unasked`: how many more of both there are than one request may hold."""

    question: str
    branch: str
    texts: tuple[str, ...]
    entities: tuple[Entity, ...]
    unasked: tuple[int, int] = (0, 0)

    @cached_property
    def request(self) -> MappingRequest:
        right = tuple(shown(entity.name) for entity in self.entities)
        given = tuple(map(shown, self.texts))
        with_aliases = []
        for entity, name in zip(self.entities, right, strict=True):
            forms = (shown(form, MAX_ALIAS) for a in entity.answers for form in a.forms)
            others = [f for f in dict.fromkeys(forms) if f and f != shown(name, MAX_ALIAS)]
            also = f" (also: {'; '.join(others[:MAX_ALIASES])})" if others else ""
            with_aliases.append(f"{name}{also}")
        reading = "" if self.branch == DEFAULT_BRANCH else f"\nReading: {shown(self.branch)}"
        message = (
            f"Question: {shown(self.question, MAX_QUESTION)}{reading}\n\n"
            f"Right answers:\n{listed('g', with_aliases)}\n\n"
            f"Given answers:\n{listed('a', given)}"
        )
        return MappingRequest(message, given, right, "a", "g")


def alignment_of(item: AnsweredItem, gold: GoldBranches) -> Alignment:
    return item.matched.alignment if item.matched else align_answers(gold, item.prediction.answers)


def unmatched(item: AnsweredItem) -> list[Unmatched]:
    """The gold branches with both texts and gold entities left over, in order of name."""
    if item.error is not None:
        return []
    gold = gold_branches(item.question.branches)
    alignment = alignment_of(item, gold)
    matches = branch_matches(gold, item.prediction.answers, alignment)
    wrong: dict[int, dict[str, str]] = defaultdict(dict)
    for branch, text in sorted(matches.wrong):
        index = alignment[branch]
        if index is not None and shown(text):
            wrong[index].setdefault(shown(text), text)
    missing: dict[int, list[Entity]] = defaultdict(list)
    for index, entity in matches.missing:
        missing[index].append(gold.sets[index].entities[entity])
    parts = []
    for index, by_shown in sorted(wrong.items()):
        texts, entities = [text for _, text in sorted(by_shown.items())], missing[index]
        if entities:
            unasked = (max(0, len(texts) - MAX_LISTED), max(0, len(entities) - MAX_LISTED))
            asked = tuple(texts[:MAX_LISTED]), tuple(entities[:MAX_LISTED])
            parts.append(Unmatched(item.question.question, gold.names[index], *asked, unasked))
    return parts


def with_alias(question: Question, branch: str, entity: Entity, text: str) -> Question:
    """A copy of the question in which `text` is one more alias of an entity under a branch."""
    key, answer = normalise(branch, articles=True), entity.answers[0]
    branches = list(question.branches)
    for number, gold_branch in enumerate(branches):
        if normalise(gold_branch.name, articles=True) == key and answer in gold_branch.answers:
            answers = list(gold_branch.answers)
            index = answers.index(answer)
            aliases = (*answers[index].aliases, text)
            answers[index] = replace(answers[index], aliases=aliases)
            branches[number] = replace(gold_branch, answers=tuple(answers))
            break
    return question.model_copy(update={"branches": tuple(branches)})


@dataclass(frozen=True, kw_only=True)
class JudgeReport(ModelReport):
    """What the judge did; a request is about one branch, and may serve several items. `accepted`:
    texts that count now; `refused`: claims that do not. `repaired`: requests answered by the second
    reply. `failed`, `unasked`: branches where nothing could be used, or there was too much to ask.
    """

    accepted: int
    refused: int
    repaired: int
    failed: tuple[ReportedItem, ...]
    unasked: tuple[ReportedItem, ...]

    @property
    def own(self) -> Mapping[str, Any]:
        return {
            "accepted": self.accepted,
            "refused": self.refused,
            "repaired": self.repaired,
            "failed": [item.to_json() for item in self.failed],
            "unasked": [item.to_json() for item in self.unasked],
        }


async def judge_entities(
    items: Sequence[AnsweredItem],
    judge: ModelCaller,
    judgements: Judgements,
    *,
    known: Mapping[MappingRequest, MappingOutcome] = MappingProxyType({}),
    concurrency: int = 8,
    progress: RequestProgress | None = None,
    ready: Ready = check_ready,
) -> tuple[list[AnsweredItem], JudgeReport, Mapping[MappingRequest, MappingOutcome]]:
    """Let a model judge the texts and gold answers that are left over under the same branch. The
    aligned items in order, questions with accepted aliases, the report, and all verdicts. A request
    that fails alone accepts nothing. `known`: earlier verdicts, not requested again and in no count
    of calls. Raises what `align_with_model` raises."""
    left = [unmatched(item) for item in items]
    mapper = Mapper(judge, judgements, ROLE, ready)
    requests = dict.fromkeys(part.request for parts in left for part in parts)
    new = [request for request in requests if request not in known]
    answered = await mapper.each(new, mapper.map, concurrency=concurrency, progress=progress)
    outcomes = {**known, **answered}
    settled: list[AnsweredItem] = []
    failed, unasked = list[ReportedItem](), list[ReportedItem]()
    claimed = accepted = 0
    for item, parts in zip(items, left, strict=True):
        key = item.question.id, item.epoch
        accepting, claims = accept(item, parts, outcomes)
        settled.append(accepting)
        claimed += claims
        accepted += len(accepting.accepted) - len(item.accepted)
        for part in parts:
            if (problem := outcomes[part.request].problem) is not None:
                failed.append(ReportedItem(*key, f"{part.branch}: {problem}"))
            given, gold = part.unasked
            if given or gold:
                why = f"{part.branch}: {given} given and {gold} gold answers"
                unasked.append(ReportedItem(*key, why))
    report = JudgeReport(
        model=judge.spec.model,
        asked=sum(map(bool, left)),
        ended=Ended.of(outcomes[request] for request in requests),
        accepted=accepted,
        refused=claimed - accepted,
        repaired=sum(outcomes[request].repaired for request in requests),
        failed=tuple(failed),
        unasked=tuple(unasked),
        consulted=mapper.consulted,
    )
    return settled, report, outcomes


class _Claim(NamedTuple):
    """A text that the model calls a gold answer."""

    part: Unmatched
    text: str
    entity: Entity


def accept(
    item: AnsweredItem,
    parts: Sequence[Unmatched],
    outcomes: Mapping[MappingRequest, MappingOutcome],
) -> tuple[AnsweredItem, int]:
    """The item after all its verdicts, taken in order of branch and text, and their claims."""
    claims = []
    for part in parts:
        indices = outcomes[part.request].indices or [None] * len(part.texts)
        pairs = zip(part.texts, indices, strict=True)
        claims += [_Claim(part, text, part.entities[i]) for text, i in pairs if i is not None]
    return (_with_claims(item, claims) if claims else item), len(claims)


def _with_claims(item: AnsweredItem, claims: Sequence[_Claim]) -> AnsweredItem:
    """The item with the claims that each make one more answer right. Others are refused: a second
    one on a gold answer, and an alias that makes another answer's bare name ambiguous."""
    first = {(claim.part.branch, claim.entity): claim for claim in reversed(claims)}
    single = [claim for claim in claims if first[claim.part.branch, claim.entity] is claim]
    strict, pooled = _right(item)
    together = functools.reduce(_with_claim, single, item)
    right, right_pooled = _right(together)
    if right == strict + len(single) and right_pooled >= pooled:
        return together
    # Rare: try one at a time, to find which.
    for claim in claims:
        candidate = _with_claim(item, claim)
        right, right_pooled = _right(candidate)
        if right == strict + 1 and right_pooled >= pooled:
            item, strict, pooled = candidate, right, right_pooled
    return item


def _with_claim(item: AnsweredItem, claim: _Claim) -> AnsweredItem:
    part, text, entity = claim
    question = with_alias(item.question, part.branch, entity, text)
    pair = Accepted(part.branch, entity.name, text)
    return replace(item, question=question, accepted=(*item.accepted, pair))


def _right(item: AnsweredItem) -> tuple[int, int]:
    """How many are right under their branches, and pooled."""
    gold, answers = gold_branches(item.question.branches), item.prediction.answers
    strict = strict_score(gold, answers, alignment_of(item, gold))
    return strict.right, pooled_score(gold, answers).right
