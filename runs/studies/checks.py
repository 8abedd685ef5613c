"""Checks that what a study names is there, relative to its file. Nothing is opened or asked."""

import stat
from itertools import islice
from pathlib import Path
from typing import Literal

from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import REPLAY, ModelSpec, is_replay, located, suggested
from branchwise.base.errors import InputError, SettingNames, nearest
from branchwise.base.plugins.specs import find_plugin
from branchwise.base.yaml_lines import KeyPath, shown
from branchwise.corpora.folder import CORPUS_FILE, is_source, no_corpus
from branchwise.corpora.forms import source_at
from branchwise.corpora.kinds import FLASHRAG, SERVERS
from branchwise.corpora.loaders.forms import FORMS
from branchwise.corpora.loaders.source import HUB
from branchwise.corpora.open import absolute_name, chosen_index, is_plugin_retriever, needs_corpus
from branchwise.corpora.reranking import check_cross_encoder
from branchwise.corpora.search_server import server_url
from branchwise.eval.judging.consultant import role_spec
from branchwise.graphs.sources import check_system
from branchwise.graphs.system import System
from branchwise.kg.open import is_address, kg_folder, open_kg
from branchwise.runs.store.recordings import open_recordings
from branchwise.runs.studies.parts import check_tools
from branchwise.runs.studies.study import FACTORS, FIELDS, MODELS, WORDS, StudyError, Value

_MOST_NEIGHBOURS = 2000


def is_elsewhere(key: str, text: str) -> bool:
    """Whether a value of this key is an address, or a retriever that brings its own corpus."""
    holds = FIELDS[key].setting.holds
    if holds == "retriever":
        return not needs_corpus(text)
    try:
        return holds == "kg" and is_address(text)
    except ValueError:  # an address with brackets that do not close
        return True


def resolved(key: str, text: str, folder: Path) -> str:
    """A value with the path in it made absolute, as a system keeps it."""
    holds = FIELDS[key].setting.holds
    if holds == "model" and is_replay(text):
        return f"{REPLAY}{absolute(str(ModelSpec.parse(text).run), folder)}"
    if holds == "model":
        return located(text)
    if holds == "retriever" and text.startswith(FLASHRAG):
        return FLASHRAG + str(absolute(text.removeprefix(FLASHRAG), folder))
    if holds == "retriever" and is_plugin_retriever(text):
        return absolute_name(text, folder)
    if holds in ("value", "retriever") or is_elsewhere(key, text):
        return text
    return str(absolute(text, folder))


def absolute(text: str, folder: Path) -> Path:
    """A path of a study in `folder`; ~ is the user's home."""
    path = Path(text)
    if path.parts[:1] == ("~",):
        path = Path.home().joinpath(*path.parts[1:])
    try:
        return (folder / path).resolve()
    except OSError:  # a folder on the way may not be read
        return folder / path


def kind_of(path: Path) -> Literal["file", "folder", "neither"] | None:
    """What a path leads to; None if nothing is there or it may not be seen."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "neither"


def near_paths(path: Path, written: str) -> str:
    """The remedy for a missing path: a similar name in its folder, else where it was looked for."""
    whole = f"paths are relative to the study file: {str(path)[:300]}"
    try:
        names = [entry.name for entry in islice(path.parent.iterdir(), _MOST_NEIGHBOURS)]
    except OSError:
        return whole
    near = nearest(path.name, [name for name in names if name != path.name])
    return f"did you mean {Path(written).with_name(near[0])}?" if near else whole


def question_source(source: str, folder: Path) -> tuple[str, Path | None]:
    """What `load_questions` takes for a study's source, and the file that it means, if any: a
    form's prefix stays before the path, and a split behind it; what exists as a file is a file."""
    whole = absolute(source, folder)
    prefix, colon, rest = source.partition(":")
    if kind_of(whole) or not (colon and prefix.isalnum() and len(prefix) > 1):
        return str(whole), whole
    if prefix not in FORMS or HUB in (prefix, rest.partition(":")[0]) or not rest.strip():
        return source, None
    path, outer = absolute(rest, folder), absolute(rest.rpartition(":")[0], folder)
    return f"{prefix}:{path}", outer if not kind_of(path) and kind_of(outer) == "file" else path


