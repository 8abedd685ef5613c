"""A report of run folders: what `branchwise report RUNS...` shows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.corpora.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.reporting.study_report import StudyReport, SystemReport, study_report
from branchwise.eval.scoring import ScoredRun
from branchwise.eval.store import open_run

_PATHS = ("corpus", "kg")


def report_of_runs(runs: Sequence[tuple[str, ScoredRun]], title: str | None = None) -> StudyReport:
    """Runs under their names, the first being the base.

    A system's changes are the settings of its run that differ from the base's. `title` is by
    default the runs' names. Raises InputError for a name that comes twice, and as `study_report`
    does.
    """
    twice = [name for name, count in Counter(name for name, _ in runs).items() if count > 1]
    if twice:
        raise InputError("is named twice", where=twice[0], remedy="name each run once")
    settings: list[dict[str, Any]] = []
    questions: dict[str, Question] = {}
    sources: dict[str, None] = {}
    for _, run in runs:
        reader = open_run(run.path)
        try:
            settings.append(dict(_flat(reader.system)))
            sources[str(reader.meta.get("source", ""))] = None
            for question in reader.questions():
                questions.setdefault(question.id, question)
        finally:
            reader.close()
    systems = [
        SystemReport(name, run, _changes(settings[0], own))
        for (name, run), own in zip(runs, settings, strict=True)
    ]
    names = ", ".join(name for name, _ in runs)
    return study_report(title or names, systems, list(questions.values()), ", ".join(sources))


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings by their own names: groups (decoding, budget, roles) are left out."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, value


def _changes(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in {**base, **own} if own.get(name) != base.get(name)]
    # A missing path means that there is none; other missing settings mean the default.
    return {n: "none" if n in _PATHS and own.get(n) is None else own.get(n) for n in names}
