"""Several question sets scored together: the metrics that they share, over all their questions.

docs/statistics.md says what is computed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from branchwise.eval.comparison import Comparison, compare_each
from branchwise.eval.scores import Counts, Scores, aggregates_by_subset
from branchwise.eval.tasks import Column, totals_of


def shared_columns(scored: Sequence[Scores]) -> tuple[Column, ...]:
    """The headline metrics, and those of plug-ins, that all of several scores have in the same
    sense: a key alone may mean another score in another task."""
    own = {column.key for column in scored[0].scorer.scored_task.columns}
    every = [set(scores.scorer.columns) for scores in scored]
    return tuple(
        column
        for column in scored[0].scorer.columns
        if (column.role or column.key not in own) and all(column in held for held in every)
    )


@dataclass(frozen=True)
class JoinedSets:
    """One system's scores by set, and `scores` of all questions of these sets as of one, in the
    metrics that are shared."""

    by_set: Mapping[str, Scores]
    scores: Scores

    @classmethod
    def of(cls, by_set: Mapping[str, Scores], metrics: Iterable[Column]) -> "JoinedSets":
        every = [*by_set.values()]
        items = tuple(
            replace(item, id=f"{name}:{item.id}", set=name)
            for name, scores in by_set.items()
            for item in scores.items
        )
        counts = zip(*(vars(scores.counts).values() for scores in every), strict=True)
        columns = [*metrics]
        keys = [column.key for column in columns]
        aggregates = aggregates_by_subset(items, keys, totals_of(columns))
        return cls(by_set, Scores(every[0].scorer, Counts(*map(sum, counts)), aggregates, items))

    def mean_of_sets(self, metric: str) -> float | None:
        """The mean of the sets' own scores, each counted once; None where a set has none."""
        means = [scores.mean(metric, "all").mean for scores in self.by_set.values()]
        known = [mean for mean in means if mean is not None]
        return sum(known) / len(known) if len(known) == len(means) else None


def compare_joined(
    pairs: Mapping[str, tuple[JoinedSets, JoinedSets]], metrics: Iterable[Column]
) -> dict[str, Comparison]:
    """Systems with their bases over all questions, as `compare_each`; a question is paired with
    itself, so that tests never mix sets, and intervals are stratified by set."""
    scores = {name: (base.scores, other.scores) for name, (base, other) in pairs.items()}
    keys = [column.key for column in metrics]
    return compare_each(scores, metrics=keys, subsets=("all",))
