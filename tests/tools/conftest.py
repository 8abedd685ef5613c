"""A retriever that is watched, and a small graph."""

from collections.abc import Iterator

import pytest

from branchwise.kg.embedded import EmbeddedGraph
from support.graph.aurora import aurora_graph
from support.retrievers import EchoRetriever


@pytest.fixture
def echo() -> EchoRetriever:
    return EchoRetriever()


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory, process: None) -> Iterator[EmbeddedGraph]:
    """`aurora`, asked through the embedded store."""
    opened = EmbeddedGraph(aurora_graph(tmp_path_factory.mktemp("graph")), workers=1)
    yield opened
    opened.close()
