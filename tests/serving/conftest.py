"""A corpus and a graph on disk, and what serves them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.corpora.graph.build import build_graph
from branchwise.corpora.indexing import build_index
from support.serving.serving_peers import KINDS, PLACES, Serve, Served, Shelf, processes

WD = "http://www.wikidata.org/entity/"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
TRIPLES = f"""
<{WD}Q1> {LABEL} "Aurora"@en .
<{WD}Q1> <http://www.wikidata.org/prop/direct/P57> <{WD}Q3> .
<{WD}Q3> {LABEL} "Ann Lee"@en .
<{WD}P57> {LABEL} "director"@en .
"""


def corpus_line(id: str, contents: str) -> str:
    return json.dumps({"id": id, "contents": contents}) + "\n"


@pytest.fixture(scope="session")
def corpus_dir(tmp_path_factory: pytest.TempPathFactory, encoder: None) -> Path:
    """Forty passages with a flat index (the real encoder) and a bm25 one."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    folder = tmp_path_factory.mktemp("served") / "C"
    folder.mkdir()
    lines = [
        corpus_line(f"{place}-{kind}", f'"{place}"\nIs {place} a {kind}? It stands here as one.')
        for place in PLACES
        for kind in KINDS
    ]
    (folder / "corpus.jsonl").write_text("".join(lines))
    build_index(folder, "flat")
    build_index(folder, "bm25")
    return folder


@pytest.fixture(scope="session")
def graph_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A director and a film."""
    folder = tmp_path_factory.mktemp("graph")
    (folder / "g.nt").write_text(TRIPLES)
    build_graph([folder / "g.nt"], folder / "G")
    return folder / "G"


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    made = Shelf()
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
