"""What inputs are put beside: a corpus, a graph, a world, runs. Made once, by typed commands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

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


class Ground:
    """Folders that checks read, each made at its first use, or found where it was made."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        final = self.path / name
        if not final.exists():
            unfinished = self.path / f".{name}"
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished)
            unfinished.rename(final)
        return final

    def copied(self, name: str, to: Path) -> None:
        """A copy, times of change and all, in the place of what is there."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(getattr(self, name), to)

    @property
    def questions(self) -> Path:
        """A question set: a file of one ambiguous and one plain question."""

        def make(path: Path) -> None:
            plain = {"id": "q2", "question": "Who directed Jaws?"}
            plain["answers"] = {"default": ["Steven Spielberg"]}  # type: ignore[assignment]
            path.write_text("".join(json.dumps(one) + "\n" for one in (QUESTION, plain)))

        return self._made("questions.jsonl", make)

    @property
    def corpus(self) -> Path:
        """A corpus of twelve films with an index."""

        def make(path: Path) -> None:
            lines = (_FILMS / "corpus.jsonl").read_bytes().splitlines()[:12]
            source = self.path / "few.jsonl"
            source.write_bytes(b"\n".join(lines))
            typed_well("corpus", "build", "--from", source, "--out", path)
            typed_well("corpus", "index", path, "--kind", "bm25")

        return self._made("C", make)

    @property
    def kg(self) -> Path:
        """A graph of the films in `SLICE`."""
        return self._made(
            "G", lambda path: typed_well("kg", "build", SLICE / "films.nt", "--out", path) and None
        )

    @property
    def world(self) -> Path:
        """A small world with its graph and index."""

        def make(path: Path) -> None:
            typed_well("world", "make", "--entities", 120, "--seed", 3, "--out", path)
            typed_well("kg", "build", path)
            typed_well("corpus", "index", path, "--kind", "bm25")

        return self._made("W", make)

    @property
    def run(self) -> Path:
        """A run of three questions with searches, graph tools and extraction, scored."""

        def make(path: Path) -> None:
            questions = self.path / "made.jsonl"
            typed_well(
                *("questions", "generate", "--kg", self.world, "--n", 3, "--seed", 5),
                *("--out", questions),
            )
            typed_well(
                *("run", "--questions", questions, "--corpus", self.world, "--kg", self.world),
                *("--expand", "--extract", "--model", "offline", "--out", path),
            )

        return self._made("R", make)

    @property
    def parts(self) -> Path:
        """The runs of two questions, one each, four times each."""

        def make(path: Path) -> None:
            for name in ("q1", "q2"):
                ids = self.path / f"{name}.txt"
                ids.write_text(name)
                typed_well(
                    *("run", "--questions", self.questions, "--corpus", self.corpus),
                    *("--retriever", "bm25", "--epochs", 4, "--ids", ids),
                    *("--out", path / name[1:]),
                )

        return self._made("parts", make)

    @property
    def study(self) -> Path:
        """A study of two systems over the corpus."""

        def make(path: Path) -> None:
            file = self.path / "study.yaml"
            file.write_text(
                f"name: fuzz\nquestions: {self.questions}\nbase: {{corpus: {self.corpus}, "
                "retriever: bm25}\nfactors: {expansion: [off, on]}\n"
            )
            typed_well("ablate", file, "--out", path)

        return self._made("S", make)
