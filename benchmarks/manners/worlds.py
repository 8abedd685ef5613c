"""Worlds, their indexes and questions, made once in a folder by the product's own commands."""

import subprocess
import sys
from pathlib import Path

ENTITIES = 3000
AMBIGUOUS = 0.6
INDEXES = {"bm25": ("bm25",), "flat": ("flat",), "hybrid": ("bm25", "flat")}
RETRIEVER = "hybrid"


def world(work: Path, seed: int, retriever: str = RETRIEVER) -> Path:
    """The world of `ENTITIES` with this seed and the indexes that a retriever searches; what is
    there already is kept."""
    folder = work / f"world-{seed}"
    if not folder.exists():
        branchwise("world", "make", "--entities", ENTITIES, "--seed", seed, "--out", folder)
    for kind in INDEXES[retriever]:
        if not (folder / "index" / kind).exists():
            branchwise("corpus", "index", folder, "--kind", kind)
    return folder


def questions(world: Path, count: int, seed: int) -> Path:
    """Generated questions over a world, `AMBIGUOUS` of them about a shared name."""
    file = world / f"questions-{count}-{seed}.jsonl"
    if not file.exists():
        chosen = ("--n", count, "--ambiguous", AMBIGUOUS, "--seed", seed)
        branchwise("questions", "generate", "--kg", world, *chosen, "--out", file)
    return file


def branchwise(*arguments: object) -> None:
    """Run a command of the product; ends this one with its last line where it fails."""
    command = [sys.executable, "-m", "branchwise", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.strip().splitlines()[-1])
