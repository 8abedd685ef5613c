"""Systems over several question sets: each set's own scores, and all of them together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from branchwise.base.errors import InputError
from branchwise.eval.comparison import Comparison
from branchwise.eval.joined_sets import JoinedSets, compare_joined, shared_columns
from branchwise.eval.tasks import Column
from branchwise.report.study_report import SystemReport, compare_with_bases


@dataclass(frozen=True)
class JoinedReport:
    """The systems that answered all of the `sets`, in the `metrics` that all sets share: none where
    they share none, or there is one. `bases`: what each is compared with."""

    sets: tuple[str, ...]
    metrics: tuple[Column, ...]
    systems: Mapping[str, JoinedSets]
    bases: Mapping[str, str]
    comparisons: Mapping[str, Comparison]

    @classmethod
    def of(cls, by_set: Mapping[str, Sequence[SystemReport]]) -> "JoinedReport":
        """Raises InputError where systems answered one set as different tasks."""
        by_set = {name: systems for name, systems in by_set.items() if name}
        if len(by_set) < 2:
            return cls(tuple(by_set), (), {}, {}, {})
        named = [{system.name: system for system in systems} for systems in by_set.values()]
        names = [name for name in named[0] if all(name in systems for systems in named)]
        for name, systems in by_set.items():
            tasks = dict.fromkeys(system.scores.scorer.task for system in systems)
            if len(tasks) > 1:
                problem = f"the set {name} is of the tasks {' and '.join(tasks)}"
                raise InputError(problem, remedy="report runs of one task of it")
        scored = [systems[name].scores for name in names for systems in named]
        metrics = shared_columns(scored) if scored else ()
        joined = {}
        for name in names if metrics else ():
            of_sets = zip(by_set, named, strict=True)
            own = {key: systems[name].scores for key, systems in of_sets}
            joined[name] = JoinedSets.of(own, metrics)
        bases = {name: named[0][name].base for name in joined}
        pairs = {
            name: (joined[base], joined[name])
            for name, base in bases.items()
            if base != name and base in joined
        }
        compared = compare_joined(pairs, metrics)
        for key, systems in by_set.items() if pairs else ():
            of_set = compare_with_bases(systems, metrics=(), subsets=())
            for name, known in compared.items():
                cautions = (f"{key}: {caution}" for caution in of_set[name].cautions)
                compared[name] = replace(known, cautions=(*known.cautions, *cautions))
        return cls(tuple(by_set), metrics, joined, bases, compared)

    def to_json(self) -> list[dict[str, Any]]:
        """An entry a system: what all sets have in common."""
        return [
            {
                "name": name,
                "sets": list(self.sets),
                "base": self.bases[name],
                "counts": dict(vars(system.scores.counts)),
                "aggregates": {
                    metric: value.to_json()
                    for metric, value in system.scores.aggregates["all"].items()
                },
                "means_of_sets": {c.key: system.mean_of_sets(c.key) for c in self.metrics},
                "comparison": self.comparisons[name].to_json()
                if name in self.comparisons
                else None,
            }
            for name, system in self.systems.items()
        ]
