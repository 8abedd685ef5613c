"""Another Python makes the same worlds, questions, answers and scores, to the last digit.

The other one is that of an environment beside this one's: `make quick PYTHON=python3.13
VENV=.venv-light` makes it.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.usefixtures("process"), pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SEEDS = (1, 7)
WORLD_FILES = ("corpus.jsonl", "kg.nt.gz", "names.jsonl", "world.json", "questions.jsonl")
STUDY = """\
name: both
questions: W7/questions.jsonl
nodes: {rerank: rerank.py:rerank}
base: {model: offline, corpus: W7, kg: W7, retriever: bm25, k: 5, tools: [local_retriever]}
factors:
  expansion: [off, on]
  extraction: [off, on]
  rerank: [off, on]
  tools: [[local_retriever], [local_retriever, wikidata_search, wikisparql]]
"""


def minor_of(python: Path) -> str:
    """The version of an interpreter that has the product; else nothing."""
    code = "import sys, branchwise; print(*sys.version_info[:2])"
    return subprocess.run((python, "-c", code), capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def folders(tmp_path_factory, process) -> tuple[Path, Path]:
    """What this Python and another one made by the same commands."""
    here = " ".join(map(str, sys.version_info[:2]))
    others = [one for one in ROOT.glob(".venv*/bin/python") if minor_of(one) not in ("", here)]
    if not others:
        pytest.skip("no environment of another Python: make quick PYTHON=... VENV=.venv-light")
    made = tmp_path_factory.mktemp("this"), tmp_path_factory.mktemp("other")
    for python, folder in zip((Path(sys.executable), others[0]), made, strict=True):
        make(python, folder)
    return made


def make(python: Path, folder: Path) -> None:
    """Three worlds with their questions, and a study of the second."""

    def command(*words: object) -> str:
        called = (python, "-m", "branchwise", *map(str, words))
        ended = subprocess.run(called, cwd=folder, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    for seed in SEEDS:
        world = f"W{seed}"
        command("world", "make", "--entities", 200, "--seed", seed, "--out", world)
        command("kg", "build", world)
        asked = ("--n", 8, "--ambiguous", 0.5, "--seed", seed)
        command("questions", "generate", "--kg", world, *asked, "--out", f"{world}/questions.jsonl")
    command("corpus", "index", "W7", "--kind", "bm25")
    shutil.copy(ROOT / "examples" / "plugins" / "rerank.py", folder)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "scores.json").write_text(command("ablate", "study.yaml", "--out", "S", "--json"))


@pytest.mark.parametrize("seed", SEEDS)
def test_worlds_and_questions_are_the_same_bytes(folders, seed: int) -> None:
    one, other = (folder / f"W{seed}" for folder in folders)
    for name in WORLD_FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_scores_of_a_study_are_equal_to_the_last_digit(folders) -> None:
    one, other = (
        re.sub(r'"seconds": [\d.e-]+', "", (folder / "scores.json").read_text())
        for folder in folders
    )
    assert one == other
    assert len(json.loads((folders[0] / "scores.json").read_text())) == 5