def check_value(key: str, value: Value, folder: Path, place: KeyPath) -> None:
    if value is None or key not in FIELDS:
        return
    if key in MODELS:
        check_model(key, str(value), place)
        if is_replay(str(value)):
            try:
                open_recordings(ModelSpec.parse(resolved(key, str(value), folder)).run)
            except InputError as error:
                remedy = f"{error.remedy}; paths are relative to the study file"
                problem = f"{key}: {shown(str(value))}: {error.what}"
                raise StudyError(problem, place, remedy) from None
    elif isinstance(value, tuple):
        check_tools(value, folder, place)
    elif FIELDS[key].setting.holds in ("folder", "kg"):
        _check_folder(key, str(value), folder, place)
    elif FIELDS[key].setting.holds == "retriever" and not needs_corpus(str(value)):
        _check_retriever(str(value), folder, place)


def check_model(key: str, text: str, place: KeyPath) -> None:
    try:
        if key not in FACTORS:
            role_spec(key, text)
        ModelSpec.parse(text)
    except InputError as error:
        near = suggested(text) if error.what.startswith("unknown model") else None
        remedy = error.remedy if near is None or "***" in error.what else f"did you mean {near}?"
        raise StudyError(f"{key}: {error.what}", place, remedy) from None


def _check_folder(key: str, text: str, folder: Path, place: KeyPath) -> None:
    path = Path(resolved(key, text, folder))
    if is_elsewhere(key, text):
        if key == "kg":
            # Only that the address is valid: nothing is sent.
            try:
                open_kg(text).close()
            except InputError as error:
                raise StudyError(f"kg: {error.what}", place, error.remedy) from None
            except ValueError:
                remedy = "write https://HOST/PATH"
                raise StudyError("kg: is not an address", place, remedy) from None
        return
    if (kind := kind_of(path)) != "folder":
        named = text if not kind and ":" in text else str(path)
        if key == "corpus" and source_at(named):
            refusal = no_corpus(Path(named))
            raise StudyError(f"{key} {shown(text)}: {refusal.what}", place, refusal.remedy)
        problem = "is not a folder" if kind else "no such folder"
        remedy = "name a folder" if kind else near_paths(path, text)
        raise StudyError(f"{key}: {problem}: {shown(text)}", place, remedy)
    try:
        if key == "kg":
            kg_folder(path)
        elif key == "prompts":
            Prompts.load(path)
        elif key == "reranker":
            check_cross_encoder(path)
        elif not (path / CORPUS_FILE).is_file() or is_source(path):
            raise no_corpus(path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise StudyError(f"{key} {shown(text)}: cannot be read ({why})", place) from None
    except InputError as error:
        if error.where and Path(error.where) != path and Path(error.where).is_file():
            raise  # a file in the folder is wrong: it says where
        raise StudyError(f"{key} {shown(text)}: {error.what}", place, error.remedy) from None


def _check_retriever(text: str, folder: Path, place: KeyPath) -> None:
    if text.startswith(FLASHRAG):
        written = text.removeprefix(FLASHRAG)
        check_file("retriever", written, absolute(written, folder), place)
        return
    try:
        if is_plugin_retriever(text):
            find_plugin(absolute_name(text, folder), "retrievers")
        else:
            server_url(text)
    except InputError as error:
        raise StudyError(f"retriever: {error.what}", place, error.remedy) from None


def check_file(key: str, written: str, path: Path, place: KeyPath) -> None:
    """Raise StudyError if the file does not exist, suggesting a similar name."""
    if (kind := kind_of(path)) != "file":
        problem = "is a folder" if kind == "folder" else "is not a file" if kind else "no such file"
        remedy = "name a file" if kind else near_paths(path, written)
        raise StudyError(f"{key}: {problem}: {shown(written)}", place, remedy)


def retriever_of(system: System) -> str | None:
    """The retriever that a system searches with; None where it searches nothing."""
    if system.retriever is not None and not needs_corpus(system.retriever):
        is_server = system.retriever.startswith(SERVERS)
        return server_url(system.retriever) if is_server else system.retriever
    if not system.corpus:
        return system.retriever
    return chosen_index(Path(system.corpus), system.retriever)


class _Keys(SettingNames):
    def name(self, setting: str) -> str:
        return WORDS.get(setting, setting)

    def add(self, setting: str, value: str = "on") -> str:
        return f"add {self.name(setting)}: {value} to base"


KEYS = _Keys()


def check_parts(system: System) -> None:
    """Refuse, in the file's words, a system whose parts do not fit, or that has no such index."""
    check_system(system, KEYS)
    if system.corpus and needs_corpus(system.retriever):
        chosen_index(Path(system.corpus), system.retriever, KEYS)
