"""Encoding passages on a GPU: what it changes, and what its memory does not hold.

What is done on a GPU alone is skipped without one.
"""

import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

from branchwise.base.errors import InputError
from branchwise.corpora.encoders import load_encoder

pytestmark = pytest.mark.slow

TEXTS = [f"place {number} is a village {'by the river ' * (number % 30)}" for number in range(600)]
on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers that reads letters."""
    made = tmp_path_factory.mktemp("encoder")
    letters = string.ascii_lowercase + string.digits
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *map("##{}".format, letters),
    ]
    (made / "vocab.txt").write_text("\n".join(vocabulary))
    torch.manual_seed(1)
    shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(vocabulary), intermediate_size=128, **shape)
    BertModel(config).eval().save_pretrained(made / "bert")
    BertTokenizerFast(vocab_file=str(made / "vocab.txt")).save_pretrained(made / "bert")
    words = Transformer(str(made / "bert"), max_seq_length=128)
    SentenceTransformer(modules=[words, Pooling(64, "mean")]).save(str(made / "model"))
    return made / "model"


def test_too_little_memory_for_the_encoder_itself_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB ...")

    monkeypatch.setattr("sentence_transformers.SentenceTransformer", full)
    with pytest.raises(InputError, match=r"too little free memory .* hide it with CUDA_VISIBLE"):
        load_encoder(str(folder), "torch")


def test_too_little_memory_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(str(folder), "torch")

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB ...")

    monkeypatch.setattr(encoder._model, "encode", full)
    with pytest.raises(InputError, match=r"too little free memory .* hide it with CUDA_VISIBLE"):
        encoder.encode_passages(TEXTS)


@on_a_gpu
def test_passages_hardly_change(folder: Path) -> None:
    encoder = load_encoder(str(folder), "torch")
    exact = encoder._model.encode(TEXTS, normalize_embeddings=True)
    made = encoder.encode_passages(TEXTS)
    assert made.dtype == np.float32
    assert np.abs(made - exact).max() < 1e-3
    assert torch.get_float32_matmul_precision() == "highest"


@on_a_gpu
def test_queries_stay_in_float32_and_alone(folder: Path) -> None:
    encoder = load_encoder(str(folder), "torch")
    before = encoder.encode_queries(TEXTS[:20])
    encoder.encode_passages(TEXTS)
    alone = np.vstack([encoder.encode_queries([text]) for text in TEXTS[:20]])
    assert np.array_equal(before, alone)


@on_a_gpu
def test_smaller_batches_do_where_memory_is_short(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load_encoder(str(folder), "torch")
    whole = encoder.encode_passages(TEXTS)
    encode = encoder._model.encode
    tried = []

    def short(texts: list[str], *, batch_size: int, **given: Any) -> Any:
        tried.append(batch_size)
        if batch_size > 64:
            torch.empty(2**50, dtype=torch.uint8, device="cuda")  # a petabyte
        return encode(texts, batch_size=batch_size, **given)

    monkeypatch.setattr(encoder._model, "encode", short)
    made = encoder.encode_passages(TEXTS)
    assert tried == [256, 64]
    assert np.abs(made - whole).max() < 1e-3
