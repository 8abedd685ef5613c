"""Short ways to write items with evidence."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.branch_scores import BranchMatches, GoldPair, Right
from branchwise.eval.ceilings import TracedItem
from branchwise.eval.errors.gold_evidence import CallCost, EvidencePlace, GoldEvidence
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.eval.tasks import Metrics

Pair = tuple[int, int]  # branch, entity
Seen = tuple[int, bool]  # number of the tool call, whether the agent was shown it


def evidence(
    places: Mapping[Pair, Sequence[Seen]] | None = None,
    before: Sequence[int] = (),
    tokens: int | None = None,
    unread: Iterable[int] = (),
) -> GoldEvidence:
    """Evidence; `before`: tokens spent before each tool call.

    What was not shown was dropped by extraction, unless its call is one of the `unread`.
    """
    return GoldEvidence(
        places={
            GoldPair(*pair): tuple(
                EvidencePlace(step=2 * call, call=call, passage=f"p{call}", shown=shown)
                for call, shown in seen
            )
            for pair, seen in (places or {}).items()
        },
        calls=tuple(CallCost(2 * n, "local_retriever", t) for n, t in enumerate(before, 1)),
        tokens=max(before, default=0) + 100 if tokens is None else tokens,
        extracted=frozenset(2 * n for n in {*range(1, len(before) + 1)} - {*unread}),
    )


def traced(
    id: str,
    gold: Iterable[Pair],
    right: Iterable[Pair] = (),
    found: GoldEvidence | None = None,
    *,
    epoch: int = 0,
    ambiguous: bool = False,
    given: tuple[str, ...] = (),
    metrics: Metrics | None = None,
    plan: Sequence[Any] = (),
    meta: Mapping[str, Any] | None = None,
) -> TracedItem:
    """An item with these gold pairs, of which `right` were answered."""
    answered = [GoldPair(*pair) for pair in right]
    missing = sorted({GoldPair(*pair) for pair in gold} - set(answered))
    question = Question(
        id=id, question="Who?", ambiguous=ambiguous, plan=tuple(plan), meta=meta or {}
    )
    matches = BranchMatches(
        tuple(Right(pair, "b", str(pair.entity)) for pair in answered), tuple(missing), ()
    )
    item = AnsweredItem(question, Prediction(), epoch, Evidence(given))
    return TracedItem(item, matches, found, metrics=metrics or {})


def traced_items(most_calls: int = 4) -> st.SearchStrategy[list[TracedItem]]:
    """Up to five questions with one to three epochs, their evidence consistent."""

    @st.composite
    def build(draw: st.DrawFn) -> list[TracedItem]:
        items = []
        for number in range(draw(st.integers(0, 5))):
            gold = draw(st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5))
            domain = draw(st.sampled_from([None, "film", "music", "unknown"]))
            operations = draw(st.lists(st.sampled_from(["join", "filter", "union"]), max_size=3))
            for epoch in range(draw(st.integers(1, 3))):
                items.append(
                    traced(
                        f"q{number}",
                        gold,
                        draw(st.sets(st.sampled_from(sorted(gold)))) if gold else (),
                        draw(st.none() | st.just(draw(_trails(sorted(gold), most_calls)))),
                        epoch=epoch,
                        ambiguous=number % 2 == 0,
                        plan=[{"op": op} for op in operations],
                        meta={"domain": domain} if domain else {},
                    )
                )
        return items

    return build()


@st.composite
def _trails(draw: st.DrawFn, gold: Sequence[Pair], most_calls: int) -> GoldEvidence:
    spent = sorted(draw(st.lists(st.integers(0, 3000), max_size=most_calls)))
    seen = st.lists(st.tuples(st.integers(0, len(spent)), st.booleans()), max_size=3)
    places = {pair: sorted(draw(seen)) for pair in gold}
    return evidence(places, spent, unread=draw(st.sets(st.integers(1, most_calls))))
