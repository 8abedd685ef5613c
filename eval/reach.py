"""Reach: which gold answers the tools of a run could have given.

An answer is within reach if a source that a tool asks has it. The corpus has it where a passage
that supports it is there, or, where gold names no support, where a passage mentions it. The graph
has it where its Wikidata id is in it. Both are upper bounds: that it is there does not say that a
search or a query finds it. What was not or cannot be looked up is unknown, not out of reach.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from branchwise.base.process import Progress, silent
from branchwise.corpora.questions import Question
from branchwise.eval.branch_scores import GoldPair
from branchwise.eval.items import GoldKey
from branchwise.eval.sources import Holding, Sources, corpus_holding, kg_holding, wanted_pairs

QUICKLY = 60.0
"""Seconds that a corpus may be read for mentions without being told to."""
_VERSION = 2  # changes when the same sources and questions may give another reach


@dataclass(frozen=True)
class Reach:
    """For each question (by id) and gold pair: within reach, not, or unknown (None). `within` is of
    the branches, `alternatives` of further gold sets, by their numbers from 1. `unknown`: why, one
    line a reason. `final`: False where a source could not be read now but may be later; such a
    result is not to be kept. `of_corpus`: whether a corpus is among the sources. `passages`: of
    pairs that a corpus has, the id of one that supports or mentions it."""

    within: Mapping[str, Mapping[GoldPair, bool | None]]
    unknown: tuple[str, ...] = ()
    final: bool = True
    alternatives: Mapping[GoldKey, Mapping[GoldPair, bool | None]] = field(default_factory=dict)
    of_corpus: bool = False
    passages: Mapping[GoldKey, Mapping[GoldPair, str]] = field(default_factory=dict)

    def of(self, gold: GoldKey, pair: GoldPair) -> bool | None:
        """Whether a pair of a gold set is within reach; None where that is unknown."""
        question, number = gold
        pairs = self.alternatives.get(gold) if number else self.within.get(question)
        return (pairs or {}).get(pair)

    def to_json(self) -> dict[str, Any]:
        """By question id a list of [branch, entity, true, false or null]; of alternatives, where
        there are any, [question id, number of the gold set, such a list]."""
        further = [[*gold, _listed(pairs)] for gold, pairs in self.alternatives.items()]
        return {
            "within": {question: _listed(pairs) for question, pairs in self.within.items()},
            **({"alternatives": further} if further else {}),
            "unknown": list(self.unknown),
            "final": self.final,
            "of_corpus": self.of_corpus,
            "passages": [[*gold, _listed(pairs)] for gold, pairs in self.passages.items()],
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Reach":
        within = {question: _pairs(listed) for question, listed in kept["within"].items()}
        further = {(id, n): _pairs(listed) for id, n, listed in kept.get("alternatives", ())}
        passages = {(id, n): _pairs(listed) for id, n, listed in kept["passages"]}
        unknown, final, of_corpus = tuple(kept["unknown"]), kept["final"], kept["of_corpus"]
        return cls(within, unknown, final, further, of_corpus, passages)


_Listed = Sequence[Sequence[Any]]


def _listed(pairs: Mapping[GoldPair, Any]) -> _Listed:
    return [[*pair, value] for pair, value in pairs.items()]


def _pairs(listed: _Listed) -> dict[GoldPair, Any]:
    return {GoldPair(branch, entity): value for branch, entity, value in listed}


def find_reach(
    questions: Iterable[Question],
    sources: Sources,
    *,
    seconds: float = 0.0,
    progress: Progress = silent,
) -> Reach:
    """Look up what the sources of a run have of the gold answers. Time grows with the corpus,
    memory with what is looked for. `seconds`: how long every passage may be searched for mentions
    of answers without support; what would take longer is left. Progress is in passages. A source
    that is gone is unknown, no error."""
    wanted = wanted_pairs(questions)
    entities = [entity for pairs in wanted.values() for entity in pairs.values()]
    holdings = [
        Holding(why=f"what the tool {name} could give is not known") for name in sources.others
    ]
    if corpus := sources.corpus:
        holdings.append(corpus_holding(corpus, entities, seconds=seconds, progress=progress))
    if sources.kg:
        holdings.append(kg_holding(sources.kg, entities))
    within: dict[GoldKey, dict[GoldPair, bool | None]] = {gold: {} for gold in wanted}
    passages: dict[GoldKey, dict[GoldPair, str]] = defaultdict(dict)
    unknown = [0] * len(holdings)
    for gold, pair, entity in ((g, p, e) for g, pairs in wanted.items() for p, e in pairs.items()):
        answers = [holding.has(entity) for holding in holdings]
        # True where any source has it, else unknown where any source is unknown.
        within[gold][pair] = True if True in answers else None if None in answers else False
        if within[gold][pair] is None:
            unknown = [n + (has is None) for n, has in zip(unknown, answers, strict=True)]
        if id := next(filter(None, (holding.passage(entity) for holding in holdings)), None):
            passages[gold][pair] = id
    return Reach(
        {id: pairs for (id, number), pairs in within.items() if not number},
        tuple(
            f"reach of {count} gold answer{'s' * (count != 1)} is unknown: {holding.why}"
            for count, holding in zip(unknown, holdings, strict=True)
            if count
        ),
        all(holding.final for holding in holdings),
        {gold: pairs for gold, pairs in within.items() if gold[1]},
        sources.corpus is not None,
        dict(passages),
    )


def reach_key(questions: Iterable[Question], sources: Sources, *, seconds: float = 0.0) -> str:
    """What a reach is kept under: 16 hexadecimal digits of a SHA-256 of all it depends on: digests
    of corpus and graph, the tools, and what is looked for; no paths."""
    import orjson

    looked_for = {"id", "branches", "alternatives"}
    begun = orjson.dumps([_VERSION, sources.identity(), []])
    digest = hashlib.sha256(begun.removesuffix(b"]]"))
    # As JSON of all of it would be, which would take more memory than the run.
    comma = b""
    for question in questions:
        gold = question.model_dump(include=looked_for)
        digest.update(comma + orjson.dumps(gold, option=orjson.OPT_SORT_KEYS))
        comma = b","
    digest.update(b"]]")
    return digest.hexdigest()[:16]
