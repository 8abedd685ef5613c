"""The examples of plug-ins do what they say, and change scores where they say so."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from branchwise import ToolError
from branchwise.base.plugins.specs import find_plugin
from branchwise.corpora.build import build_corpus, build_index

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2] / "examples"
EXAMPLES = ROOT / "plugins"
pages = find_plugin(f"{EXAMPLES / 'disambiguation.py'}:disambiguation", "tools").object
best = find_plugin(f"{EXAMPLES / 'rerank.py'}:best", "nodes").object
RerankSettings = find_plugin(f"{EXAMPLES / 'rerank.py'}:Settings", "nodes").object


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples with the corpus that disambiguation.yaml says to make."""
    root = tmp_path_factory.mktemp("examples")
    shutil.copytree(EXAMPLES, root / "plugins", ignore=shutil.ignore_patterns("F", "__pycache__"))
    shutil.copytree(ROOT / "films", root / "films")
    corpus = root / "plugins" / "F"
    build_corpus(str(root / "films" / "corpus.jsonl"), corpus)
    build_index(corpus, "bm25")
    shutil.copy(root / "plugins" / "film_names.jsonl", corpus / "names.jsonl")
    return root / "plugins"


def report(type_in: Any, study: Path, out: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a study of two systems; the report of each."""
    code, _, said = type_in("ablate", study, "--out", out)
    assert code == 0, said
    code, shown, said = type_in("report", out, "--json")
    assert code == 0, said
    base, other = json.loads(shown)
    return base, other


def mean(run: dict[str, Any], metric: str, subset: str = "ambiguous") -> float:
    return run["aggregates"][subset][metric]["mean"]


def errors(run: dict[str, Any]) -> dict[str, Any]:
    return run["analysis"]["errors"]["all"]


def test_a_page_lists_titles_and_is_cut_where_the_settings_say_so():
    given = pages.settings(names=EXAMPLES / "film_names.jsonl", most=2)
    result = pages(" a star IS born ", given, None)
    assert result.text.splitlines() == [
        "A Star Is Born may refer to:",
        "  A Star Is Born (1937 film)",
        "  A Star Is Born (1954 film)",
        "  … and 2 more",
    ]
    assert len(result.artifact["titles"]) == 4
    shown = list(pages.render({"name": "A Star Is Born"}, result.text, result.artifact))
    assert shown[:2] == ["4 titles for 'A Star Is Born'", "A Star Is Born (1937 film)"]


def test_missing_names_are_said_to_the_model(tmp_path: Path):
    with pytest.raises(ToolError, match="this tool has no names"):
        pages("King Kong", pages.settings(), None)
    with pytest.raises(ToolError, match="cannot be read: No such file"):
        pages("King Kong", pages.settings(names=tmp_path / "none.jsonl"), None)


PASSAGES = [
    {"id": "b", "title": "Oslo", "text": "A city.", "score": 9.0},
    {"id": "c", "title": "King Kong (1933 film)", "text": "Directed by two men.", "score": 2.0},
    {"id": "a", "title": "King Kong (1976 film)", "text": "Directed by one man.", "score": 1.0},
]


def test_passages_are_scored_by_the_share_of_the_words_that_they_have():
    # Of who, directed, king, kong, 1976 and film the last lacks "who", the second 1976, too.
    ranked = best("Who directed King Kong? 1976 film", PASSAGES, RerankSettings(least=0.1))
    assert [(p["id"], p["score"]) for p in ranked] == [("a", 5 / 6), ("c", 4 / 6)]
    assert [p["id"] for p in best("king", PASSAGES, RerankSettings(least=-1))] == ["a", "c", "b"]
    assert [p["id"] for p in best("king", PASSAGES, RerankSettings(most=1))] == ["a"]
    assert best("?", PASSAGES, RerankSettings()) == []
    assert PASSAGES[0]["score"] == 9.0


@pytest.mark.usefixtures("encoder")
def test_passages_are_scored_by_an_encoder():
    settings = RerankSettings(by="encoder", least=-1)
    ranked = best("Which gorilla film came in 1976?", PASSAGES, settings)
    assert [p["id"] for p in ranked] == ["a", "c", "b"]
    assert all(-1 <= p["score"] <= 1 for p in ranked)


@pytest.mark.long
def test_the_disambiguation_page_finds_branches_that_searching_misses(
    examples: Path, tmp_path: Path, type_in
):
    base, pages = report(type_in, examples / "disambiguation.yaml", tmp_path / "out")
    assert pages["name"] == "tools: +disambiguation"
    assert mean(pages, "strict_recall") > mean(base, "strict_recall") + 0.01
    assert mean(pages, "support_recall_all") > mean(base, "support_recall_all") + 0.1
    assert errors(pages)["branches"] < errors(base)["branches"]
    # It lists nothing for a question about one thing: there nothing changes.
    for metric in ("strict_precision", "strict_recall"):
        assert mean(pages, metric, "unambiguous") == mean(base, metric, "unambiguous")


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_a_server_of_another_program_brings_the_same_scores_as_the_tool(
    examples: Path, tmp_path: Path, type_in, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("mcp")
    monkeypatch.chdir(examples)
    _, of_server = report(type_in, Path("mcp.yaml"), tmp_path / "mcp")
    _, of_tool = report(type_in, Path("disambiguation.yaml"), tmp_path / "tool")
    assert of_server["aggregates"] == of_tool["aggregates"]


@pytest.mark.long
def test_the_reranker_drops_passages_and_the_report_says_what_that_lost(
    examples: Path, tmp_path: Path, type_in
):
    base, reranked = report(type_in, examples / "rerank.yaml", tmp_path / "out")
    assert reranked["name"] == "+rerank"
    assert errors(base)["lost_at"]["node"] == 0
    assert errors(reranked)["lost_at"]["node"] > 0
    assert mean(reranked, "strict_precision", "unambiguous") > mean(
        base, "strict_precision", "unambiguous"
    )
    assert mean(reranked, "strict_recall") < mean(base, "strict_recall")
