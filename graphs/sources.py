"""What a system searches: as its settings name it, as they must fit each other, and opened.

A refusal is the same for the command line, study files and Python, worded for its place.
"""

from collections.abc import Collection
from pathlib import Path

from annotated_types import Ge
from pydantic import BaseModel

from branchwise.base.errors import FLAGS, SettingError, SettingNames
from branchwise.base.keys import Keys
from branchwise.corpora.open import needs_corpus, open_retriever
from branchwise.corpora.reranking import RerankingRetriever
from branchwise.corpora.retrieval import Retriever
from branchwise.graphs.system import DEFAULT_SYSTEM, MODULES, SETTINGS, System
from branchwise.tools.registry import check_source, default_tools


def sources_of(system: System) -> frozenset[str]:
    """What there is to search, as the settings that name it: `corpus`, `kg`."""
    searches = system.corpus is not None or not needs_corpus(system.retriever)
    there = {"corpus": searches, "kg": system.kg is not None}
    return frozenset(source for source in there if there[source])


def tools_of(system: System) -> tuple[str, ...]:
    """The tools that a system's agent has: those named, else all that corpus and graph allow."""
    if system.tools is None:
        return default_tools(sources_of(system), opens=opens_titles(system))
    return tuple(dict.fromkeys(system.tools))


def opens_titles(system: System) -> bool:
    """Whether `open_passages` is among the tools of a system that names none."""
    return system.corpus is not None and system.prompt_set != "paper"


def check_system(system: System, words: SettingNames = FLAGS) -> None:
    """Raise SettingError where settings do not fit each other. What was set for a module that is
    off means that the module was forgotten; a default was not set."""
    for setting in SETTINGS:
        name, module = setting.name, setting.setting.module
        if module in (None, name) or getattr(system, module):
            continue
        part: BaseModel = system
        for step in setting.path[:-1]:
            part = getattr(part, step)
        if name in part.model_fields_set and getattr(part, name) is not None:
            raise SettingError(
                name,
                f"has no effect without {words.name(module)}",
                where=words.name(name),
                remedy=f"{_adding(module, words)}, or leave out {words.name(name)}",
            )
    for role, module in MODULES.items():
        if role in system.role_decoding and not getattr(system, module):
            raise SettingError(
                "role_decoding",
                f"what is set for the {role} has no effect without {words.name(module)}",
                where=words.name("role_decoding"),
                remedy=f"{_adding(module, words)}, or leave it out",
            )
    if system.budget.calls_per_reading and system.budget_shown == "off" and not system.expand:
        raise SettingError(
            "calls_per_reading",
            "has no effect where the agent is not told its budget",
            where=words.name("calls_per_reading"),
            remedy=f"{words.add('expand')}, or leave out {words.name('budget_shown')}",
        )
    check_search(system, sources_of(system), tools_of(system), words)


_OF_RESULTS = {"extract": "passages to extract evidence from", "compact": "results to compact"}
"""Settings that do something with what tools return."""


def _adding(module: str, words: SettingNames) -> str:
    if getattr(DEFAULT_SYSTEM, module) is False:
        return words.add(module)
    bounds = System.model_fields[module].metadata
    least = (str(bound.ge) for bound in bounds if isinstance(bound, Ge) and bound.ge != 0)
    return words.add(module, next(least, "1"))


def check_search(
    system: System, sources: Collection[str], tools: Collection[str], words: SettingNames = FLAGS
) -> None:
    """Raise SettingError if a system with these sources and tools lacks something to search."""
    for setting in ("retriever", "k", "reranker"):
        if getattr(system, setting) is not None and "corpus" not in sources:
            raise SettingError(
                setting,
                "needs a corpus to search",
                where=words.name(setting),
                remedy=words.add("corpus", "DIR"),
            )
    for tool in tools:
        check_source(tool, sources, words)
    for setting, what in _OF_RESULTS.items():
        if getattr(system, setting) and not tools:
            # With no tools by choice a corpus would not help.
            source = "name a tool" if system.tools == () else words.add("corpus", "DIR")
            raise SettingError(
                setting,
                f"no tool returns {what}",
                where=words.name(setting),
                remedy=f"{source}, or leave out {words.name(setting)}",
            )


def repeats_passages(system: System) -> bool:
    """Whether passages that the agent has before it are shown whole again."""
    # Extraction by passage reads all that each search finds.
    return system.repeat_passages or (system.extract and system.extract_by == "passage")


def retriever_of(system: System) -> Retriever | None:
    """What the system searches; None if nothing. Raises InputError."""
    if system.corpus is None and needs_corpus(system.retriever):
        return None
    keys = Keys(system.keys)
    corpus = Path(system.corpus) if system.corpus else None
    retriever = open_retriever(corpus, system.retriever, system.settings, keys, system.headers)
    return RerankingRetriever(retriever, Path(system.reranker)) if system.reranker else retriever
