"""How well retrievers rank the passages that questions need: nDCG, recall, MRR by ir_measures."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.process import Progress, silent
from branchwise.corpora.judgements import PassageGrades, grades_of
from branchwise.corpora.questions import Question
from branchwise.eval.bootstrap import Aggregate, aggregate

if TYPE_CHECKING:
    from branchwise.corpora.folder import Corpus
    from branchwise.corpora.retrieval import Retriever

DEFAULT_MEASURES = ("nDCG@10", "MRR@10", "recall@3", "recall@10", "recall@50")
"""3 passages are what an agent is given, 50 the most that it may ask for."""
_MOST = 1_000
_BATCH = 64
_NAMES = {
    "nDCG": "nDCG",
    "MRR": "RR",
    "recall": "R",
    "precision": "P",
    "MAP": "AP",
    "success": "Success",
}
"""Ours, as papers write them, to those of ir_measures."""


@dataclass(frozen=True)
class RankingMeasure:
    kind: str
    cutoff: int

    @classmethod
    def parse(cls, text: str) -> "RankingMeasure":
        """NAME@K, in any case. Raises InputError."""
        parts = re.fullmatch(r"([A-Za-z]+)@(\d{1,4})", text.strip())
        where = f"--measure {text}"
        if not parts or not 1 <= int(parts[2]) <= _MOST:
            problem = f"is not NAME@K with a K of 1 to {_MOST:,}"
            raise InputError(problem, where=where, remedy="write nDCG@10")
        kind = {kind.casefold(): kind for kind in _NAMES}.get(parts[1].casefold())
        if kind is None:
            near = did_you_mean(parts[1], _NAMES)
            raise InputError(f"unknown measure {parts[1]!r}", where=where, remedy=near)
        return cls(kind, int(parts[2]))

    def __str__(self) -> str:
        return f"{self.kind}@{self.cutoff}"


@dataclass(frozen=True)
class JudgedQuery:
    """A query and its judged passages, some of them relevant; `alternatives`: those of further gold
    sets. A score is the best over all."""

    id: str
    text: str
    grades: PassageGrades
    alternatives: tuple[PassageGrades, ...] = ()

    @property
    def judgements(self) -> tuple[PassageGrades, ...]:
        return (self.grades, *self.alternatives)

    @property
    def relevant(self) -> Set[str]:
        return {id for grades in self.judgements for id, grade in grades.items() if grade > 0}


@dataclass(frozen=True)
class RetrieverScores:
    """Scores of a retriever: by measure, one for each query in their order."""

    retriever: str
    values: Mapping[RankingMeasure, Sequence[float]]

    def means(self) -> dict[RankingMeasure, Aggregate]:
        means = aggregate({str(measure): values for measure, values in self.values.items()})
        return {measure: means[str(measure)] for measure in self.values}


@dataclass(frozen=True)
class RetrievalEvaluation:
    """What retrievers of a corpus scored. `unjudged`: questions without a relevant passage, left
    out. `missing`: of the `judged` passages, those that the corpus lacks; they are not found."""

    measures: tuple[RankingMeasure, ...]
    queries: tuple[JudgedQuery, ...]
    scores: tuple[RetrieverScores, ...]
    unjudged: int
    judged: int
    missing: int


def judged_queries(
    questions: Sequence[Question], judgements: Mapping[str, PassageGrades] | None = None
) -> list[JudgedQuery]:
    """The questions that have relevant passages: by judgements, or their own. Raises InputError
    where none has any."""
    queries = []
    for question in questions:
        grades = grades_of(question) if judgements is None else [judgements.get(question.id, {})]
        if relevant := [own for own in grades if any(grade > 0 for grade in own.values())]:
            first, *others = relevant
            queries.append(JudgedQuery(question.id, question.question, first, tuple(others)))
    if not queries and judgements is None:
        raise InputError("no question names a passage that supports it", remedy="add --qrels FILE")
    if not queries:
        raise InputError("judges no passage as relevant to any of the questions")
    return queries


def evaluate_retrievers(
    corpus: "Corpus",
    retrievers: Sequence["Retriever"],
    queries: Sequence[JudgedQuery],
    measures: Sequence[RankingMeasure],
    *,
    unjudged: int = 0,
    progress: Progress = silent,
) -> RetrievalEvaluation:
    """Search every query with every retriever, and score the rankings as they are. A query for
    which nothing is found scores 0. A passage with the id of the query itself is not part of its
    ranking, as in BEIR. Progress is in searches. Raises InputError where the corpus has none of the
    judged passages, and RetrieverError where a retriever does not answer."""
    judged = {id for query in queries for id in query.relevant}
    lacking = set(judged)
    for row in range(len(corpus)):
        lacking.discard(corpus.id(row))
        if not lacking:
            break
    if len(lacking) == len(judged):
        problem = "none of the passages that the questions name is in the corpus"
        remedy = "build it from the collection that they were judged on"
        raise InputError(problem, where=str(corpus.path), remedy=remedy)
    scores: list[RetrieverScores] = []
    searches = len(retrievers) * len(queries)
    for retriever in retrievers:
        rankings: dict[str, dict[str, float]] = {}
        depth = max(measure.cutoff for measure in measures)
        for start in range(0, len(queries), _BATCH):
            batch = queries[start : start + _BATCH]
            hits = retriever.search([query.text for query in batch], depth + 1)
            for query, own in zip(batch, hits, strict=True):
                ids = [hit.passage.id for hit in own if hit.passage.id != query.id][:depth]
                # By rank, so that nothing but the retriever orders those of equal scores.
                rankings[query.id] = {id: -float(rank) for rank, id in enumerate(ids)}
            progress(len(scores) * len(queries) + len(rankings), searches)
        values = _values(queries, rankings, measures)
        scores.append(RetrieverScores(retriever.name, values))
    return RetrievalEvaluation(
        tuple(measures), tuple(queries), tuple(scores), unjudged, len(judged), len(lacking)
    )


def _values(
    queries: Sequence[JudgedQuery],
    rankings: Mapping[str, Mapping[str, float]],
    measures: Sequence[RankingMeasure],
) -> dict[RankingMeasure, Sequence[float]]:
    """By measure, the value of each query: the best over its judgements."""
    import ir_measures

    theirs = {getattr(ir_measures, _NAMES[own.kind]) @ own.cutoff: own for own in measures}
    grades, judged = {}, {}
    for query in queries:
        for number, judgement in enumerate(query.judgements):
            key = f"{number} {query.id}"
            grades[key], judged[key] = dict(judgement), rankings[query.id]
    best: dict[RankingMeasure, dict[str, float]] = {measure: {} for measure in measures}
    for value in ir_measures.iter_calc([*theirs], grades, judged):
        by_id, id = best[theirs[value.measure]], value.query_id.partition(" ")[2]
        by_id[id] = max(by_id.get(id, 0.0), value.value)
    return {measure: [best[measure][query.id] for query in queries] for measure in measures}
