"""A corpus of twelve passages, indexed once; the real encoder where a test needs it."""

import importlib.util
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.corpora.small import TWELVE, bare_corpus, both_indexes


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Torch takes seconds to load, and may not be there."""
    is_quick = config.getoption("--quick") or not importlib.util.find_spec("torch")
    return True if is_quick and collection_path.name == "test_encoding_on_a_gpu.py" else None


@pytest.fixture
def corpus_dir(tmp_path: Path) -> Path:
    """A folder with nothing but a corpus.jsonl, as a user may lay it there."""
    return bare_corpus(tmp_path / "C", TWELVE)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of lines (texts as they are, other values as JSON); returns its path."""

    def _write(name: str, *lines: object) -> Path:
        path = tmp_path / name
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    return _write


@pytest.fixture(scope="session")
def indexed_dir(tmp_path_factory: pytest.TempPathFactory, encoder: None) -> Path:
    """The corpus with its flat (real encoder) and bm25 indexes. Not to be changed by tests."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    return both_indexes(tmp_path_factory.mktemp("indexed"), TWELVE)
