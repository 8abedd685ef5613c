"""What inputs are put beside: a corpus, a graph, a world, runs. Made once, by typed commands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzing.typed import typed_well

_TESTS = Path(__file__).parents[2]
_FILMS = _TESTS.parent / "examples" / "films"
SLICE = _TESTS / "synthesis" / "real_slice"
"""Triples, a schema and shared names of real films."""

WORKED = _TESTS.parent / "examples" / "benchmarks" / "mdcr-worked.json"
"""Documents with conditions."""

QUESTION = {
    "id": "q1",
    "question": "Who directed King Kong?",
    "answers": {
        "King Kong (1933 film)": ["Merian C. Cooper"],
        "King Kong (2005 film)": ["Jackson"],
    },
}


def _made(name: str) -> Callable[[Callable[[Any, Path], None]], Any]:
    """What the method makes, under this name: made once, and whole or not at all."""

    def decorate(make: Callable[[Any, Path], None]) -> Any:
        def found(ground: "Ground") -> Path:
            final, unfinished = ground.path / name, ground.path / f".{name}"
            if not final.exists():
                shutil.rmtree(unfinished, ignore_errors=True)
                make(ground, unfinished)
                unfinished.rename(final)
            return final

        return property(found)

    return decorate


class Ground:
    """Folders that checks read, each made at its first use, or found where it was made."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def copied(self, name: str, to: Path) -> None:
        """A copy, times of change and all, in the place of what is there."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(getattr(self, name), to)

    @_made("questions.jsonl")
    def questions(self, path: Path) -> None:
        """A question set: a file of one ambiguous and one plain question."""
        plain = {"id": "q2", "question": "Who directed Jaws?"}
        plain["answers"] = {"default": ["Steven Spielberg"]}  # type: ignore[assignment]
        path.write_text("".join(json.dumps(one) + "\n" for one in (QUESTION, plain)))

    @_made("C")
    def corpus(self, path: Path) -> None:
        """A corpus of twelve films with an index."""
        lines = (_FILMS / "corpus.jsonl").read_bytes().splitlines()[:12]
        source = self.path / "few.jsonl"
        source.write_bytes(b"\n".join(lines))
        typed_well("corpus", "build", "--from", source, "--out", path)
        typed_well("corpus", "index", path, "--kind", "bm25")

    @_made("G")
    def kg(self, path: Path) -> None:
        """A graph of the films in `SLICE`."""
        typed_well("kg", "build", SLICE / "films.nt", "--out", path)

    @_made("W")
    def world(self, path: Path) -> None:
        """A small world with its graph and index."""
        typed_well("world", "make", "--entities", 120, "--seed", 3, "--out", path)
        typed_well("kg", "build", path)
        typed_well("corpus", "index", path, "--kind", "bm25")

    @_made("R")
    def run(self, path: Path) -> None:
        """A run of three questions with searches, graph tools and extraction, scored."""
        questions = self.path / "made.jsonl"
        typed_well(
            *("questions", "generate", "--kg", self.world, "--n", 3, "--seed", 5),
            *("--out", questions),
        )
        typed_well(
            *("run", "--questions", questions, "--corpus", self.world, "--kg", self.world),
            *("--expand", "--extract", "--model", "offline", "--out", path),
        )

    @_made("parts")
    def parts(self, path: Path) -> None:
        """The runs of two questions, one each, four times each."""
        for name in ("q1", "q2"):
            ids = self.path / f"{name}.txt"
            ids.write_text(name)
            typed_well(
                *("run", "--questions", self.questions, "--corpus", self.corpus),
                *("--retriever", "bm25", "--epochs", 4, "--ids", ids, "--out", path / name[1:]),
            )

    @_made("S")
    def study(self, path: Path) -> None:
        """A study of two systems over the corpus."""
        file = self.path / "study.yaml"
        file.write_text(
            f"name: fuzz\nquestions: {self.questions}\nbase: {{corpus: {self.corpus}, "
            "retriever: bm25}\nfactors: {expansion: [off, on]}\n"
        )
        typed_well("ablate", file, "--out", path)
