"""A report: systems beside each other, compared with the first, and their questions.

A single run is a report of one system.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from branchwise.corpora.questions import Question
from branchwise.eval.reporting.question_reports import (
    QuestionReport,
    SystemAnswer,
    analysed_answer,
    question_report,
)
from branchwise.eval.scores import Scores, all_columns, common_columns
from branchwise.eval.scoring import ScoredRun
from branchwise.eval.statistics import Comparison, compare_systems
from branchwise.eval.tasks import Column, Task, get_task


@dataclass(frozen=True)
class SystemReport:
    """A system's name, what it changes of the base (empty for the base itself), and its run."""

    name: str
    run: ScoredRun
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scores(self) -> Scores:
        """The scores that the report shows; those by names alone are `run.lexical`."""
        return self.run.scores


@dataclass(frozen=True)
class StudyReport:
    """Systems over the same questions, the base first; a single run has no comparisons.

    `comparisons`: system to its comparison with the base. `benchmark`: the published benchmark that
    the questions come from, where the question set says so.
    """

    title: str
    systems: tuple[SystemReport, ...]
    comparisons: Mapping[str, Comparison]
    questions: tuple[QuestionReport, ...]
    task: Task
    source: str
    version: str
    benchmark: str | None = None

    @property
    def base(self) -> SystemReport:
        """The system that the others are compared with."""
        return self.systems[0]

    @property
    def columns(self) -> list[Column]:
        """The metrics of any system: the task's, then those of plug-ins."""
        return all_columns([one.scores for one in self.systems])

    @property
    def further(self) -> list[Column]:
        """The plug-ins' metrics that every system has, so that they are compared."""
        return common_columns([one.scores for one in self.systems])

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable, all of it."""
        return {
            "title": self.title,
            "task": self.task.name,
            "source": self.source,
            "version": self.version,
            "benchmark": self.benchmark,
            "systems": [
                {"name": one.name, "changes": dict(one.changes), **one.run.to_json()}
                for one in self.systems
            ],
            "comparisons": {name: found.to_json() for name, found in self.comparisons.items()},
            "questions": [question.to_json() for question in self.questions],
        }


def study_report(
    title: str, systems: Sequence[SystemReport], questions: Sequence[Question], source: str
) -> StudyReport:
    """Compare the systems with the first of them and put their answers beside each question.

    Raises InputError where they were scored as different tasks, or answered different questions
    under one id.
    """
    base, *others = systems
    compared = compare_systems(base.scores, {one.name: one.scores for one in others})
    answers: dict[str, list[SystemAnswer]] = {}
    for one in systems:
        for id, answer in _answers(one):
            answers.setdefault(id, []).append(answer)
    benchmarks = {question.meta.get("benchmark") for question in questions}
    benchmark = benchmarks.pop() if len(benchmarks) == 1 else None
    return StudyReport(
        title,
        tuple(systems),
        compared,
        tuple(question_report(one, answers.get(one.id, ())) for one in questions),
        get_task(base.scores.scorer.task),
        source,
        version("branchwise"),
        benchmark if isinstance(benchmark, str) else None,
    )


def _answers(system: SystemReport) -> list[tuple[str, SystemAnswer]]:
    """Question id and answer, for each item of the system's run that was analysed."""
    analysis = system.run.analysis
    if analysis is None:
        return []
    pairs = zip(analysis.items, analysis.item_errors, strict=True)
    return [
        (traced.item.question.id, analysed_answer(system.name, traced, errors))
        for traced, errors in pairs
    ]
