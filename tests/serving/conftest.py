"""A corpus and a graph on disk, and what serves them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.corpora.small import both_indexes
from support.graph.aurora import aurora_graph
from support.retrievers import EchoRetriever
from support.serving.serving_peers import KINDS, PLACES, Serve, Served, processes


@pytest.fixture(scope="session")
def corpus_dir(tmp_path_factory: pytest.TempPathFactory, encoder: None) -> Path:
    """Forty passages with a flat index (the real encoder) and a bm25 one."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    passages = {
        f"{place}-{kind}": f'"{place}"\nIs {place} a {kind}? It stands here as one.'
        for place in PLACES
        for kind in KINDS
    }
    return both_indexes(tmp_path_factory.mktemp("served") / "C", passages)


@pytest.fixture(scope="session")
def graph_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return aurora_graph(tmp_path_factory.mktemp("graph"))


@pytest.fixture
def shelf() -> Iterator[EchoRetriever]:
    made = EchoRetriever("shelf", {"kind": "shelf"})
    yield made
    made.release.set()


@pytest.fixture
def serve(process: None) -> Iterator[Serve]:
    """Start `branchwise serve ...` in a process of its own; killed at the end."""
    with processes() as start:
        yield start


@pytest.fixture(scope="session")
def flat_server(corpus_dir: Path, process: None) -> Iterator[Served]:
    """The corpus behind `/retrieve`, for all tests."""
    with processes() as start:
        yield start("retrieve", "--corpus", corpus_dir, "--retriever", "flat", "--port", 0)
