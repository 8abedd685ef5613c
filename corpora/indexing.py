"""Building an index of a corpus: whole or not at all."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from branchwise.corpora.atomic import new_folder
from branchwise.corpora.encoder_models import (
    AS_THE_MODEL_SAYS,
    DEFAULT_ENCODER,
    EncoderSettings,
)
from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import (
    INDEX_FOLDER,
    EncoderIdentity,
    Kind,
    Manifest,
    write_manifest,
)
from branchwise.corpora.progress import Progress, silent

_RESERVED = {"hybrid"}


def build_index(
    corpus_dir: Path,
    kind: Kind,
    *,
    name: str | None = None,
    encoder: str = DEFAULT_ENCODER,
    backend: Literal["auto", "torch", "openvino"] = "auto",
    dtype: Literal["auto", "float16", "float32"] = "auto",
    settings: EncoderSettings = AS_THE_MODEL_SAYS,
    progress: Progress = silent,
) -> Path:
    """Index the corpus as `index/<name>` (by default named like its kind); returns the folder.

    An index of that name is replaced once the new one is whole; after Ctrl-C or an error
    everything is as before. Raises InputError for a bad corpus, name or encoder.
    """
    corpus = Corpus.open(Path(corpus_dir))
    target = corpus.path / INDEX_FOLDER / checked_name(name or kind)
    with new_folder(target) as folder:
        if kind == "flat":
            manifest = _flat(corpus, folder, encoder, backend, dtype, settings, progress)
        else:
            manifest = _lexical(corpus, folder, progress)
        write_manifest(folder, manifest)
    return target


def _flat(
    corpus: Corpus,
    folder: Path,
    encoder_name: str,
    backend: Literal["auto", "torch", "openvino"],
    dtype: Literal["auto", "float16", "float32"],
    settings: EncoderSettings,
    progress: Progress,
) -> Manifest:
    from branchwise.corpora.encoders import load_encoder
    from branchwise.corpora.flat import build_flat

    progress(0, len(corpus))
    encoder = load_encoder(encoder_name, backend, settings)
    chosen: Literal["float16", "float32"] = "float16" if dtype == "auto" else dtype
    build_flat(corpus, folder, encoder, chosen, progress)
    return flat_manifest(corpus, encoder.identity, chosen)


def flat_manifest(
    corpus: Corpus, encoder: EncoderIdentity, dtype: Literal["float16", "float32"]
) -> Manifest:
    """The manifest of a dense index of a corpus."""
    return Manifest(
        kind="flat",
        corpus_sha256=corpus.sha256,
        passages=len(corpus),
        metric="inner_product",
        dtype=dtype,
        encoder=encoder,
        versions=_versions("faiss-cpu", "sentence-transformers", "torch"),
    )


def _lexical(corpus: Corpus, folder: Path, progress: Progress) -> Manifest:
    from branchwise.corpora.lexical import ANALYZER, build_lexical

    build_lexical(corpus, folder, progress)
    return Manifest(
        kind="bm25",
        corpus_sha256=corpus.sha256,
        passages=len(corpus),
        metric="bm25",
        dtype="float32",
        analyzer=ANALYZER,
        versions=_versions("bm25s", "PyStemmer"),
    )


def _versions(*packages: str) -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


def checked_name(name: str) -> str:
    """An index name that is a plain folder name. Raises InputError."""
    plain = name.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not plain or name.startswith(".") or name in _RESERVED:
        raise InputError(
            f"{name!r} cannot name an index",
            remedy="use letters, digits, '-', '_' and '.'; hybrid is made at search time",
        )
    return name
