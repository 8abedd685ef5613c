"""A retriever that is watched, and a small graph."""

import pytest

from branchwise.kg.open import EmbeddedKg
from support.kg.aurora import aurora_kg
from support.retrievers import EchoRetriever


@pytest.fixture
def echo():
    return EchoRetriever()


@pytest.fixture(scope="session")
def kg(tmp_path_factory, process):
    """`aurora`, asked through the embedded store."""
    opened = EmbeddedKg(aurora_kg(tmp_path_factory.mktemp("graph")), workers=1)
    yield opened
    opened.close()
