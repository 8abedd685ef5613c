"""Reranking by a cross-encoder: the order is the model's, whatever else is asked."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.open import open_retriever
from branchwise.corpora.reranking import RerankingRetriever
from support.corpora.cross_encoder import tiny_cross_encoder
from support.corpora.small import TWELVE, bm25_corpus

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("encoder")]
QUERIES = ["Which volcano is on Sicily?", "the board game of two players", "river"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bm25_corpus(tmp_path_factory.mktemp("corpus"), TWELVE)


def logit(folder: Path, query: str, passage: str) -> float:
    """The score of one pair, by transformers alone."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(
        query, passage, truncation=True, max_length=64, return_tensors="pt"
    )
    with torch.inference_mode():
        found = AutoModelForSequenceClassification.from_pretrained(folder)(**tokens).logits
    return float(found[0, 0])


def test_passages_come_in_the_order_of_the_models_own_scores(model: Path, corpus: Path) -> None:
    plain = open_retriever(corpus)
    reranked = RerankingRetriever(plain, model)
    for query in QUERIES:
        (found,) = reranked.search([query], 50)
        (before,) = plain.search([query], 50)
        assert {hit.passage.id for hit in found} == {hit.passage.id for hit in before}
        expected = {hit.passage.id: logit(model, query, hit.passage.contents) for hit in before}
        assert [hit.passage.id for hit in found] == sorted(expected, key=lambda id: -expected[id])
        assert {hit.passage.id: hit.score for hit in found} == pytest.approx(expected, abs=1e-4)


def test_a_ranking_depends_neither_on_k_nor_on_other_queries(model: Path, corpus: Path) -> None:
    reranked = RerankingRetriever(open_retriever(corpus), model)
    together = reranked.search(QUERIES, 50)
    assert [reranked.search([query], 50)[0] for query in QUERIES] == together
    assert [found[:2] for found in together] == reranked.search(QUERIES, 2)
    assert reranked.search(["nothing like it: xyzzy"], 3) == [[]]


def test_a_long_passage_is_cut_as_the_model_can_read_it(model: Path, tmp_path: Path) -> None:
    long = bm25_corpus(tmp_path, {"a": f"Etna\n{'volcano ' * 20_000}", "b": "Etna\nash"})
    found = RerankingRetriever(open_retriever(long), model).search(["Etna"], 2)
    assert {hit.passage.id for hit in found[0]} == {"a", "b"}


def test_its_identity_is_of_the_weights_and_not_of_the_place(
    model: Path, corpus: Path, tmp_path: Path
) -> None:
    plain = open_retriever(corpus)
    moved = shutil.copytree(model, tmp_path / "tiny")
    other = tiny_cross_encoder(tmp_path / "other", seed=1).rename(tmp_path / "elsewhere")
    identity = RerankingRetriever(plain, model).identity
    assert RerankingRetriever(plain, moved).identity == identity
    assert RerankingRetriever(plain, other).identity["digest"] != identity["digest"]
    assert identity["parts"] == [dict(plain.identity)]
    assert str(model) not in json.dumps(identity)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda folder: shutil.rmtree(folder), "no such folder"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights in safetensors"),
        (lambda folder: (folder / "config.json").write_text("{"), "holds no cross-encoder"),
        (lambda folder: edit(folder, architectures=["BertModel"]), "its model scores no pairs"),
        (lambda folder: edit(folder, hidden_size=32), "cannot be loaded|can be loaded"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "can be loaded"),
    ],
)
def test_a_folder_without_such_a_model_is_refused(
    model: Path, corpus: Path, tmp_path: Path, damage: Any, problem: str
) -> None:
    folder = shutil.copytree(model, tmp_path / "model")
    damage(folder)
    with pytest.raises(InputError, match=problem) as refused:
        RerankingRetriever(open_retriever(corpus), folder)
    assert str(refused.value).startswith(str(folder))
    assert "\n" not in str(refused.value)


def edit(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def test_a_model_with_several_scores_for_a_pair_is_refused(corpus: Path, tmp_path: Path) -> None:
    folder = tiny_cross_encoder(tmp_path / "classes", scores=3)
    with pytest.raises(InputError, match="gives 3 scores for a pair, not one"):
        RerankingRetriever(open_retriever(corpus), folder)
