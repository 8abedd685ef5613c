"""What the tools of a run searched: its corpus, its graph, and what cannot be searched again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.base.plugins.specs import short_spec
from branchwise.eval.errors.module_work import tool_names
from branchwise.tools.registry import KG_TOOLS

RETRIEVER = "local_retriever"


@dataclass(frozen=True)
class SearchedCorpus:
    """The corpus that was searched: where it was, and its SHA-256; None where nothing says.

    `served`: by a retrieval server, which alone knows what it searches.
    """

    path: Path | None = None
    sha256: str | None = None
    served: bool = False


@dataclass(frozen=True)
class SearchedKg:
    """The graph that was asked: its folder or an endpoint's address, and a folder's SHA-256."""

    address: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Sources:
    """What a run's tools searched; `others` are the names of tools that ask anything else.

    A corpus or graph that the system had but no tool for is not among them.
    """

    corpus: SearchedCorpus | None = None
    kg: SearchedKg | None = None
    others: tuple[str, ...] = ()

    def identity(self) -> list[Any]:
        """What they are, JSON-serialisable and free of paths."""
        return [
            [self.corpus.sha256] if self.corpus else None,
            [self.kg.sha256] if self.kg else None,
            sorted(self.others),
        ]


def run_sources(
    meta: Mapping[str, Any], *, corpus: Path | None = None, kg: str | None = None
) -> Sources:
    """The sources of a run, from what its store says (`RunReader.meta`).

    `corpus` and `kg` say where they lie now, if elsewhere.
    """
    system, identity = meta["system"], meta["identity"]
    names = tool_names(identity)
    folder = corpus or (Path(system["corpus"]) if system.get("corpus") else None)
    built, retriever = identity.get("kg") or {}, identity.get("retriever") or {}
    return Sources(
        SearchedCorpus(folder, _corpus_sha256(retriever), retriever.get("kind") == "http")
        if RETRIEVER in names
        else None,
        SearchedKg(kg or system.get("kg"), built.get("sha256"))
        if set(KG_TOOLS) & set(names)
        else None,
        tuple(name for name in names if name != RETRIEVER and name not in KG_TOOLS),
    )


def evidence_words(meta: Mapping[str, Any]) -> str:
    """What a run's tools searched, for people: "corpus wiki18 (bm25), graph W", or "none"."""
    system, found = meta["system"], run_sources(meta)
    words = []
    if found.corpus:
        retriever, reranker = system.get("retriever"), system.get("reranker")
        how = [short_spec(str(retriever))] if retriever else []
        how += [f"ranked again by {Path(str(reranker)).name}"] if reranker else []
        named = (
            f"corpus {found.corpus.path.name}" if found.corpus.path else "what a retriever finds"
        )
        words.append(f"{named} ({', '.join(how)})" if how else named)
    if found.kg:
        words.append(f"graph {Path(found.kg.address or '?').name}")
    words += [f"the tool {name}" for name in found.others]
    return ", ".join(words) or "none"


def _corpus_sha256(retriever: Mapping[str, Any]) -> str | None:
    """From a retriever's identity; one that is fused names it with its parts."""
    if found := retriever.get("corpus_sha256"):
        return str(found)
    return next(filter(None, map(_corpus_sha256, retriever.get("parts", ()))), None)
