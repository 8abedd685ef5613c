"""Taking over an index in the form of FlashRAG's builder: a faiss file, written by faiss."""

import functools
import json
import shutil

import numpy as np
import pytest

from branchwise.base.errors import InputError
from branchwise.corpora import encoders
from branchwise.corpora.build import build_index
from branchwise.corpora.encoder_models import DEFAULT_ENCODER, EncoderSettings, find_model
from branchwise.corpora.encoders import load_encoder, reopen_encoder
from branchwise.corpora.folder import Corpus
from branchwise.corpora.open import open_retriever

QUERIES = ["volcano in Sicily", "board games of strategy", "which planet is red?", "x", "music"]


_LOAD, _REOPEN = functools.cache(load_encoder), functools.cache(reopen_encoder)


@pytest.fixture(autouse=True)
def each_encoder_is_loaded_once(monkeypatch):
    """Loading takes a second or two; what is loaded is the real one."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(encoders, "load_encoder", _LOAD)
    monkeypatch.setattr(encoders, "reopen_encoder", _REOPEN)


@pytest.fixture(scope="module")
def model():
    """The encoder as sentence-transformers loads it, without any of our code."""
    from sentence_transformers import SentenceTransformer

    folder = str(find_model(DEFAULT_ENCODER).folder)
    return SentenceTransformer(folder, local_files_only=True, device="cpu")


@pytest.fixture(scope="module")
def contents(indexed_dir):
    lines = (indexed_dir / "corpus.jsonl").read_text().splitlines()
    return [json.loads(line)["contents"] for line in lines]


@pytest.fixture(scope="module")
def vectors(model, contents):
    return model.encode(contents, normalize_embeddings=True)


@pytest.fixture
def corpus(tmp_path, indexed_dir):
    folder = tmp_path / "C"
    folder.mkdir()
    shutil.copy(indexed_dir / "corpus.jsonl", folder)
    return folder


def import_index(corpus, file, **more):
    """As `corpus index --from-flashrag`."""
    return build_index(corpus, "flat", vectors=file, **{"name": "flashrag"} | more)


def write_index(folder, vectors, kind="Flat", metric=None):
    """What FlashRAG's `save_faiss_index` writes: a factory's index of inner products."""
    import faiss

    metric = faiss.METRIC_INNER_PRODUCT if metric is None else metric
    index = faiss.index_factory(vectors.shape[1], kind, metric)
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if not index.is_trained:
        index.train(vectors)
    index.add(vectors)
    file = folder / f"minilm_{kind}.index"
    faiss.write_index(index, str(file))
    return file


def found(retriever, k):
    return [[(h.passage.id, h.score) for h in hits] for hits in retriever.search(QUERIES, k)]


def expected(model, vectors, corpus, k, prefix=""):
    """Ranked by plain inner products, in numpy."""
    opened, rankings = Corpus.open(corpus), []
    for query in QUERIES:
        scores = vectors @ model.encode(prefix + query, normalize_embeddings=True)
        best = np.argsort(-scores)[:k]
        rankings.append([(opened.id(int(row)), float(scores[row])) for row in best])
    return rankings


def assert_same(rankings, wanted, within=1e-5):
    for ranking, want in zip(rankings, wanted, strict=True):
        assert [id for id, _ in ranking] == [id for id, _ in want]
        assert [s for _, s in ranking] == pytest.approx([s for _, s in want], abs=within)


def test_it_ranks_as_the_vectors_in_the_file_do(corpus, model, vectors):
    made = import_index(corpus, write_index(corpus, vectors))
    assert made == corpus / "index" / "flashrag"
    assert_same(found(open_retriever(corpus), 12), expected(model, vectors, corpus, 12))


@pytest.mark.long
def test_half_precision_is_a_choice(corpus, model, vectors):
    import_index(corpus, write_index(corpus, vectors), dtype="float16")
    wanted = expected(model, vectors, corpus, 2)
    assert_same(found(open_retriever(corpus), 2), wanted, within=1e-3)


def test_prefixes_pooling_and_length_are_kept_with_the_index(corpus, model, contents):
    settings = EncoderSettings("query: ", "passage: ", "cls", 64)
    ours = _LOAD(DEFAULT_ENCODER, "torch", settings)
    vectors = ours.encode_passages(contents)
    import_index(corpus, write_index(corpus, vectors), settings=settings)
    retriever = open_retriever(corpus)
    encoder = retriever.identity["encoder"]
    assert sorted(encoder["given"]) == ["max_tokens", "passage_prefix", "pooling", "query_prefix"]
    assert (encoder["pooling"], encoder["max_tokens"]) == ("cls", 64)
    queries = ours.encode_queries(QUERIES)
    best = [Corpus.open(corpus).id(int(row)) for row in np.argmax(queries @ vectors.T, axis=1)]
    assert [hits[0].passage.id for hits in retriever.search(QUERIES, 1)] == best


@pytest.mark.usefixtures("encoder")
def test_cls_pooling_takes_the_first_tokens_vector(model):
    import torch

    encoder = _LOAD(DEFAULT_ENCODER, "torch", EncoderSettings(pooling="cls"))
    features = model.preprocess(["Etna is a volcano."])
    with torch.inference_mode():
        first = model[0](features)["token_embeddings"][0, 0]
    wanted = torch.nn.functional.normalize(first, dim=0).numpy()
    assert encoder.encode_passages(["Etna is a volcano."])[0] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.usefixtures("encoder")
def test_settings_that_are_the_models_own_leave_an_identity_as_it_was():
    plain = _LOAD(DEFAULT_ENCODER, "torch", EncoderSettings()).identity
    assert plain.given is None
    assert "given" not in plain.model_dump(exclude_none=True)
    assert _REOPEN(plain).identity == plain


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (EncoderSettings(passage_prefix="passage: "), "gets another vector"),
        (EncoderSettings(pooling="cls"), "gets another vector"),
    ],
)
def test_another_way_to_encode_is_refused(corpus, vectors, settings, said):
    with pytest.raises(InputError, match=rf"{said} .cosine 0\.\d\d.; name what it was built with"):
        import_index(corpus, write_index(corpus, vectors), settings=settings)
    assert not (corpus / "index").exists()


def test_the_command_takes_the_file_and_says_what_to_type_next(corpus, vectors):
    from typer.testing import CliRunner

    from branchwise.cli import app

    file = write_index(corpus, vectors)
    run = CliRunner().invoke(
        app, ["corpus", "index", str(corpus), "--from-flashrag", str(file), "--name", "taken"]
    )
    assert run.exit_code == 0, run.output
    assert "--retriever taken" in run.output
    refused = CliRunner().invoke(
        app, ["corpus", "index", str(corpus), "--kind", "bm25", "--from-flashrag", str(file)]
    )
    assert isinstance(refused.exception, InputError)
