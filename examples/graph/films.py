"""The whole graph over the films of `examples/films`: what `langgraph.json` opens.

The corpus folder is made on first use, beside this file. `BRANCHWISE_MODEL` names a model (as
`--model` does); without it `offline` answers, which needs no key and is not a language model.
"""

import asyncio
import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.corpora.build import build_corpus, build_index
from branchwise.graphs import build
from branchwise.graphs.system import System

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

HERE = Path(__file__).parent
PASSAGES = HERE.parent / "films" / "corpus.jsonl"
CORPUS = HERE / "C"
_LOCK = threading.Lock()


async def graph() -> "CompiledStateGraph[Any, Any, Any, Any]":
    """The graph, made once, on a thread: LangGraph's server lets nothing block its event loop."""
    return await asyncio.to_thread(_made)


def _made() -> "CompiledStateGraph[Any, Any, Any, Any]":
    with _LOCK:
        return _whole()


@cache
def _whole() -> "CompiledStateGraph[Any, Any, Any, Any]":
    """Query expansion, BM25 search, evidence extraction."""
    model = os.environ.get("BRANCHWISE_MODEL", "offline")
    corpus = str(films(CORPUS))
    return build(System(model=model, corpus=corpus, retriever="bm25", expand=True, extract=True))


def films(folder: Path) -> Path:
    """The corpus folder with its BM25 index, made where it is not there yet."""
    if not (folder / "index" / "bm25").is_dir():
        build_corpus(str(PASSAGES), folder)
        build_index(folder, "bm25")
    return folder
