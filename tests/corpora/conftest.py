"""A corpus of twelve passages, indexed once; the real encoder where a test needs it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

PASSAGES = {
    "volcano": ("Etna", "Etna is an active volcano on the east coast of Sicily."),
    "volcano-2": ("Vesuvius", "Vesuvius buried Pompeii under ash in the year 79."),
    "river": ("Rhine", "The Rhine rises in the Alps and flows into the North Sea."),
    "river-2": ("Danube", "The Danube flows through ten countries to the Black Sea."),
    "bread": ("Sourdough", "Sourdough bread rises with wild yeast and bacteria."),
    "cheese": ("Gouda", "Gouda is a yellow cheese made of the milk of cows."),
    "chess": ("Chess", "Chess is played by two players on a board of 64 squares."),
    "go": ("Go", "Go is a board game of territory that was invented in China."),
    "moon": ("Moon", "The Moon is the only natural satellite of the Earth."),
    "mars": ("Mars", "Mars is the fourth planet and appears red from iron oxide."),
    "cello": ("Cello", "The cello is a bowed instrument with four strings."),
    "flute": ("Flute", "A flute makes its sound from a flow of air over an opening."),
}


def corpus_lines(passages: dict[str, tuple[str, str]]) -> str:
    return "".join(
        json.dumps({"id": id, "contents": f"{title}\n{text}"}) + "\n"
        for id, (title, text) in passages.items()
    )


@pytest.fixture
def corpus_dir(tmp_path: Path) -> Path:
    """A folder with nothing but a corpus.jsonl, as somebody might lay it there."""
    folder = tmp_path / "C"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(corpus_lines(PASSAGES))
    return folder


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
    from branchwise.corpora.indexing import build_index

    os.environ["HF_HUB_OFFLINE"] = "1"
    folder = tmp_path_factory.mktemp("indexed")
    (folder / "corpus.jsonl").write_text(corpus_lines(PASSAGES))
    build_index(folder, "flat")
    build_index(folder, "bm25")
    return folder
