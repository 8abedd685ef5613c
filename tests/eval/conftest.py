"""Makes `scoring_cases` importable: test folders are no packages."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from study_cases import make_parts


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that study files of these tests lie in."""
    return make_parts(tmp_path_factory.mktemp("study"))
