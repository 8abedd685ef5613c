"""What the systems of a study share: questions, one retriever per index, one graph per folder."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError, SettingError
from branchwise.base.files import read_lines
from branchwise.base.keys import Keys
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.open import is_plugin_retriever
from branchwise.corpora.questions import QuestionSet
from branchwise.corpora.rows import OPTION
from branchwise.eval.tasks import Task, get_task, gold_of, is_graded
from branchwise.eval.tasks.registry import check_questions, flow_of
from branchwise.graphs.sources import retriever_of, tools_of
from branchwise.graphs.system import System
from branchwise.kg.answers import Graph
from branchwise.kg.open import is_address, open_kg
from branchwise.runs.store.recordings import open_recordings
from branchwise.runs.studies.checks import KEYS, absolute, question_source
from branchwise.runs.studies.schema import LoadedStudy
from branchwise.runs.studies.study import WORDS
from branchwise.runs.studies.systems import NamedSystem
from branchwise.tools.batcher import Batcher

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


class SharedSources:
    """Retrievers and graphs, each opened once however many systems name it."""

    def __init__(self) -> None:
        self._retrievers: dict[tuple[str | None, str | None, str | None, str], Batcher | None] = {}
        self._kgs: dict[str, Graph] = {}

    def retriever(self, system: System) -> Batcher | None:
        """What the system searches, asked by all that share it in common batches."""
        plugged = is_plugin_retriever(system.retriever)
        settings = system.model_dump_json(include={"settings"}) if plugged else ""
        settings += str(sorted(system.keys.items())) + str(sorted(system.headers.items()))
        key = (_place(system.corpus), system.retriever, _place(system.reranker), settings)
        if key not in self._retrievers:
            retriever = retriever_of(system)
            self._retrievers[key] = Batcher(retriever) if retriever else None
        return self._retrievers[key]

    def kg(self, system: System) -> Graph | None:
        if system.kg is None:
            return None
        keys, key = Keys(system.keys), str(_place(system.kg))
        if is_address(system.kg):
            key = f"{system.kg} {keys.variable(system.kg)}"
        if key not in self._kgs:
            self._kgs[key] = open_kg(system.kg, keys)
        return self._kgs[key]

    def close(self) -> None:
        """Let go of the graphs' processes. Safe to call twice."""
        for kg in self._kgs.values():
            kg.close()


def make_agents(
    systems: Sequence[NamedSystem], task: Task, restraints: Restraints, shared: SharedSources
) -> list["Agent"]:
    """The agents of all systems, in order; InputError where one cannot start, by its name."""
    agents = []
    for named in systems:
        try:
            agents.append(open_agent(named.system, task, restraints, shared))
        except InputError as error:
            problem = f"system {named.name!r}: {error.what}"
            raise InputError(problem, where=error.where, remedy=error.remedy) from None
    return agents


def open_agent(
    system: System, task: Task, restraints: Restraints, shared: SharedSources
) -> "Agent":
    """The agent of one of several systems. Raises InputError where it cannot start."""
    from branchwise.graphs.agent import Agent

    return Agent(
        system,
        flow_of(task, system),
        retriever=shared.retriever(system),
        kg=shared.kg(system),
        restraints=restraints,
        recordings=open_recordings,
    )


def _place(folder: str | None) -> str | None:
    return None if folder is None else str(Path(folder).resolve())


def questions_of(loaded: LoadedStudy) -> QuestionSet:
    """The study's chosen questions. Raises InputError with the line of a file."""
    asked = loaded.study.questions
    source, file = question_source(asked.source, loaded.folder)
    try:
        task = None if asked.task is None else get_task(asked.task).name
    except InputError as error:
        where = loaded.where("questions", "task")
        raise InputError(error.what, where=where, remedy=error.remedy) from None
    try:
        questions = load_questions(
            source, fields=asked.fields, separator=asked.separator, gold_of=gold_of(task)
        )
    except InputError as error:
        if file is not None and error.where and error.where.startswith(str(file)):
            raise
        of_fields = error.where and error.where.startswith(OPTION)
        where = loaded.where("questions", "fields" if of_fields else "source")
        raise InputError(f"questions: {error.what}", where=where, remedy=error.remedy) from None
    questions = replace(questions, task=task or questions.task)
    _check_task(loaded, questions.task)
    chosen = asked.selection(_ids(loaded))
    try:
        questions = chosen.of(questions)
    except InputError as error:
        key = "ids" if asked.ids is not None else "limit"
        where = loaded.where("questions", key)
        raise InputError(error.what, where=where, remedy=f"correct {key}") from None
    _check_put(loaded, questions)
    return questions


def _check_task(loaded: LoadedStudy, task: str) -> None:
    try:
        loaded.scoring.check_task(task)
    except SettingError as error:
        remedy = error.remedy if loaded.study.judge or not is_graded(task) else "name a judge"
        raise InputError(error.what, where=loaded.where(error.setting), remedy=remedy) from None
    except InputError as error:
        key = "judge_entities" if loaded.scoring.matcher == "lexical" else "matcher"
        remedy = "leave out matcher, judge_entities and judge"
        if is_graded(task):
            key, remedy = "matcher", "leave out matcher"
        elif loaded.study.judge_pairs:
            key, remedy = "judge_pairs", "leave out judge_pairs"
        raise InputError(error.what, where=loaded.where(key), remedy=remedy) from None


def _check_put(loaded: LoadedStudy, questions: QuestionSet) -> None:
    task, asked, source = get_task(questions.task), questions.questions, questions.source
    for named in loaded.systems():
        try:
            flow_of(task, named.system, KEYS)
            has_tools = bool(tools_of(named.system))
            check_questions(task, named.system, asked, has_tools=has_tools, source=source)
        except InputError as error:
            problem, where = f"{error.what} (system {named.name!r})", error.where
            if isinstance(error, SettingError):
                key = WORDS[error.setting]
                problem = f"{key}: {problem}"
                where = loaded.where("factors" if key in loaded.study.factors else "base", key)
            raise InputError(problem, where=where, remedy=error.remedy) from None


def _ids(loaded: LoadedStudy) -> Sequence[str] | None:
    ids = loaded.study.questions.ids
    if not isinstance(ids, str):
        return ids
    path: Path = absolute(ids, loaded.folder)
    lines = []
    for number, line in read_lines(path):
        try:
            lines.append(line.decode("utf-8").strip())
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", where=f"{path}:{number}") from None
    if not lines:
        raise InputError("has no ids", where=str(path), remedy="write one a line")
    return lines
