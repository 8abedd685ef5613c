"""Vectors that something else made of a corpus: FlashRAG's builder, Search-R1's, one's own script.

A file of vectors says nothing of how they were made. So that is checked: a few passages are encoded
again, and must come out as they stand in the file.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from branchwise.base.errors import InputError, require
from branchwise.corpora.encoder_models import (
    AS_THE_MODEL_SAYS,
    DEFAULT_ENCODER,
    EncoderSettings,
)
from branchwise.corpora.encoders import load_encoder
from branchwise.corpora.folder import Corpus
from branchwise.corpora.vector_files import VectorFile, open_vectors

if TYPE_CHECKING:
    from branchwise.corpora.encoders import Encoder
    from branchwise.corpora.manifest import EncoderIdentity

_CANDIDATES, _COMPARED = 256, 16
# float16 and bfloat16 keep .998; on MiniLM a wrong prefix gives .91, a wrong pooling .55.
_LEAST_COSINE = 0.99
_UNIT_LENGTH = 0.01
_HOW_IT_WAS_MADE = (
    "name what it was built with: --encoder, --pooling, --query-prefix, --passage-prefix, "
    "--max-tokens (FlashRAG's --model_path, --pooling_method, --instruction, --max_length)"
)


@dataclass(frozen=True)
class GivenVectors:
    """A file of vectors, one for each passage, and the encoder that made them."""

    file: VectorFile
    encoder: "EncoderIdentity"

    @property
    def fingerprint(self) -> tuple[str, int, int]:
        """Which file it is: path, bytes, time of change."""
        facts = self.file.path.stat()
        return str(self.file.path.resolve()), facts.st_size, facts.st_mtime_ns


def check_given(
    file: Path,
    corpus: Corpus,
    encoder: str = DEFAULT_ENCODER,
    backend: Literal["auto", "torch", "openvino"] = "auto",
    settings: EncoderSettings = AS_THE_MODEL_SAYS,
) -> GivenVectors:
    """The vectors in `file`. `backend` encodes the queries; `auto` is torch in float32, which
    FlashRAG uses. Raises InputError where file, corpus and encoder do not belong together."""
    require("local", "vectors made elsewhere", str(file), ("sentence_transformers", "faiss"))
    vectors = open_vectors(file)
    if vectors.count != len(corpus):
        raise InputError(
            f"holds {vectors.count} vectors, the corpus {len(corpus)} passages",
            where=str(file),
            remedy=f"put the corpus.jsonl that it was built on into {corpus.path} as it is",
        )
    loaded = load_encoder(encoder, "torch" if backend == "auto" else backend, settings)
    _check_vectors(vectors, corpus, loaded)
    return GivenVectors(vectors, loaded.identity)


def _check_vectors(vectors: VectorFile, corpus: Corpus, encoder: "Encoder") -> None:
    """Compare with what the encoder makes of the shortest of some passages: none of them is cut."""
    import numpy as np

    name, dimension = encoder.identity.name, encoder.identity.dimension
    if vectors.dimension != dimension:
        raise InputError(
            f"its vectors have {vectors.dimension} dimensions, those of {name} {dimension}",
            where=str(vectors.path),
            remedy=_HOW_IT_WAS_MADE,
        )
    step = max(1, len(corpus) // _CANDIDATES)
    rows = range(0, len(corpus), step)
    texts = {row: next(iter(corpus.contents(row, row + 1))) for row in rows}
    chosen = sorted(rows, key=lambda row: len(texts[row]))[:_COMPARED]
    kept = np.stack([vectors.read(row, row + 1)[0] for row in chosen])
    if not np.all(np.abs(np.linalg.norm(kept, axis=1) - 1) < _UNIT_LENGTH):
        raise InputError(
            "its vectors are not of unit length, as those of DPR encoders",
            where=str(vectors.path),
            remedy="search it with --retriever flashrag:CONFIG.yaml",
        )
    made = encoder.encode_passages([texts[row] for row in chosen])
    cosines = np.sum(kept * made, axis=1)
    worst = int(np.argmin(cosines))
    if not cosines[worst] >= _LEAST_COSINE:
        raise InputError(
            f"was not made from this corpus with {name} as it is set: passage "
            f"{corpus.id(chosen[worst])!r} gets another vector (cosine {cosines[worst]:.2f})",
            where=str(vectors.path),
            remedy=_HOW_IT_WAS_MADE,
        )
