"""Source archive and wheel as others get them: what they hold, and an install without extras."""

import json
import os
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise.corpora.build import build_corpus
from support.chat_server import call, say
from support.distribution import ROOT, build, copy_of_the_tree, environment
from support.retrieval_server import RetrievalServer

pytestmark = pytest.mark.usefixtures("process")

Run = Callable[..., "subprocess.CompletedProcess[str]"]
BRANCHWISE = ("-m", "branchwise")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, process: None) -> tuple[Path, Path, Path]:
    """The tree, the unpacked source archive, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("distribution")
    try:
        tree = copy_of_the_tree(folder / "tree")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the tree is no git checkout")
    _, wheel = build(tree, folder)
    [unpacked] = (folder / "unpacked").iterdir()
    return tree, unpacked, wheel


@pytest.fixture(scope="module")
def light(built: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python where `pip install branchwise` was all."""
    return environment(tmp_path_factory.mktemp("light") / "venv", built[2])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "p.jsonl").write_text('{"id": "p1", "contents": "Jaws\\nA film."}\n')
    return build_corpus(str(folder / "p.jsonl"), folder / "C").corpus.path


@pytest.fixture
def run(light: Path, tmp_path: Path) -> Run:
    """Run that Python in an empty folder."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}

    def called(
        *words: object, code: int = 0, here: str = "."
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            (light, *map(str, words)),
            cwd=tmp_path / here,
            env={**kept, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "sk-test"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return called


@pytest.mark.long
def test_the_source_archive_holds_everything_but_git_s_own(built: tuple[Path, Path, Path]):
    tree, unpacked, _ = built
    known = {file.relative_to(tree) for file in tree.rglob("*") if file.is_file()}
    assert {file for file in known if not (unpacked / file).exists()} <= {Path(".gitignore")}


def test_the_citation_has_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.long
def test_a_light_install_runs_scores_and_reports_a_remote_search(run, chat_server, tmp_path):
    chat_server.play(
        [
            call("local_retriever", query="Jaws"),
            say('{"answers": {"default": ["Steven Spielberg"]}}'),
        ]
    )
    question = {"id": "q", "question": "Who?", "answers": {"default": ["Steven Spielberg"]}}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))
    with RetrievalServer() as search:
        asked = ("--questions", "q.jsonl", "--model", f"openai:scripted@{chat_server.url}")
        run(*BRANCHWISE, "run", *asked, "--retriever", f"http:{search.url}", "--out", "R")
        assert search.requests
    [report] = json.loads(run(*BRANCHWISE, "report", "R", "--json").stdout)
    assert report["aggregates"]["all"]["strict_recall"]["mean"] == 1
    run(*BRANCHWISE, "report", "R", "--html", "page.html", "--latex", "table.tex", "--csv", "csv")
    assert "Who?" in run(*BRANCHWISE, "trace", "R", "--print").stdout
    lacking = "import importlib.util as u; print([u.find_spec(n) for n in ('torch', 'faiss')])"
    assert run("-c", lacking).stdout == "[None, None]\n"


@pytest.mark.long
def test_a_light_install_builds_and_searches_a_corpus_by_words(run, tmp_path):
    (tmp_path / "p.jsonl").write_text('{"id": "p1", "contents": "Jaws\\nA film."}\n')
    built = run(*BRANCHWISE, "corpus", "build", "--from", "p.jsonl", "--out", "C")
    assert built.stdout.endswith("next: branchwise corpus index C --kind bm25\n")
    run(*BRANCHWISE, "corpus", "index", "C", "--kind", "bm25")
    assert "[p1] Jaws" in run(*BRANCHWISE, "corpus", "search", "C", "jaws").stdout


@pytest.mark.long
def test_a_light_install_makes_and_queries_a_world(run):
    run(*BRANCHWISE, "world", "make", "--entities", "60", "--seed", "7", "--out", "W")
    run(*BRANCHWISE, "kg", "build", "W")
    query = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
    assert "n" in run(*BRANCHWISE, "kg", "query", "W", query).stdout


@pytest.mark.long
def test_a_light_install_runs_the_demo_and_what_it_says_to_type_next(run, light, tmp_path):
    (tmp_path / "here").mkdir()
    shown = run(*BRANCHWISE, "demo", "--questions", "3", here="here").stdout
    assert "answer sets · run" in shown
    made = [str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*/*")]
    assert ([file.name for file in tmp_path.iterdir()], made) == (["here"], ["here/runs/demo"])
    assert (tmp_path / "here" / "runs" / "demo" / "world" / "study" / "report.html").is_file()
    alias, _, errors, trace, *_ = (
        shlex.split(line, comments=True) for line in shown.split("Next:\n")[1].splitlines()
    )
    assert alias == ["alias", f"branchwise={shlex.join((str(light), *BRANCHWISE))}"]
    assert "never retrieved" in run(*BRANCHWISE, *errors[1:], here="here").stdout
    assert "Reckless Marten" in run(*BRANCHWISE, *trace[1:], "--print", here="here").stdout
    origin = run(
        "-c", "import branchwise, branchwise.kg as kg; print(branchwise.__file__, kg.__file__)"
    )
    assert all(str(light.parents[1]) in path for path in origin.stdout.split())


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("corpus", "index", "C", "--kind", "flat"), "local"),
        (("serve", "retrieve", "--corpus", "C"), "serve"),
        (("serve", "mcp", "--corpus", "C"), "mcp"),
        (("ask", "Who?", "--tool", "mcp:cat"), "mcp"),
        (("ask", "Who?", "--retriever", "flashrag:f.yaml"), "flashrag"),
        (("questions", "check", "parquet:q.parquet"), "parquet"),
        (("questions", "check", "hf:me/films"), "datasets"),
    ],
)
def test_a_missing_extra_is_one_line_with_its_command(run, corpus, tmp_path, words, extra):
    shutil.copytree(corpus, tmp_path / "C")
    for name in ("q.parquet", "f.yaml"):
        (tmp_path / name).touch()
    said = run(*BRANCHWISE, *words, code=2)
    assert (said.stdout, said.stderr.count("\n")) == ("", 1)
    assert said.stderr.endswith(f"not installed; pip install 'branchwise[{extra}]'\n")
