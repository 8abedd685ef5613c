"""What study files of these tests name."""

from pathlib import Path

import pytest

from support.eval.study_cases import make_parts


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that study files of these tests lie in."""
    return make_parts(tmp_path_factory.mktemp("study"))
