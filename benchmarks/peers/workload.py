"""What both harnesses are given: questions, passages, and where the model is."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PASSAGES, WORDS, K = 2000, 100, 5
SERVER = Path(__file__).with_name("server.py")


def write_questions(path: Path, count: int) -> None:
    """Ambiguous questions with two readings, in Branchwise's form."""
    readings = {"1986": ["Ann Bell"], "1995": ["Bob Cole", "Cy Dane"]}
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            branches = [
                {"name": f"Heat {n} ({year} film)", "answers": [{"text": text} for text in texts]}
                for year, texts in readings.items()
            ]
            question = {"id": f"q{n}", "question": f"Who is in Heat {n}?", "ambiguous": True}
            file.write(json.dumps(question | {"branches": branches}) + "\n")


def write_corpus(folder: Path) -> None:
    """A corpus folder with an index by BM25; its passages are in `corpus.jsonl`."""
    source = folder.with_suffix(".jsonl")
    write_passages(source)
    branchwise = [sys.executable, "-m", "branchwise", "corpus"]
    for rest in (
        ["build", "--from", str(source), "--out", str(folder)],
        ["index", str(folder), "--kind", "bm25"],
    ):
        subprocess.run([*branchwise, *rest], check=True, capture_output=True)


def write_passages(path: Path, seed: int = 1) -> None:
    """Passages of different lengths about films."""
    source = random.Random(seed)
    words = [f"{a}{b}{c}" for a in "bdklmnr" for b in ("al", "en", "or", "ist") for c in "aeiostn"]
    with path.open("w", encoding="utf-8") as file:
        for n in range(PASSAGES):
            text = " ".join(source.choices(words, k=source.randint(WORDS // 2, WORDS * 3 // 2)))
            contents = f"Heat {n}\n{text}"
            file.write(json.dumps({"id": f"p{n}", "contents": contents}) + "\n")


@contextmanager
def server(delay: float) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    command = [sys.executable, str(SERVER), "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()
