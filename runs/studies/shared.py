"""What the systems of a study share: questions, one retriever per index, one graph per folder."""

from collections.abc import Iterable, Sequence
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
from branchwise.runs.studies.sets import (
    StudyPart,
    StudySet,
    check_different,
    refusals_name,
    set_names,
)
from branchwise.runs.studies.study import WORDS, set_place
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
    parts: Iterable[StudyPart], restraints: Restraints, shared: SharedSources
) -> list["Agent"]:
    """The agents of all runs, in order; InputError where one cannot start, by its name."""
    agents = []
    for part in parts:
        with refusals_name(part.words):
            task = get_task(part.set.questions.task)
            agents.append(open_agent(part.system.system, task, restraints, shared))
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


def sets_of(loaded: LoadedStudy) -> tuple[StudySet, ...]:
    """The study's sets, each with its chosen questions. Raises InputError with the file's line."""
    study = loaded.study
    written = [asked.source for asked in study.questions if asked.name is None]
    made = iter(set_names(written))
    own = {asked.name for asked in study.questions} - {None}
    names = [asked.name or next(made) for asked in study.questions]
    if twice := next((name for name in names if name in own and names.count(name) > 1), None):
        where, remedy = loaded.where("questions"), "write name: for each of them"
        raise InputError(f"two sets are called {twice}", where=where, remedy=remedy)
    sets = [
        StudySet(name, _questions(loaded, n), asked.epochs)
        for n, (name, asked) in enumerate(zip(names, study.questions, strict=True))
    ]
    with refusals_name("questions"):
        check_different(sets)
    for named in sets:
        with refusals_name(f"set {named.name!r}" if len(sets) > 1 else ""):
            _check_task(loaded, named.questions.task)
            _check_put(loaded, named.questions)
    return tuple(sets)


def _questions(loaded: LoadedStudy, number: int) -> QuestionSet:
    asked = loaded.study.questions[number]
    source, file = question_source(asked.source, loaded.folder)

    def where(key: str) -> str:
        return loaded.where(*set_place(number, loaded.lines, key))

    try:
        task = None if asked.task is None else get_task(asked.task).name
    except InputError as error:
        raise InputError(error.what, where=where("task"), remedy=error.remedy) from None
    given = loaded.given.get(number)
    try:
        questions = (
            given
            if isinstance(given, QuestionSet)
            else load_questions(given, gold_of=gold_of(task))
            if given
            else load_questions(
                source, fields=asked.fields, separator=asked.separator, gold_of=gold_of(task)
            )
        )
    except InputError as error:
        if file is not None and error.where and error.where.startswith(str(file)):
            raise
        of_fields = error.where and error.where.startswith(OPTION)
        at = where("fields" if of_fields else "source")
        raise InputError(f"questions: {error.what}", where=at, remedy=error.remedy) from None
    questions = replace(questions, task=task or questions.task)
    chosen = asked.selection(_ids(loaded, asked.ids))
    try:
        return chosen.of(questions)
    except InputError as error:
        key = "ids" if asked.ids is not None else "limit"
        raise InputError(error.what, where=where(key), remedy=f"correct {key}") from None


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


def _ids(loaded: LoadedStudy, ids: Sequence[str] | str | None) -> Sequence[str] | None:
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
