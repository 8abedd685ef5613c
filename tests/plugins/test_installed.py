"""Plug-ins where Branchwise is an installed wheel, outside the checkout, and in a package."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.distribution import ROOT, copy_of_the_tree

pytestmark = pytest.mark.usefixtures("process")

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, process: None) -> Path:
    """A folder with the wheels of Branchwise and of the example package installed in it."""
    folder = tmp_path_factory.mktemp("wheels")
    try:
        tree = copy_of_the_tree(folder / "tree")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the tree is no git checkout")
    build = (*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w")
    for source in (tree, tree / "examples" / "plugins" / "package"):
        subprocess.run((*build, folder / "wheels", source), check=True, capture_output=True)
    wheels = sorted((folder / "wheels").glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in wheels] == ["branchwise", "branchwise_extras"]
    install = (*PIP, "install", "--no-deps", "--no-index", "--target", folder / "site")
    subprocess.run((*install, *wheels), check=True, capture_output=True)
    return folder / "site"


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Run Python in an empty folder, with the installed wheels before anything else."""

    def call(*words: object, code: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            (sys.executable, *map(str, words)),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed), "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call


@pytest.mark.long
def test_the_examples_of_the_wheel_work_where_they_lie(run: Run, installed: Path, tmp_path: Path):
    where = run("-c", "import branchwise; print(branchwise.__file__)").stdout.strip()
    assert Path(where).is_relative_to(installed)
    examples = installed / "branchwise" / "examples"
    names = examples / "plugins" / "film_names.jsonl"
    spec = f"{examples / 'plugins' / 'disambiguation.py'}:disambiguation"
    words = ("--args", '{"name": "King Kong"}', "--set", f"disambiguation.names={names}")
    assert "King Kong (1933 film)" in run("-m", "branchwise", "tools", "try", spec, *words).stdout


@pytest.mark.long
def test_a_package_brings_a_tool_a_node_and_a_metric_by_their_names(
    run: Run, installed: Path, tmp_path: Path
):
    listed = json.loads(run("-m", "branchwise", "tools", "list", "--json").stdout)
    assert {"name": "calculate", "from": "branchwise-extras==0.1.0"} in listed
    words = ("tools", "try", "calculate", "--args", '{"expression": "2 ** 10"}')
    assert "2 ** 10 = 1,024" in run("-m", "branchwise", *words).stdout

    films = installed / "branchwise" / "examples" / "films"
    run("-m", "branchwise", "corpus", "build", "--from", films / "corpus.jsonl", "--out", "F")
    run("-m", "branchwise", "corpus", "index", "F", "--kind", "bm25")
    plugins = ("--tool", "local_retriever", "--tool", "calculate", "--node", "lead_sentences")
    asked = ("--questions", films / "questions.jsonl", "--limit", "6", "--corpus", "F", *plugins)
    run("-m", "branchwise", "run", *asked, "--metric", "answers_given", "--out", "R")
    [report] = json.loads(run("-m", "branchwise", "report", "R", "--json").stdout)
    assert report["aggregates"]["all"]["answers_given"]["n"] == 6
    events = run("-m", "branchwise", "export", "R", "--events").stdout
    kinds = [json.loads(line) for line in events.splitlines()]
    assert any('"lead_sentences"' in json.dumps(one) for one in kinds)


@pytest.mark.long
def test_the_packages_own_test_passes(run: Run):
    test = ROOT / "examples" / "plugins" / "package" / "test_extras.py"
    shown = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", test).stdout
    assert "8 passed" in shown
