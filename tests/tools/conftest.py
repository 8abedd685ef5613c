"""Retrievers that tests can watch, stop and break."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from branchwise.corpora.graph.build import build_graph
from branchwise.corpora.graph.embedded import EmbeddedGraph
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit


@dataclass
class Echo:
    """Returns passages named after the query; can be held, and told to fail."""

    name: str = "echo"
    identity: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[list[str], int]] = field(default_factory=list)
    entered: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    held: bool = False
    release: threading.Event = field(default_factory=threading.Event)
    fail: Exception | None = None

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        self.calls.append((list(queries), k))
        self.entered.release()
        if self.held and not self.release.wait(timeout=30):
            raise TimeoutError("the test never released the retriever")
        if self.fail:
            raise self.fail
        return [
            [Hit(Passage(id=f"{q}-{i}", title=q, text=f"text {i}"), 1 / (i + 1)) for i in range(k)]
            for q in queries
        ]


@pytest.fixture
def echo() -> Echo:
    return Echo()


WD = "http://www.wikidata.org/entity/"
WDT = "http://www.wikidata.org/prop/direct/"
TRIPLES = f"""
<{WD}Q1> <http://www.w3.org/2000/01/rdf-schema#label> "Aurora"@en .
<{WD}Q1> <http://schema.org/description> "1990 film"@en .
<{WD}Q1> <{WDT}P31> <{WD}Q11424> .
<{WD}Q1> <{WDT}P57> <{WD}Q3> .
<{WD}Q1> <{WDT}P577> "1990-05-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<{WD}Q2> <http://www.w3.org/2000/01/rdf-schema#label> "Aurora"@en .
<{WD}Q2> <http://schema.org/description> "2004 album"@en .
<{WD}Q3> <http://www.w3.org/2000/01/rdf-schema#label> "Ann\\nLee"@en .
<{WD}Q11424> <http://www.w3.org/2000/01/rdf-schema#label> "film"@en .
<{WD}P57> <http://www.w3.org/2000/01/rdf-schema#label> "director"@en .
<{WD}P57> <http://www.w3.org/2004/02/skos/core#altLabel> "directed by"@en .
"""


@pytest.fixture(scope="session")
def graph(tmp_path_factory, process: None):
    """A small graph, asked through the embedded store."""
    folder = tmp_path_factory.mktemp("graph")
    (folder / "g.nt").write_text(TRIPLES)
    build_graph([folder / "g.nt"], folder / "G")
    opened = EmbeddedGraph(folder / "G", workers=1)
    yield opened
    opened.close()
