"""A report: systems beside each other, compared with their bases, and their questions.

A single run is a report of one system.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

from branchwise.base.text import listed
from branchwise.corpora.questions import Question
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.branch_scores import align_answers, branch_matches, gold_branches
from branchwise.eval.comparison import Comparison, compare_each
from branchwise.eval.effects import Cell, Effect, effects, is_factorial
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.labels import ErrorClasses
from branchwise.eval.errors.module_work import inert_cautions
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import SUBSETS, Scores, all_columns, common_columns, told_subsets
from branchwise.eval.tasks import Column, Metrics, Task
from branchwise.eval.tasks.task import capital
from branchwise.report.published import Published, benchmark_of, published_beside
from branchwise.runs.scoring.scored import Analysis, ScoredAnswers
from branchwise.runs.studies.study import MODEL

Branches = Mapping[str, tuple[str, ...]]
"""Branch name to its texts."""


@dataclass(frozen=True)
class SystemAnswer:
    """What a system answered in one epoch. `aligned`: predicted branch to the gold one that it
    stands for; `right`: to its right texts; `errors`: None where answers are sentences."""

    system: str
    epoch: int
    answers: Branches
    aligned: Mapping[str, str | None]
    right: Branches
    metrics: Metrics
    errors: ItemErrors | None = None
    error: str | None = None
    gold_set: int | None = None

    def to_json(self) -> dict[str, Any]:
        errors = self.errors.to_json() if self.errors else None
        mappings = ("answers", "aligned", "right", "metrics")
        record = vars(self) | {name: dict(getattr(self, name)) for name in mappings}
        record["errors"] = errors
        if self.gold_set is None:
            del record["gold_set"]
        return record


@dataclass(frozen=True)
class QuestionReport:
    """A question, its gold branches and `alternatives` (further gold sets, from 1 on in
    `SystemAnswer.gold_set`), and the answers, in the systems' order."""

    id: str
    question: str
    ambiguous: bool
    gold: Branches
    meta: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[SystemAnswer, ...] = ()
    alternatives: tuple[Branches, ...] = ()

    def to_json(self) -> dict[str, Any]:
        gold, *alternatives = (
            {name: list(texts) for name, texts in branches.items()}
            for branches in (self.gold, *self.alternatives)
        )
        record = {
            **vars(self),
            "gold": gold,
            "meta": dict(self.meta),
            "answers": [answer.to_json() for answer in self.answers],
            "alternatives": alternatives,
        }
        if not alternatives:
            del record["alternatives"]
        return record


def question_report(question: Question, answers: Sequence[SystemAnswer]) -> QuestionReport:
    gold, *alternatives = (
        {branch.name: tuple(answer.text for answer in branch.answers) for branch in branches}
        for branches in question.gold_sets
    )
    own = question.id, question.question, question.ambiguous
    return QuestionReport(*own, gold, question.meta, tuple(answers), tuple(alternatives))


def analysed_answer(
    system: str, item: AnsweredItem, metrics: Metrics, errors: ItemErrors
) -> SystemAnswer:
    """The answer of an item whose trace was analysed."""
    gold = gold_branches(item.question.branches)
    answers = {} if item.error else item.prediction.answers
    alignment = item.matched.alignment if item.matched else align_answers(gold, answers)
    right: dict[str, tuple[str, ...]] = {}
    for match in branch_matches(gold, answers, alignment).right:
        right[match.branch] = (*right.get(match.branch, ()), match.text)
    aligned = {
        name: None if (index := alignment[name]) is None else gold.names[index] for name in answers
    }
    return SystemAnswer(
        system, item.epoch, answers, aligned, right, metrics, errors, item.error, item.gold_set
    )


@dataclass(frozen=True)
class SystemReport:
    """A system, its run, and its `changes` of its `base` (a base's own name; by default the
    first). `model`: its agent's, in short; `setting`: its changes in words, the model aside; `set`:
    of several question sets the one of the run, among whose systems its name is. `levels`: of a
    study, the factors that it changes, each change in words."""

    name: str
    run: ScoredAnswers
    changes: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    setting: str = ""
    base: str = ""
    set: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)

    @property
    def scores(self) -> Scores:
        """The scores that the report shows; those by names alone are `run.lexical`."""
        return self.run.scores

    def mean(self, metric: str, subset: str) -> Aggregate:
        """A mean of the system; empty (n = 0) if it was not scored with the metric."""
        return self.scores.mean(metric, subset)

    def by_matcher(self) -> "list[SystemReport]":
        """The system itself, or one per matcher if both were used, the analysed one last."""
        if self.run.lexical is None:
            return [self]
        by_names = replace(self.run, scores=self.run.lexical, lexical=None, analysis=None)
        runs = {"lexical": by_names, "llm": replace(self.run, lexical=None)}
        return [replace(self, name=f"{self.name} · {key}", run=run) for key, run in runs.items()]


