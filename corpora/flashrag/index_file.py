"""Taking over a dense index that FlashRAG's builder made (`<method>_Flat.index`).

The file is a faiss index of inner products over the lines of the corpus, and says nothing of how
its vectors were made. So that is checked: a few passages are encoded again, and must come out as
they stand in the index.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from branchwise.corpora.atomic import new_folder
from branchwise.corpora.encoder_models import (
    AS_THE_MODEL_SAYS,
    DEFAULT_ENCODER,
    EncoderSettings,
)
from branchwise.corpora.errors import InputError
from branchwise.corpora.extras import require
from branchwise.corpora.flat import flat_manifest
from branchwise.corpora.folder import Corpus
from branchwise.corpora.indexing import checked_name
from branchwise.corpora.manifest import INDEX_FOLDER, write_manifest
from branchwise.corpora.progress import Progress, silent

if TYPE_CHECKING:
    from branchwise.corpora.encoders import Encoder

DEFAULT_NAME = "flashrag"
_CANDIDATES, _COMPARED = 256, 16
# float16 and bfloat16 keep .998; on MiniLM a wrong prefix gives .91, a wrong pooling .55.
_LEAST_COSINE = 0.99
_UNIT_LENGTH = 0.01
_CHUNK = 65_536
_HOW_IT_WAS_MADE = (
    "name what it was built with: --encoder, --pooling, --query-prefix, --passage-prefix, "
    "--max-tokens (FlashRAG's --model_path, --pooling_method, --instruction, --max_length)"
)


def import_index(
    corpus_dir: Path,
    file: Path,
    *,
    name: str | None = None,
    encoder: str = DEFAULT_ENCODER,
    backend: Literal["auto", "torch", "openvino"] = "auto",
    dtype: Literal["auto", "float16", "float32"] = "auto",
    settings: EncoderSettings = AS_THE_MODEL_SAYS,
    progress: Progress = silent,
) -> Path:
    """Make `index/<name>` of the corpus out of FlashRAG's index file; returns the folder.

    `backend` encodes the queries; `auto` is torch in float32, which FlashRAG uses. The vectors
    keep their numbers, unless `dtype` is float16. Raises InputError where file, corpus and encoder
    do not belong together.
    """
    from branchwise.corpora.encoders import load_encoder

    require("local", "an index of FlashRAG", str(file))
    corpus = Corpus.open(Path(corpus_dir))
    target = corpus.path / INDEX_FOLDER / checked_name(name or DEFAULT_NAME)
    vectors = _read(file)
    _check_rows(file, vectors, corpus)
    loaded = load_encoder(encoder, "torch" if backend == "auto" else backend, settings)
    _check_vectors(file, vectors, corpus, loaded)
    chosen: Literal["float16", "float32"] = "float16" if dtype == "float16" else "float32"
    with new_folder(target) as folder:
        _write(vectors, folder, chosen, progress)
        write_manifest(folder, flat_manifest(corpus, loaded.identity, chosen))
    return target


def _read(file: Path) -> Any:
    """The faiss index, which must be exact and of inner products."""
    import faiss

    if not file.is_file():
        raise InputError("no such file", where=str(file), remedy="name FlashRAG's .index file")
    try:
        vectors = faiss.read_index(str(file))
    except RuntimeError:
        raise InputError("is not a faiss index, or is damaged", where=str(file)) from None
    flat = isinstance(vectors, faiss.IndexFlat)
    if not flat or vectors.metric_type != faiss.METRIC_INNER_PRODUCT:
        raise InputError(
            f"is not an exact index of inner products ({type(vectors).__name__})",
            where=str(file),
            remedy="build it with --faiss_type Flat",
        )
    return vectors


def _check_rows(file: Path, vectors: Any, corpus: Corpus) -> None:
    if vectors.ntotal != len(corpus):
        raise InputError(
            f"holds {vectors.ntotal} vectors, the corpus {len(corpus)} passages",
            where=str(file),
            remedy=f"put the corpus.jsonl that it was built on into {corpus.path} as it is",
        )


def _check_vectors(file: Path, vectors: Any, corpus: Corpus, encoder: "Encoder") -> None:
    """Compare with what the encoder makes of the shortest of some passages: none of them is cut."""
    import numpy as np

    name, dimension = encoder.identity.name, encoder.identity.dimension
    if vectors.d != dimension:
        raise InputError(
            f"its vectors have {vectors.d} dimensions, those of {name} {dimension}",
            where=str(file),
            remedy=_HOW_IT_WAS_MADE,
        )
    step = max(1, len(corpus) // _CANDIDATES)
    rows = range(0, len(corpus), step)
    texts = {row: next(iter(corpus.contents(row, row + 1))) for row in rows}
    chosen = sorted(rows, key=lambda row: len(texts[row]))[:_COMPARED]
    kept = np.stack([vectors.reconstruct(row) for row in chosen])
    if not np.all(np.abs(np.linalg.norm(kept, axis=1) - 1) < _UNIT_LENGTH):
        raise InputError(
            "its vectors are not of unit length, as those of DPR encoders",
            where=str(file),
            remedy="search it with --retriever flashrag:CONFIG.yaml",
        )
    made = encoder.encode_passages([texts[row] for row in chosen])
    cosines = np.sum(kept * made, axis=1)
    worst = int(np.argmin(cosines))
    if not cosines[worst] >= _LEAST_COSINE:
        raise InputError(
            f"was not made from this corpus with {name} as it is set: passage "
            f"{corpus.id(chosen[worst])!r} gets another vector (cosine {cosines[worst]:.2f})",
            where=str(file),
            remedy=_HOW_IT_WAS_MADE,
        )


def _write(
    vectors: Any, folder: Path, dtype: Literal["float16", "float32"], progress: Progress
) -> None:
    import faiss

    from branchwise.corpora.flat import VECTORS_FILE, new_vectors

    if dtype == "float16":
        kept, vectors = vectors, new_vectors(vectors.d, dtype)
        for start in range(0, kept.ntotal, _CHUNK):
            count = min(_CHUNK, kept.ntotal - start)
            vectors.add(kept.reconstruct_n(start, count))
            progress(start + count, kept.ntotal)
    faiss.write_index(vectors, str(folder / VECTORS_FILE))
