"""What a study names must be there: models, tools, folders, indexes. Nothing is opened or asked."""

from difflib import get_close_matches
from pathlib import Path

from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec, is_replay
from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import CORPUS_FILE
from branchwise.corpora.graph.open import graph_folder, open_graph
from branchwise.corpora.manifest import index_names
from branchwise.corpora.open import HYBRID, absolute_name, is_plugin_retriever, needs_corpus
from branchwise.corpora.plugins.loading import load_plugin
from branchwise.corpora.search_server import server_url
from branchwise.eval.judging.readiness import role_spec
from branchwise.eval.store.recordings import open_recordings
from branchwise.eval.studies.complaints import StudyError, did_you_mean
from branchwise.eval.studies.parts import check_tools
from branchwise.eval.studies.paths import (
    FLASHRAG,
    absolute,
    is_elsewhere,
    kind_of,
    near_paths,
    resolved,
)
from branchwise.eval.studies.settings import MODELS, SCORING_ONLY, Value
from branchwise.eval.studies.yaml_lines import Place, shown
from branchwise.graphs.system import System, searches
from branchwise.tools.registry import GRAPH_TOOLS

SEARCH_TOOL = "local_retriever"


def check_value(key: str, value: Value, folder: Path, place: Place) -> None:
    """Raise StudyError where a setting's value names nothing that there is."""
    if value is None:
        return
    if key in MODELS:
        check_model(key, str(value), place)
        if is_replay(str(value)):
            _check_run(key, str(value), folder, place)
    elif isinstance(value, tuple):
        check_tools(value, folder, place)
    elif key in ("corpus", "kg", "prompts"):
        _check_folder(key, str(value), folder, place)
    elif key == "retriever" and not needs_corpus(str(value)):
        _check_retriever(str(value), folder, place)


def check_model(key: str, text: str, place: Place) -> None:
    """Raise StudyError where a text is no model spec."""
    try:
        if key in SCORING_ONLY:
            role_spec(key, text)
        ModelSpec.parse(text)
    except InputError as error:
        near = _near_model(text.strip()) if error.what.startswith("unknown model") else None
        remedy = error.remedy if near is None or "***" in error.what else f"did you mean {near}?"
        raise StudyError(f"{key}: {error.what}", place, remedy) from None


def _check_run(key: str, text: str, folder: Path, place: Place) -> None:
    """A run whose replies are to be replayed: it is there, and it can be read."""
    try:
        open_recordings(ModelSpec.parse(resolved(key, text, folder)).run)
    except InputError as error:
        remedy = f"{error.remedy}; paths are relative to the study file"
        raise StudyError(f"{key}: {shown(text)}: {error.what}", place, remedy) from None


def _near_model(text: str) -> str | None:
    """The spec that a text may have meant: a misspelt provider, or a name without one."""
    provider, colon, name = text.partition(":")
    if get_close_matches(provider.casefold(), ("offline", "offline reader"), n=1, cutoff=0.7):
        return "offline"
    near = f"openai:{name}" if colon else f"openai:{text}"
    if colon and not get_close_matches(provider.casefold(), ("openai", "open_ai"), n=1):
        return None
    try:
        ModelSpec.parse(near)
    except InputError:
        return None
    return near[:80]


def _check_folder(key: str, text: str, folder: Path, place: Place) -> None:
    path = Path(resolved(key, text, folder))
    if is_elsewhere(key, text):
        if key == "kg":
            _open_address(text, place)
        return
    if (kind := kind_of(path)) != "folder":
        what = "is no folder" if kind else "no such folder"
        remedy = "name a folder" if kind else near_paths(path, text)
        raise StudyError(f"{key}: {what}: {shown(text)}", place, remedy)
    try:
        _look_into(key, path)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise StudyError(f"{key} {shown(text)}: cannot be read ({why})", place) from None
    except InputError as error:
        if error.where and Path(error.where) != path and Path(error.where).is_file():
            raise  # a file in the folder is wrong: it says where
        raise StudyError(f"{key} {shown(text)}: {error.what}", place, error.remedy) from None