@dataclass(frozen=True)
class StudyReport:
    """Systems over the same questions, a base before what changes it; `comparisons`: of each
    with its base. `benchmark`: what the questions say that they are of; `published`: what stands
    beside their scores. `by`: what these are broken down by, with tests between systems."""

    title: str
    systems: tuple[SystemReport, ...]
    comparisons: Mapping[str, Comparison]
    questions: tuple[QuestionReport, ...]
    task: Task
    source: str
    version: str
    benchmark: str | None = None
    published: Published | None = None
    by: tuple[str, ...] = ()

    @classmethod
    def beside(cls, systems: Sequence[SystemReport]) -> "StudyReport":
        """Systems of one task beside each other, neither compared nor with their questions."""
        task = systems[0].scores.scorer.scored_task
        return cls("", _with_bases(systems), {}, (), task, "", version("branchwise"))

    @classmethod
    def by_task(cls, systems: Sequence[SystemReport]) -> "list[StudyReport]":
        """One for each task of the systems, these beside each other."""
        tasks = dict.fromkeys(system.scores.scorer.task for system in systems)
        return [cls.beside([s for s in systems if s.scores.scorer.task == task]) for task in tasks]

    def by_matcher(self) -> "StudyReport":
        """With two systems for each that both matchers aligned, the model's alignment last."""
        systems = [s for system in self.systems for s in system.by_matcher()]
        return replace(self, systems=tuple(systems))

    def with_evidence(self) -> "StudyReport | None":
        """With the systems that recorded what they retrieved; None where none did."""
        kept = tuple(
            system
            for system in self.systems
            if system.run.analysis
            and system.run.analysis.ceilings.aggregates["all"]["ceiling_retrieved"].n
        )
        return replace(self, systems=kept) if kept else None

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """Of the factors of a factorial study on the metrics that are means, those of each model
        apart unless it is a factor; none where no system combines changes."""
        is_apart = not any(MODEL in system.levels for system in self.systems)
        is_apart &= len({system.model for system in self.systems}) > 1
        groups: dict[str, list[Cell]] = {}
        for system in self.systems:
            own = Cell(system.levels, system.scores)
            groups.setdefault(system.model if is_apart else "", []).append(own)
        groups = {group: cells for group, cells in groups.items() if is_factorial(cells)}
        metrics = [metric.key for metric in self.compared if not metric.total]
        return effects(groups, metrics, self.subsets)

    @property
    def source_names(self) -> str:
        """The question sets, without the folders of a machine in which they lie."""
        return re.sub(r"(?<![^:\s])/(?:[^/,]+/)*", "", self.source)

    @property
    def bases(self) -> tuple[SystemReport, ...]:
        """The systems that others are compared with: one of each model, or the first alone."""
        return tuple(system for system in self.systems if system.base == system.name)

    @property
    def base_words(self) -> str:
        """The base's name, or whose it is where each model has one."""
        return self.bases[0].name if len(self.bases) == 1 else "the base of the same model"

    def base_of(self, system: SystemReport) -> SystemReport:
        """The system that one is compared with; itself for a base."""
        return next(base for base in self.systems if base.name == system.base)

    @property
    def metric_failures(self) -> tuple[str, ...]:
        """A line for each system's metrics that failed: their means are of the items left."""
        return tuple(
            f"{system.name}: {line}." if len(self.systems) > 1 else f"{line}."
            for system in self.systems
            for line in system.scores.failures.lines
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.metric_failures + tuple(
            f"{name}: {caution}."
            for name, comparison in self.comparisons.items()
            for caution in comparison.cautions
        )

    @property
    def columns(self) -> list[Column]:
        """The metrics of any system: the task's, then those of plug-ins."""
        return all_columns([system.scores for system in self.systems])

    @property
    def compared(self) -> tuple[Column, ...]:
        """The task's headline metrics, then those of plug-ins that every system has."""
        return (*self.task.headline, *common_columns([system.scores for system in self.systems]))

    @cached_property
    def alike(self) -> tuple[tuple[Column, ...], ...]:
        """What systems are compared by, metrics that are equal in every item of all together: of
        questions with one answer precision, recall and exact match are."""
        groups: dict[object, list[Column]] = {}
        items = [item for system in self.systems for item in system.scores.items]
        for metric in self.compared:
            values = tuple(item.metrics.get(metric.key) for item in items)
            groups.setdefault(metric.key if metric.total else values, []).append(metric)
        return tuple(map(tuple, groups.values()))

    @property
    def alike_notes(self) -> tuple[str, ...]:
        """ "Strict P, strict R and strict EM are the same for every question here." """
        titles = ([metric.title for metric in own] for own in self.alike if len(own) > 1)
        return tuple(f"{capital(listed(own))} are the same for every question." for own in titles)

    @property
    def subsets(self) -> tuple[str, ...]:
        """The subsets that any system has questions of, the main one first."""
        return told_subsets(
            lambda subset: any(system.scores.questions(subset) for system in self.systems)
        )

    def called(self, subset: str) -> str:
        return self.task.subset_words[subset]

    @property
    def parts(self) -> tuple[str, ...]:
        """The subsets that share no question."""
        return tuple(subset for subset in self.subsets if subset != "all") or ("all",)

    @property
    def analysed(self) -> list[tuple[int, str, Analysis]]:
        """Number, name and analysis of the systems whose traces were analysed."""
        numbered = enumerate(self.systems)
        return [(n, s.name, s.run.analysis) for n, s in numbered if s.run.analysis]

    @property
    def examined(self) -> list[tuple[str, ScoredAnswers]]:
        """Name and run of the systems whose items were examined for errors."""
        return [(system.name, system.run) for system in self.systems if system.run.error_classes]

    @property
    def error_classes(self) -> ErrorClasses[Any] | None:
        """The classes of their errors; None where there are no such systems."""
        return next((run.error_classes for _, run in self.examined), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "task": self.task.name,
            "source": self.source,
            "version": self.version,
            "benchmark": self.benchmark,
            "systems": [
                {
                    "name": system.name,
                    "model": system.model,
                    "setting": system.setting,
                    "base": system.base,
                    "changes": dict(system.changes),
                    **system.run.to_json(),
                }
                for system in self.systems
            ],
            "comparisons": {
                name: comparison.to_json() for name, comparison in self.comparisons.items()
            },
            "effects": [effect.to_json() for effect in self.effects],
            "questions": [question.to_json() for question in self.questions],
        }


def study_report(
    title: str, systems: Sequence[SystemReport], questions: Sequence[Question], source: str
) -> StudyReport:
    """Compare systems with their bases and put their answers beside each question. Raises
    InputError where tasks differ, or questions under one id."""
    systems = _with_bases(systems)
    compared = compare_with_bases(systems)
    answers: dict[str, list[SystemAnswer]] = {}
    for system in systems:
        for id, answer in _answers(system):
            answers.setdefault(id, []).append(answer)
    return StudyReport(
        title,
        systems,
        compared,
        tuple(question_report(question, answers.get(question.id, ())) for question in questions),
        systems[0].scores.scorer.scored_task,
        source,
        version("branchwise"),
        benchmark_of(questions),
        published_beside(questions),
    )


def compare_with_bases(
    systems: Sequence[SystemReport],
    *,
    metrics: Sequence[str] | None = None,
    subsets: Sequence[str] = SUBSETS,
) -> dict[str, Comparison]:
    """By name each system that has a base compared with it, as in `compare_each`. Its cautions
    begin with what did nothing in either: no difference is the work of that."""
    by_name = {system.name: system for system in systems}
    pairs = {
        system.name: (by_name[system.base], system)
        for system in systems
        if system.base != system.name
    }
    scores = {name: (base.scores, other.scores) for name, (base, other) in pairs.items()}
    compared = compare_each(scores, metrics=metrics, subsets=subsets)
    for name, (base, other) in pairs.items():
        inert = inert_cautions(base.run.inert, other.run.inert, base.name)
        compared[name] = replace(compared[name], cautions=(*inert, *compared[name].cautions))
    return {name: compared[name] for name in pairs}


def _with_bases(systems: Sequence[SystemReport]) -> tuple[SystemReport, ...]:
    """The systems, those whose base is not among them compared with the first."""
    names = {system.name for system in systems}
    first = systems[0].name
    return tuple(
        system if system.base in names else replace(system, base=first) for system in systems
    )


def _answers(system: SystemReport) -> Iterator[tuple[str, SystemAnswer]]:
    """Question id and answer, for each item of the system's run that was analysed."""
    if analysis := system.run.analysis:
        metrics = {(row.id, row.epoch): row.metrics for row in analysis.rows}
        for item, errors in zip(analysis.answered, analysis.item_errors, strict=True):
            id = item.question.id
            yield id, analysed_answer(system.name, item, metrics[id, item.epoch], errors)
