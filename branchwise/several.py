"""`branchwise.run` and `branchwise run` of several question sets: a study of one system."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.tasks import gold_of
from branchwise.graphs.system import System
from branchwise.runs.costs.prices import limit_of, prices_of
from branchwise.runs.costs.spending import check_affordable
from branchwise.runs.options import PaceOptions, RunOptions, ScoreOptions
from branchwise.runs.runner import Observer
from branchwise.runs.store import RunReader
from branchwise.runs.studies.running import StudyDesign, StudyPace
from branchwise.runs.studies.sets import chosen_sets, refusals_name, set_names
from branchwise.runs.studies.several import design_of_sets
from branchwise.runs.studies.study import SET_NAME
from branchwise.runs.studies.systems import NamedSystem

_Set = str | Path | QuestionSet | Iterable[Mapping[str, Any] | Question]
SeveralSets = Sequence[_Set] | Mapping[str, _Set]


def several_sets(questions: Any) -> SeveralSets | None:
    """The sets, where these are a list of paths, of loaded sets or of lists of rows, or a mapping
    of them by name; None where they are one set, such as a list of rows. Raises InputError for a
    list of both, and for what cannot be a name."""
    if isinstance(questions, Mapping):
        for name in questions:
            if not isinstance(name, str) or not re.fullmatch(SET_NAME, name):
                remedy = "write letters, digits, - _ . and begin with a letter or digit"
                raise InputError(
                    f"{name!r:.60} cannot name a set", where="questions", remedy=remedy
                )
        return questions
    if not isinstance(questions, list | tuple) or isinstance(questions, QuestionSet):
        return None
    are_sets = [not isinstance(each, Mapping | Question) for each in questions]
    if any(are_sets) and not all(are_sets):
        problem = "some entries are sets and others are questions"
        raise InputError(problem, where="questions", remedy="give a list of one kind")
    return questions if any(are_sets) else None


def sets_design(
    questions: SeveralSets,
    system: System,
    of: RunOptions,
    scoring: ScoreOptions,
    out: Path,
    named: tuple[Mapping[str, str] | Sequence[str], str | None],
    ids: Collection[str] | None,
) -> StudyDesign:
    """A study of one system over these sets; `named`: fields and separator, for those of them that
    take any. Raises InputError, as `run` does."""
    if limit_of(out, of.max_cost) is not None:
        check_affordable(system, scoring.choice, of.priced)
    given = [*(questions.values() if isinstance(questions, Mapping) else questions)]
    texts = [
        each.source
        if isinstance(each, QuestionSet)
        else str(each)
        if isinstance(each, str | Path)
        else "rows"
        for each in given
    ]
    takes = [
        not isinstance(each, QuestionSet)
        and (not isinstance(each, str | Path) or QuestionSource.of(each).form.takes_fields)
        for each in given
    ]
    if any(named) and not any(takes):
        problem = "none of the sets has columns to be named"
        raise InputError(problem, where="--field", remedy="leave it out")
    names = [*questions] if isinstance(questions, Mapping) else set_names(texts)
    loaded = []
    for name, each, takes_any in zip(names, given, takes, strict=True):
        if isinstance(each, QuestionSet):
            loaded.append(replace(each, task=of.task or each.task))
            continue
        with refusals_name(f"set {name!r}"):
            source = QuestionSource.of(each, *(named if takes_any else ()))
            read = load_questions(source, gold_of=gold_of(of.task))
        loaded.append(replace(read, task=of.task or read.task))
    sets = chosen_sets(names, loaded, of.selection(ids, of.part), of.epochs)
    return design_of_sets(out.resolve().name, system, sets, scoring.choice)


def sets_pace(
    of: PaceOptions, folder: Path, *, pilot: int | None = None, retry_failed: bool = False
) -> StudyPace:
    """How a study is run by the options of a run, and by the limit and prices kept with it."""
    return StudyPace(
        of.concurrency,
        outages=of.outages,
        max_cost=limit_of(folder, of.max_cost),
        prices=of.priced if of.prices else prices_of(folder),
        retry_failed=retry_failed,
        pilot=pilot,
        on=of.place,
    )


class OneObserver:
    """A study's observer that tells one observer of a run of all its items."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def begins(self, system: NamedSystem, run: RunReader) -> Observer:
        return self._observer