def _check_retriever(text: str, folder: Path, place: Place) -> None:
    """A retriever that brings its own corpus: its address is read, its file is there."""
    if text.startswith(FLASHRAG):
        written = text.removeprefix(FLASHRAG)
        check_file("retriever", written, absolute(written, folder), place)
        return
    try:
        if is_plugin_retriever(text):
            load_plugin(absolute_name(text, folder), "retrievers")
        else:
            server_url(text)
    except InputError as error:
        raise StudyError(f"retriever: {error.what}", place, error.remedy) from None


def check_file(key: str, written: str, path: Path, place: Place) -> None:
    """Raise StudyError where there is no such file, with the name of one that may be meant."""
    if (kind := kind_of(path)) != "file":
        what = f"is {'a folder' if kind == 'folder' else 'no file'}" if kind else "no such file"
        remedy = "name a file" if kind else near_paths(path, written)
        raise StudyError(f"{key}: {what}: {shown(written)}", place, remedy)


def _open_address(text: str, place: Place) -> None:
    """An address is read, but not asked."""
    try:
        open_graph(text).close()
    except InputError as error:
        raise StudyError(f"kg: {error.what}", place, error.remedy) from None
    except ValueError:
        raise StudyError("kg: is no address", place, "write https://HOST/PATH") from None


def _look_into(key: str, path: Path) -> None:
    """Raise InputError where a folder is not what its key says."""
    if key == "kg":
        graph_folder(path)
    elif key == "prompts":
        Prompts.load(path)
    elif not (path / CORPUS_FILE).is_file():
        raise InputError(
            f"there is no {CORPUS_FILE} in it",
            remedy=f"build a corpus with `branchwise corpus build --from SRC --out {path}`",
        )


def tools_of(system: System) -> tuple[str, ...]:
    """The tools that a system's agent has: those named, else all that corpus and graph allow."""
    if system.tools is not None:
        return tuple(dict.fromkeys(system.tools))
    return (*((SEARCH_TOOL,) if searches(system) else ()), *(GRAPH_TOOLS if system.kg else ()))


def retriever_of(system: System) -> str | None:
    """The retriever that a system searches with; None where it searches nothing."""
    if system.retriever is not None and not needs_corpus(system.retriever):
        is_server = system.retriever.startswith(("http:", "https:"))
        return server_url(system.retriever) if is_server else system.retriever
    if system.retriever or not system.corpus:
        return system.retriever
    names = index_names(Path(system.corpus))
    return names[0] if len(names) == 1 else "flat"


def check_parts(system: System) -> tuple[str, str, str] | None:
    """The first part of a system that lacks another: the key, what is wrong, what to do."""
    for tool in tools_of(system):
        if tool in GRAPH_TOOLS and system.kg is None:
            return "tools", f"the tool {tool} has no graph to ask", "add kg: DIR or kg: URL to base"
        if tool == SEARCH_TOOL and not searches(system):
            return "tools", f"the tool {tool} has no corpus to search", "add corpus: DIR to base"
    if system.extract and not tools_of(system):
        what = "there are no tools whose passages evidence could be extracted from"
        return "extraction", what, "add corpus: DIR to base, or leave out extraction"
    return _missing_index(system)


def _missing_index(system: System) -> tuple[str, str, str] | None:
    if not system.corpus or not needs_corpus(system.retriever):
        return None
    names, wanted = index_names(Path(system.corpus)), system.retriever
    if SEARCH_TOOL not in tools_of(system) and wanted is None:
        return None
    known = [*names, HYBRID] if {"flat", "bm25"} <= set(names) else names
    if wanted is None:
        if len(names) == 1 or "flat" in names:
            return None
        if names:
            remedy = f"add retriever: {names[0]} to base"
            what = f"the corpus has several indexes ({', '.join(names)}) and none is called flat"
            return "corpus", what, remedy
    elif wanted in known:
        return None
    kinds = (*names, "flat", "bm25", HYBRID, "http:URL", "flashrag:CONFIG.yaml")
    if wanted and wanted not in kinds:
        remedy = did_you_mean(wanted, dict.fromkeys(kinds))
        return "retriever", f"there is no retriever {shown(wanted)}", remedy
    has = f"it has {', '.join(names)}" if names else "it has none yet"
    missing = next(k for k in ("flat", "bm25") if k not in names) if wanted == HYBRID else wanted
    command = f"branchwise corpus index {system.corpus} --kind {missing or 'flat'}"
    key = "retriever" if wanted else "corpus"
    return key, f"the corpus has no index {shown(missing or 'flat')} ({has})", f"make it: {command}"
