"""Passages a second through an encoder, on the GPU if there is one, beside sentence-transformers.

An encoder of BERT's size with random weights, of which only time depends, and passages of made-up
words, 128 tokens on average. "sentence-transformers" is its `encode` with nothing set; the others
are that in other number formats and batches. "branchwise" is what `corpus index` calls. Cosines are
with the vectors that sentence-transformers makes in float32.

    python benchmarks/encoding.py [--passages 20000] [--layers 12] [--hidden 768] [--repeats 3]
"""

import argparse
import statistics
import string
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_machine

WORDS, TOKENS = 20_000, 128
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def write_bert(folder: Path, layers: int, hidden: int) -> None:
    """A BERT whose vocabulary is made-up words, in sentence-transformers' format."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    plain = folder.with_name("plain")
    plain.mkdir(parents=True)
    (plain / "vocab.txt").write_text("\n".join([*SPECIAL, *map(word, range(WORDS))]))
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(SPECIAL) + WORDS,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        intermediate_size=4 * hidden,
    )
    BertModel(config).eval().save_pretrained(plain)
    BertTokenizerFast(vocab_file=str(plain / "vocab.txt")).save_pretrained(plain)
    words = Transformer(str(plain), max_seq_length=512)
    SentenceTransformer(modules=[words, Pooling(hidden, "mean")]).save(str(folder))


def word(number: int) -> str:
    """Four letters, another for each number."""
    made = ""
    for _ in range(4):
        number, letter = divmod(number, 26)
        made += string.ascii_lowercase[letter]
    return made


def passages(count: int) -> Iterator[str]:
    """Of as many words as give the tokens, with the two at the ends; some shorter."""
    chance = np.random.default_rng(1)
    for _ in range(count):
        yield " ".join(
            map(word, chance.integers(0, WORDS, chance.integers(96, 2 * TOKENS - 96) - 2))
        )


def ways(folder: Path) -> dict[str, Callable[[list[str]], Any]]:
    """Ways of encoding by name; the first is the peer."""
    import torch
    from sentence_transformers import SentenceTransformer

    from branchwise.corpora.encoders import load_encoder

    peer, ours = SentenceTransformer(str(folder)), load_encoder(str(folder), "torch")

    def plain(texts: list[str], size: int = 32) -> Any:
        return peer.encode(texts, batch_size=size, normalize_embeddings=True)

    def tf32(texts: list[str]) -> Any:
        torch.set_float32_matmul_precision("high")
        try:
            return plain(texts, 256)
        finally:
            torch.set_float32_matmul_precision("highest")

    found = {"sentence-transformers": plain, "branchwise": ours.encode_passages}
    if torch.cuda.is_available():
        half = SentenceTransformer(str(folder)).half()
        found |= {
            "float32, 256 at a time": lambda texts: plain(texts, 256),
            "TF32, 256 at a time": tf32,
            "float16, 256 at a time": lambda texts: half.encode(
                texts, batch_size=256, normalize_embeddings=True
            ),
        }
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"{describe_machine()}, {gpu}; {options.layers} layers of {options.hidden}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "encoder"
        write_bert(folder, options.layers, options.hidden)
        texts = list(passages(options.passages))
        tried = ways(folder)
        seconds: dict[str, list[float]] = {name: [] for name in tried}
        vectors = {}
        for turn in range(options.repeats + 1):
            for name, way in tried.items():
                began = time.perf_counter()
                vectors[name] = np.asarray(way(texts if turn else texts[:512]), dtype=np.float32)
                if turn:  # the first warms up
                    seconds[name].append(time.perf_counter() - began)
    truth = vectors["sentence-transformers"]
    print(f"{'':<26}{'passages a second':>18}{'least cosine':>14}{'longest - 1':>13}")
    for name, found in vectors.items():
        rate = len(texts) / statistics.median(seconds[name])
        lengths = np.linalg.norm(found.astype(np.float64), axis=1)
        cosine = (found.astype(np.float64) * truth).sum(axis=1).min() / lengths.max()
        print(f"{name:<26}{rate:>18.0f}{cosine:>14.6f}{np.abs(lengths - 1).max():>13.1e}")


if __name__ == "__main__":
    main()
