"""A world of 2,000 entities with its graph, made once; and the files beside the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from branchwise.kg.open import EmbeddedKg
from branchwise.worlds.questions.endpoint_facts import EndpointFacts
from branchwise.worlds.questions.facts import KgFacts
from support.synthesis.little_kg import TRIPLES, little_schema


@pytest.fixture(scope="session")
def world_2000(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a world of 2,000 entities; its graph is built, in `kg`."""
    from branchwise.kg.build import build_kg
    from branchwise.worlds.make import make_world

    folder = tmp_path_factory.mktemp("world") / "w"
    make_world(folder, 2000, 7)
    build_kg([folder], folder / "kg")
    return folder


@pytest.fixture(scope="session")
def facts(world_2000: Path) -> KgFacts:
    """The world's facts, in memory."""
    from branchwise.worlds.domains import world_schema

    return KgFacts.load(world_2000, world_schema())


@pytest.fixture(scope="session")
def asked_facts(world_2000: Path, facts: KgFacts, process: None) -> Iterator[EndpointFacts]:
    """The same facts, asked of the embedded graph in SPARQL."""
    kg = EmbeddedKg(world_2000 / "kg")
    yield EndpointFacts(kg, facts.schema)
    kg.close()


@pytest.fixture(scope="session")
def little_facts(tmp_path_factory: pytest.TempPathFactory) -> KgFacts:
    """The facts of `little_kg`."""
    path = tmp_path_factory.mktemp("little") / "little.ttl"
    path.write_text(TRIPLES)
    return KgFacts.load(path, little_schema())
