"""Reach: which gold answers the tools of a run could have given.

An answer is within reach if a source that a tool asks has it. The corpus has it where a passage
that supports it is there, or, where gold names no support, where a passage mentions it. The graph
has it where its Wikidata id is in it. Both are upper bounds: that it is there does not say that a
search or a query finds it. What was not or cannot be looked up is unknown, not out of reach.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.corpora.progress import Progress, silent
from branchwise.corpora.questions import Question
from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.ceilings.holdings import (
    Holding,
    UnknownHolding,
    WantedEntity,
    corpus_holding,
    graph_holding,
    wanted_pairs,
)
from branchwise.eval.ceilings.sources import Sources

_VERSION = 1  # changes when the same sources and questions may give another reach


@dataclass(frozen=True)
class Reach:
    """For each question (by id) and gold pair: within reach, not, or unknown (None).

    `unknown`: why, one line a reason. `final`: False where a source could not be read now but may
    be later; such a result is not to be kept.
    """

    within: Mapping[str, Mapping[GoldPair, bool | None]]
    unknown: tuple[str, ...] = ()
    final: bool = True

    def of(self, question: str, pair: GoldPair) -> bool | None:
        """Whether a pair is within reach; None where that is unknown."""
        return self.within.get(question, {}).get(pair)

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: by question id a list of [branch, entity, true, false or null]."""
        return {
            "within": {
                question: [[*pair, is_in] for pair, is_in in pairs.items()]
                for question, pairs in self.within.items()
            },
            "unknown": list(self.unknown),
            "final": self.final,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Reach":
        """What `to_json` gave."""
        within = {
            question: {GoldPair(branch, entity): is_in for branch, entity, is_in in pairs}
            for question, pairs in kept["within"].items()
        }
        return cls(within, tuple(kept["unknown"]), kept["final"])


def find_reach(
    questions: Iterable[Question],
    sources: Sources,
    *,
    read_passages: bool = False,
    progress: Progress = silent,
) -> Reach:
    """Look up what the sources of a run have of the gold answers.

    Time grows with the corpus (its lines are read once, until every supporting passage was seen),
    memory with what is looked for. `read_passages`: also look for mentions of answers without
    support in every passage. Progress is in passages. A source that is gone is unknown, no error.
    """
    wanted = wanted_pairs(questions)
    entities = [entity for pairs in wanted.values() for entity in pairs.values()]
    holdings: list[Holding] = [
        UnknownHolding(f"what the tool {name} could give is not known") for name in sources.others
    ]
    if sources.corpus:
        holdings.append(
            corpus_holding(sources.corpus, entities, read_passages=read_passages, progress=progress)
        )
    if sources.graph:
        holdings.append(graph_holding(sources.graph, entities))
    within = {
        question: {pair: _within(holdings, entity) for pair, entity in pairs.items()}
        for question, pairs in wanted.items()
    }
    left = [
        entity
        for question, pairs in wanted.items()
        for pair, entity in pairs.items()
        if within[question][pair] is None
    ]
    return Reach(within, _reasons(holdings, left), all(holding.final for holding in holdings))


def reach_key(
    questions: Iterable[Question], sources: Sources, *, read_passages: bool = False
) -> str:
    """What a reach is kept under: 16 hexadecimal digits of a SHA-256 of all it depends on.

    That is the digests of corpus and graph, the tools, and what is looked for; no paths.
    """
    import orjson

    gold = [question.model_dump(include={"id", "branches"}) for question in questions]
    body = [_VERSION, sources.identity(), read_passages, gold]
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def _within(holdings: Sequence[Holding], entity: WantedEntity) -> bool | None:
    """True where any source has it, else unknown where any source is unknown."""
    found = [holding.has(entity) for holding in holdings]
    if True in found:
        return True
    return None if None in found else False


def _reasons(holdings: Sequence[Holding], left: Sequence[WantedEntity]) -> tuple[str, ...]:
    """In words, for each source that leaves any of these unknown: how many, and why."""
    counts = [
        (sum(holding.has(entity) is None for entity in left), holding.why) for holding in holdings
    ]
    return tuple(
        f"reach of {count} gold answer{'s' * (count != 1)} is unknown: {why}"
        for count, why in counts
        if count
    )
