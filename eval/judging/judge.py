"""The entity judge: a model says which left-over texts are gold answers written another way.

It is asked after the alignment, and only about what spelling and aliases left open under one
branch. What it accepts becomes an alias in a copy of the question, so that scoring stays one pure
function of question and prediction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import Journal
from branchwise.agents.spec import check_ready
from branchwise.corpora.questions import Question
from branchwise.eval.branch_scores import gold_branches, pooled_score, strict_score
from branchwise.eval.items import Accepted, AnsweredItem
from branchwise.eval.judging.leftovers import Leftover, alignment_of, leftovers, with_alias
from branchwise.eval.judging.mapper import Consulted, Mapped, Mapper, Progress, Ready
from branchwise.eval.judging.mapping import MappingRequest
from branchwise.eval.judging.occasion import Occasion

ROLE = "judge"


@dataclass(frozen=True)
class JudgeReport:
    """What the judge did. Items are questions by epoch; a request may serve several.

    `asked`: items with something to judge. `requests`: distinct questions put to the model, one a
    branch. `accepted`: texts that count now. `refused`: claims of it that do not (on a gold answer
    that another text has, or one that would not make more answers right). `repaired`: requests
    answered by the second reply. `failed`: where nothing that it said could be used, so that
    nothing was accepted. `unasked`: where there was more than one request may hold.
    """

    model: str
    asked: int
    requests: int
    accepted: int
    refused: int
    repaired: int
    failed: tuple[Occasion, ...]
    unasked: tuple[Occasion, ...]
    consulted: Consulted

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable; `calls` has calls, tokens and seconds, fresh and cached."""
        return {
            "model": self.model,
            "asked": self.asked,
            "requests": self.requests,
            "accepted": self.accepted,
            "refused": self.refused,
            "repaired": self.repaired,
            "failed": [occasion.to_json() for occasion in self.failed],
            "unasked": [occasion.to_json() for occasion in self.unasked],
            "calls": self.consulted.to_json(),
        }


class JudgedItems(NamedTuple):
    """The items in their order, questions with accepted aliases, and the report."""

    items: list[AnsweredItem]
    report: JudgeReport


async def judge_entities(
    items: Sequence[AnsweredItem],
    judge: ModelCaller,
    journal: Journal,
    *,
    concurrency: int = 8,
    progress: Progress | None = None,
    ready: Ready = check_ready,
) -> JudgedItems:
    """Let a model settle the texts and gold answers that are left over under the same branch.

    To be called with aligned items. `journal` is a cache by request, as for `align_with_model`,
    and failures end the same way; a request that fails alone accepts nothing.

    Raises:
        ModelError: no request can be answered (a refused key, a spent quota, an unknown model).
        InputError: the model cannot be asked, and not everything is kept.
    """
    left = [leftovers(item) for item in items]
    mapper = Mapper(judge, journal, ROLE, ready)
    requests = [part.request for parts in left for part in parts]
    found = await mapper.map_each(requests, concurrency=concurrency, progress=progress)
    settled = [_settled(item, parts, found) for item, parts in zip(items, left, strict=True)]
    report = JudgeReport(
        model=judge.spec.model,
        asked=sum(map(bool, left)),
        requests=len(found),
        accepted=sum(len(one.item.accepted) for one in settled),
        refused=sum(one.refused for one in settled),
        repaired=sum(mapped.repaired for mapped in found.values()),
        failed=tuple(occasion for one in settled for occasion in one.failed),
        unasked=_unasked(items, left),
        consulted=mapper.consulted,
    )
    return JudgedItems([one.item for one in settled], report)


class _Settled(NamedTuple):
    item: AnsweredItem
    refused: int
    failed: tuple[Occasion, ...]


def _settled(
    item: AnsweredItem, parts: Sequence[Leftover], found: Mapping[MappingRequest, Mapped]
) -> _Settled:
    """The item after all its verdicts, taken in order of branch and text."""
    refused = 0
    failed: list[Occasion] = []
    for part in parts:
        mapped = found[part.request]
        if mapped.indices is None:
            why = f"{part.branch}: {mapped.problem}"
            failed.append(Occasion(item.question.id, item.epoch, why))
            continue
        taken: set[int] = set()
        for text, index in zip(part.texts, mapped.indices, strict=True):
            if index is None:
                continue
            accepted = None if index in taken else _accepted(item, part, text, index)
            taken |= {index} if accepted else set()
            refused += accepted is None
            item = accepted or item
    return _Settled(item, refused, tuple(failed))


def _accepted(item: AnsweredItem, part: Leftover, text: str, index: int) -> AnsweredItem | None:
    """The item with one more alias; None where that would not make one answer more right.

    An alias can take a match away: it may share its bare name with another gold answer, which
    then is no longer the only one of that name.
    """
    entity = part.entities[index]
    question = with_alias(item.question, part.branch, entity, text)
    before, after = _right(item, item.question), _right(item, question)
    if after.strict != before.strict + 1 or after.pooled < before.pooled:
        return None
    pair = Accepted(part.branch, entity.name, text)
    return replace(item, question=question, accepted=(*item.accepted, pair))


class _Right(NamedTuple):
    strict: int
    pooled: int


def _right(item: AnsweredItem, question: Question) -> _Right:
    gold, answers = gold_branches(question.branches), item.prediction.answers
    strict = strict_score(gold, answers, alignment_of(item, gold))
    return _Right(strict.right, pooled_score(gold, answers).right)


def _unasked(
    items: Sequence[AnsweredItem], left: Sequence[Sequence[Leftover]]
) -> tuple[Occasion, ...]:
    return tuple(
        Occasion(
            item.question.id,
            item.epoch,
            f"{part.branch}: {part.unasked[0]} given and {part.unasked[1]} gold answers",
        )
        for item, parts in zip(items, left, strict=True)
        for part in parts
        if any(part.unasked)
    )
