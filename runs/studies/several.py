"""Studies without a file: one system over several sets, and a study continued from its folder."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from branchwise.base.keys import Keys
from branchwise.corpora.open import absolute_name
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import get_task
from branchwise.eval.tasks.registry import check_questions, flow_of
from branchwise.graphs.sources import tools_of
from branchwise.graphs.system import MODULES, System
from branchwise.runs.continuing import check_not_moved, continued_system, with_absolute_paths
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import DRAFT_FILE, STUDY_FILE, StudyFolder
from branchwise.runs.studies.names import BASE, model_names
from branchwise.runs.studies.running import StudyDesign
from branchwise.runs.studies.sets import BETWEEN, StudySet, refusals_name
from branchwise.runs.studies.systems import NamedSystem


def is_study(path: Path) -> bool:
    """Whether a folder is a study's, whole or not."""
    return (path / STUDY_FILE).is_file() or (path / DRAFT_FILE).is_file()


def design_of_sets(
    name: str, system: System, sets: Sequence[StudySet], scoring: ScoringChoice
) -> StudyDesign:
    """One system that answers several sets. Raises InputError for questions that do not fit it."""
    for asked in sets:
        task, questions = get_task(asked.questions.task), asked.questions
        with refusals_name(f"set {asked.name!r}"):
            flow_of(task, system)
            has_tools, source = bool(tools_of(system)), questions.source
            check_questions(task, system, questions, has_tools=has_tools, source=source)
    system = with_absolute_paths(system)
    [model] = model_names([system.model])
    named = NamedSystem(BASE, BASE, system, {}, model, BASE, BASE)
    return StudyDesign(name, (named,), tuple(sets), scoring)


def continued_design(
    path: Path, moved: Mapping[str, Path | str | None], keys: Keys, headers: Mapping[str, str]
) -> StudyDesign:
    """A study as its folder has it, to go on; `moved`: where parts and models of its systems are
    now, by option. Raises InputError where a run is missing, or what it needs."""
    folder = StudyFolder.open(path)
    record = folder.record
    paths = {option: str(given) if given else None for option, given in moved.items()}
    roles = {role: paths.pop(role) for role in MODULES}
    if retriever := paths["retriever"]:
        paths["retriever"] = absolute_name(retriever)
    sent = [f"{name}={value}" for name, value in headers.items()]
    sets: dict[str, StudySet] = {}
    systems: dict[str, NamedSystem] = {}
    scoring: dict[str, Any] = {}
    for each in record.systems:
        run = folder.run_path(each.slug)
        with closing(open_run(run)) as reader:
            meta = reader.meta
            scoring = meta.get("scoring") or {}
            if each.set not in sets:
                of, questions = record.set_of(each), tuple(reader.questions())
                asked = QuestionSet(of.source, reader.task, questions, of.questions_digest)
                sets[each.set] = StudySet(each.set, asked, of.epochs)
        if each.name not in systems:
            check_not_moved(f"branchwise resume {path}", meta["system"], paths)
            system = continued_system(run, meta["system"], paths, roles, keys, sent)
            slug = each.slug.rpartition(BETWEEN)[2]
            changes, of_model = dict(each.changes), (each.model, each.setting, each.base)
            systems[each.name] = NamedSystem(each.name, slug, system, changes, *of_model)
    choice = ScoringChoice(**scoring)
    return StudyDesign(record.name, (*systems.values(),), (*sets.values(),), choice, record.study)
