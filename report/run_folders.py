"""A report of run folders: what `branchwise report RUNS...` shows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.report.published import benchmark_of
from branchwise.report.study_report import StudyReport, SystemReport, study_report
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.store import open_run
from branchwise.runs.store.reader import QuestionMark
from branchwise.runs.studies.folder import NamedRun, SystemRecord
from branchwise.runs.studies.names import model_names, setting_name, system_name
from branchwise.runs.studies.study import written_settings

_PATHS = ("corpus", "kg", "reranker")


def report_of_runs(
    runs: Sequence[tuple[str, ScoredAnswers]],
    title: str | None = None,
    records: Sequence[SystemRecord] = (),
) -> StudyReport:
    """Runs as `systems_of_runs` has them, with their questions; `title`: by default their names.
    Raises InputError as that and `study_report` do."""
    systems = systems_of_runs(runs, records)
    questions: dict[str, Question] = {}
    sources: dict[str, None] = {}
    for _, run in runs:
        with closing(open_run(run.path)) as reader:
            sources[str(reader.meta.get("source", ""))] = None
            for question in reader.questions():
                questions.setdefault(question.id, question)
    names = ", ".join(name for name, _ in runs)
    return study_report(title or names, systems, list(questions.values()), ", ".join(sources))


def reports_of_tasks(
    runs: Sequence[tuple[str, ScoredAnswers]], records: Sequence[SystemRecord] = ()
) -> list[StudyReport]:
    """A report a task and benchmark of the runs, called by them. Raises as `report_of_runs`."""
    groups: dict[str, list[tuple[str, ScoredAnswers]]] = {}
    for name, run in runs:
        task, benchmark = run.scores.scorer.task, benchmark_of(marks_of([(name, run)]))
        title = task if benchmark in (None, task) else f"{benchmark}: {task}"
        groups.setdefault(title, []).append((name, run))
    return [report_of_runs(own, title, records) for title, own in groups.items()]


def systems_by_set(
    runs: Sequence[tuple[NamedRun, ScoredAnswers]], records: Sequence[SystemRecord] = ()
) -> dict[str, list[SystemReport]]:
    """The systems of each set, as `systems_of_runs` has them; the set is empty for a single one."""
    systems: dict[str, list[SystemReport]] = {}
    for name in dict.fromkeys(named.set for named, _ in runs):
        own = [(named.name, run) for named, run in runs if named.set == name]
        of_set = [record for record in records if name in ("", record.set)]
        made = systems_of_runs(own, of_set)
        systems[name] = [replace(system, set=name) for system in made]
    return systems


def systems_of_runs(
    runs: Sequence[tuple[str, ScoredAnswers]], records: Sequence[SystemRecord] = ()
) -> list[SystemReport]:
    """Runs under their names: those of a study with the bases of its `records`, else compared
    with the first. Raises InputError for a name that comes twice."""
    twice = [name for name, count in Counter(name for name, _ in runs).items() if count > 1]
    if twice:
        raise InputError("is named twice", where=twice[0], remedy="name each run once")
    settings: dict[str, Mapping[str, Any]] = {}
    for name, run in runs:
        with closing(open_run(run.path)) as reader:
            settings[name] = reader.system
    # Outside a study: the model of each system, and in what its rest differs from the first's.
    specs = {name: str(system.get("model", "")) for name, system in settings.items()}
    unique = list(dict.fromkeys(specs.values()))
    models = dict(zip(unique, model_names(unique), strict=True))
    words = {name: written_settings(system) for name, system in settings.items()}
    first = runs[0][0]
    known = {record.name: record for record in records}
    levels = factor_levels(records)
    systems = []
    for name, run in runs:
        model, setting = models[specs[name]], setting_name(words[first], words[name])
        base = first
        if record := known.get(name):
            model, setting = record.model, record.setting
            base = record.base if record.base in settings else first
        changes = _changes(dict(flat_settings(settings[base])), dict(flat_settings(settings[name])))
        own = levels.get(name, {})
        made = SystemReport(name, run, changes, model, setting, base, levels=own)
        systems.append(made)
    return systems


def factor_levels(records: Sequence[SystemRecord]) -> dict[str, dict[str, str]]:
    """By system the factors that it changes, each level under the name of the system that changes
    nothing else (of several models: its setting), or the name that such a system would have."""
    bases = {record.name: record for record in records if not record.changes}
    base = written_settings(next(iter(bases.values())).system) if bases else {}
    values: dict[str, list[Any]] = {}
    words: dict[tuple[str, str], str] = {}
    for record in records:
        for key, value in record.changes.items():
            levels = values.setdefault(key, [base[key]] if key in base else [])
            if value not in levels:
                levels.append(value)
            if [*record.changes] == [key]:
                words[key, repr(value)] = record.setting if len(bases) > 1 else record.name

    def named(key: str, value: Any) -> str:
        return words.get((key, repr(value))) or system_name({key: value}, base, values)

    return {
        record.name: {key: named(key, value) for key, value in record.changes.items()}
        for record in records
    }


def marks_of(runs: Sequence[tuple[str, ScoredAnswers]]) -> list[QuestionMark]:
    """What all questions of all runs say of themselves."""
    marks: list[QuestionMark] = []
    for _, run in runs:
        with closing(open_run(run.path)) as reader:
            marks += reader.question_marks()
    return marks


def flat_settings(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings by their own names: groups (decoding, budget, roles) are left out."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat_settings(value)
        else:
            yield name, value


def _changes(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in {**base, **own} if own.get(name) != base.get(name)]
    # A missing path means that there is none; other missing settings mean the default.
    return {n: "none" if n in _PATHS and own.get(n) is None else own.get(n) for n in names}
