"""A world of 2,000 entities with its graph, made once; and the files beside the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.kg.embedded import EmbeddedGraph
from branchwise.worlds.questions.endpoint_facts import EndpointFacts
from branchwise.worlds.questions.facts import GraphFacts
from support.synthesis.little_graph import TRIPLES, little_schema


@pytest.fixture(scope="session")
def world_2000(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a world of 2,000 entities; its graph is built, in `kg`."""
    from branchwise.kg.build import build_graph
    from branchwise.worlds.make import make_world

    folder = tmp_path_factory.mktemp("world") / "w"
    make_world(folder, 2000, 7)
    build_graph([folder], folder / "kg")
    return folder


@pytest.fixture(scope="session")
def facts(world_2000: Path) -> GraphFacts:
    """The world's facts, in memory."""
    from branchwise.worlds.domains import world_schema

    return GraphFacts.load(world_2000, world_schema())


@pytest.fixture(scope="session")
def asked_facts(world_2000: Path, facts: GraphFacts, process: None) -> Iterator[EndpointFacts]:
    """The same facts, asked of the embedded graph in SPARQL."""
    graph = EmbeddedGraph(world_2000 / "kg")
    yield EndpointFacts(graph, facts.schema)
    graph.close()


@pytest.fixture(scope="session")
def little_facts(tmp_path_factory: pytest.TempPathFactory) -> GraphFacts:
    """The facts of `little_graph`."""
    path = tmp_path_factory.mktemp("little") / "little.ttl"
    path.write_text(TRIPLES)
    return GraphFacts.load(path, little_schema())
