"""Building an index of a corpus: whole or not at all."""

from pathlib import Path
from typing import Literal

from branchwise.base.atomic import new_folder, remove_folder
from branchwise.base.errors import InputError
from branchwise.base.files import record_files
from branchwise.base.process import Progress, silent
from branchwise.corpora.encoder_models import (
    AS_THE_MODEL_SAYS,
    DEFAULT_ENCODER,
    EncoderSettings,
    Encoding,
)
from branchwise.corpora.folder import Corpus
from branchwise.corpora.given_vectors import check_given
from branchwise.corpora.kinds import HYBRID, RECALL, index_kind
from branchwise.corpora.manifest import INDEX_FOLDER, Kind, write_manifest


def build_index(
    corpus_dir: Path,
    kind: Kind,
    *,
    name: str | None = None,
    encoder: str = DEFAULT_ENCODER,
    backend: Literal["auto", "torch", "openvino"] = "auto",
    dtype: Literal["auto", "float16", "float32"] = "auto",
    settings: EncoderSettings = AS_THE_MODEL_SAYS,
    recall: float = RECALL,
    vectors: Path | None = None,
    progress: Progress = silent,
) -> Path:
    """Index the corpus as `index/<name>` (by default named like its kind); returns the folder.

    An index of that name is replaced once the new one is whole; after Ctrl-C or an error
    everything is as before, and vectors that were encoded are kept for the next call. `recall`: at
    ten, of a kind that is not exact. `vectors`: a file of those that the encoder made of the corpus
    elsewhere (`open_vectors`); a few passages are encoded to check it. Raises InputError for a bad
    corpus, kind, name, encoder or file of vectors.
    """
    module = index_kind(kind).ready()
    corpus = Corpus.open(Path(corpus_dir))
    target = corpus.path / INDEX_FOLDER / checked_name(name or kind)
    given = None
    if vectors:
        given = check_given(vectors, corpus, encoder, backend, settings)
    kept = target.with_name(f".{target.name}.unfinished")
    with new_folder(target) as folder:
        encoding = Encoding(encoder, backend, dtype, settings, recall, kept, given)
        write_manifest(folder, module.build(corpus, folder, encoding, progress))
        record_files(folder)
    remove_folder(kept)
    return target


def checked_name(name: str) -> str:
    """An index name that is a plain folder name. Raises InputError."""
    plain = name.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not plain or name.startswith(".") or name == HYBRID:
        raise InputError(
            f"{name!r} cannot name an index",
            remedy="use letters, digits, '-', '_' and '.'; hybrid is made at search time",
        )
    return name
