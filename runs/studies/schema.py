"""Reading a study file: everything in it is checked before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.keys import Keys
from branchwise.base.plugins.specs import absolute_spec
from branchwise.base.yaml_lines import Document, KeyPath, line_of, read_document
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.runs.costs.prices import Prices
from branchwise.runs.studies.checks import absolute, check_file, check_model, question_source
from branchwise.runs.studies.parts import check_metrics
from branchwise.runs.studies.study import Questions, Study, StudyError, first_error, set_place
from branchwise.runs.studies.systems import NamedSystem, systems_of

__all__ = ["LoadedStudy", "Questions", "Study", "load_study"]


@dataclass(frozen=True)
class LoadedStudy:
    """A study, its file, and the line of every key and list entry of it by its place. `given`: its
    sets that are in memory, by their number."""

    study: Study
    path: Path
    lines: Mapping[KeyPath, int]
    given: Mapping[int, QuestionSet | QuestionSource] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.path.resolve().parent

    def where(self, *place: str | int) -> str:
        """File and line of a place, for a message: `where("factors", "k", 1)`; without a file the
        place itself."""
        return _where(self.path, self.lines, place)

    @property
    def scoring(self) -> ScoringChoice:
        metrics = tuple(absolute_spec(spec, self.folder) for spec in self.study.metrics)
        return replace(self.study.choice, metrics=metrics)

    def systems(self) -> tuple[NamedSystem, ...]:
        return systems_of(self.study, self.folder, lambda place: self.where(*place))

    def with_keys(self, keys: Keys) -> "LoadedStudy":
        """With these keys, before those that the file names."""
        named = dict(keys.over(self.study.keys).variables)
        return replace(self, study=self.study.model_copy(update={"keys": named}))

    def prices(self) -> Prices:
        """The built-in prices, those of the study's own file before them. Raises InputError."""
        given = self.study.prices
        return Prices.load(absolute(given, self.folder) if given else None)


def _where(path: Path, lines: Mapping[KeyPath, int], place: KeyPath) -> str:
    if not lines:
        return ".".join(map(str, place)) or str(path)
    return f"{path}:{line_of(lines, place)}"


def load_study(study: Path | str | Mapping[str, Any]) -> LoadedStudy:
    """Read and check a study file, or what one would hold. Raises InputError for the first thing
    that is wrong, with file and line and the nearest valid name. Asks no model, opens no index, and
    does not read the questions of a file."""
    given: dict[int, QuestionSet | QuestionSource] = {}
    if isinstance(study, Mapping):
        path, document = Path("study"), Document(_plain({**study, **_named_sets(study, given)}), {})
    else:
        path, remedy = Path(study), "see examples/studies for files to start from"
        document = read_document(path, wanted="a study file", remedy=remedy)
    if not isinstance(document.value, dict):
        problem = "is empty" if document.value is None else "contains no study"
        raise InputError(problem, where=f"{path}:1", remedy="see examples/studies")
    try:
        checked = Study.model_validate(document.value)
    except ValidationError as error:
        nodes = document.value.get("nodes")
        first = first_error(error, document.lines, nodes if isinstance(nodes, dict) else ())
        raise first.located(_where(path, document.lines, first.place)) from None
    loaded = LoadedStudy(checked, path, document.lines, given)
    try:
        _check_files(loaded)
        _check_scoring(checked)
        check_metrics(checked.metrics, loaded.folder)
        for host, variable in checked.keys.items():
            try:
                Keys({host: variable})
            except InputError as error:
                raise StudyError(f"keys: {error.what}", ("keys", host), error.remedy) from None
        Keys(checked.keys)
    except StudyError as error:
        raise error.located(loaded.where(*error.place)) from None
    loaded.systems()
    return loaded


def _named_sets(
    study: Mapping[str, Any], given: dict[int, QuestionSet | QuestionSource]
) -> dict[str, Any]:
    """The question sets as a file names them; those that are in memory go to `given`."""
    if "questions" not in study:
        return {}
    sets = study["questions"]
    is_list = isinstance(sets, list | tuple)
    if not is_list or (sets and isinstance(sets[0], Mapping) and "source" not in sets[0]):
        sets = [sets]  # one set, perhaps of rows
    named = []
    for number, each in enumerate(sets):
        about = dict(each) if isinstance(each, Mapping) else {"source": each}
        source = about.get("source")
        if not isinstance(source, str | Path | None):
            if not isinstance(source, QuestionSet):
                columns = about.pop("fields", ()), about.pop("separator", None)
                source = QuestionSource.of(source, *columns)
            given[number] = source
            about["source"] = source.source if isinstance(source, QuestionSet) else source.text
        named.append(about)
    return {"questions": named}


def _plain(value: Any) -> Any:
    """A value as YAML would hold it."""
    if isinstance(value, Mapping):
        return {key: _plain(of) for key, of in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_plain, value)]
    return str(value) if isinstance(value, Path) else value


def _check_files(loaded: LoadedStudy) -> None:
    study, folder = loaded.study, loaded.folder
    taken: list[str] = []
    for n, questions in enumerate(study.questions):
        _, file = question_source(questions.source, folder)
        if file is not None and n not in loaded.given:
            place = set_place(n, loaded.lines, "source")
            check_file("questions", questions.source, file, place)
        if isinstance(questions.ids, str):
            place = set_place(n, loaded.lines, "ids")
            check_file("ids", questions.ids, absolute(questions.ids, folder), place)
        if questions.name in taken:
            problem = f"two sets are called {questions.name}"
            place = set_place(n, loaded.lines, "name")
            raise StudyError(problem, place, "choose another name")
        taken += [questions.name] if questions.name else []
    if study.prices is not None:
        check_file("prices", study.prices, absolute(study.prices, folder), ("prices",))
        loaded.prices()


def _check_scoring(study: Study) -> None:
    if study.judge is not None:
        check_model("judge", study.judge, ("judge",))
    elif not study.judge_entities and study.judge_pairs:
        problem = "judge_pairs has no effect: nothing is graded"
        raise StudyError(problem, ("judge_pairs",), "name a judge")
    way, colon, spec = study.matcher.strip().partition(":")
    if way in ("llm", "both"):
        if colon:
            check_model("matcher", spec, ("matcher",))
        return
    try:
        ScoringChoice.parse(study.matcher)
    except InputError as error:
        remedy = did_you_mean(study.matcher, ("lexical", "llm", "both"), else_=error.remedy or "")
        raise StudyError(f"matcher: {error.what}", ("matcher",), remedy) from None
