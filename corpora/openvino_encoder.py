"""Encoding with OpenVINO alone: no torch, no sentence-transformers.

Importing those takes 4 s of a command's start, openvino and tokenizers .2 s. A model is exported
once and kept in the user's cache folder, since exporting takes seconds and loading a fraction of
one. What the libraries would read from the model's settings (length limit, pooling, prefix) is in
the index's manifest. Only models of the usual shape (transformer, pooling, normalisation) are
supported; others take the slow path.
"""

import importlib.util
import os
import sys
import threading
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.base.atomic import new_folder
from branchwise.base.errors import InputError
from branchwise.corpora.encoder_models import EncoderModel, quiet
from branchwise.corpora.manifest import EncoderIdentity

if TYPE_CHECKING:
    import numpy as np


_PACKAGES = ("openvino", "optimum-intel", "transformers", "sentence-transformers")


def has_openvino() -> bool:
    """True where the packages that the openvino backend needs are installed."""
    try:
        return all(importlib.util.find_spec(name) for name in ("openvino", "optimum.intel"))
    except ModuleNotFoundError:
        return False


def refuse_telemetry() -> None:
    """Keep openvino and nncf from reporting each conversion to a web analytics service. They do so
    unasked where the package `openvino_telemetry` can be imported, and have no setting against it;
    where it cannot, they go without. Call before either is imported."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]


def exported(model: EncoderModel) -> Path:
    """Folder of the exported model, made now where it is not in the cache. The cache is
    `$XDG_CACHE_HOME/branchwise/encoders`, readable by its owner only."""
    refuse_telemetry()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(base) / "branchwise" / "encoders"
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid") and cache.stat().st_uid != os.getuid():
        what = "the cache folder belongs to another user"
        remedy = "set XDG_CACHE_HOME to a folder of your own"
        raise InputError(what, where=str(cache), remedy=remedy)
    # What an export depends on: the model's files and the versions that converted them.
    key = [model.digest[:32]]
    for package in _PACKAGES:
        try:
            key.append(version(package))
        except PackageNotFoundError:
            key.append("none")
    folder = cache / "-".join(key)
    if (folder / "openvino" / "openvino_model.xml").is_file():
        return folder
    with quiet(), new_folder(folder) as partial:
        from sentence_transformers import SentenceTransformer

        encoder = SentenceTransformer(
            str(model.folder),
            backend="openvino",
            device="cpu",
            model_kwargs={"export": True},
            local_files_only=True,
        )
        encoder.save_pretrained(str(partial), create_model_card=False)
    return folder


PRECISION_HINTS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
_USUAL = {"Transformer", "Pooling", "Normalize"}


def is_usual(folder: Path, identity: EncoderIdentity) -> bool:
    """Whether the exported model in `folder` can be run here."""
    if identity.pooling not in ("mean", "cls") or not (folder / "tokenizer.json").is_file():
        return False
    modules = orjson.loads((folder / "modules.json").read_bytes())
    return all(module["type"].rsplit(".", 1)[-1] in _USUAL for module in modules)


class OpenVinoQueries:
    """Queries to unit vectors, each the same in any batch. Thread-safe: one call at a time."""

    def __init__(self, folder: Path, identity: EncoderIdentity) -> None:
        import openvino
        from tokenizers import Tokenizer  # type: ignore[import-untyped]

        self.identity = identity
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(identity.max_tokens)
        self._tokenizer.no_padding()
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": PRECISION_HINTS[identity.precision],
        }
        file = folder / "openvino" / "openvino_model.xml"
        compiled = openvino.Core().compile_model(str(file), "CPU", settings)
        dimension = compiled.outputs[0].partial_shape[-1].get_length()
        if dimension != identity.dimension:
            raise InputError(
                f"the encoder {identity.name} gives {dimension} dimensions, "
                f"the index has {identity.dimension}"
            )
        self._request = compiled.create_infer_request()
        self._inputs = {name for port in compiled.inputs for name in port.names}
        self._lock = threading.Lock()

    def encode_queries(self, queries: Sequence[str]) -> "np.ndarray":
        """float32 [n, dimension], unit length; each row bit-identical to encoding it alone."""
        import numpy as np

        texts = [self.identity.query_prefix + query for query in queries]
        encodings = self._tokenizer.encode_batch(texts)
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        with self._lock:
            for group in same_length([len(encoding.ids) for encoding in encodings]):
                vectors[group] = self._pooled([encodings[i] for i in group])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _pooled(self, encodings: Sequence[Any]) -> "np.ndarray":
        """Token vectors of texts of one length, [n, tokens, dimension], to one each."""
        import numpy as np

        features = {
            "input_ids": np.array([e.ids for e in encodings], dtype=np.int64),
            "attention_mask": np.array([e.attention_mask for e in encodings], dtype=np.int64),
            "token_type_ids": np.array([e.type_ids for e in encodings], dtype=np.int64),
        }
        known = {name: value for name, value in features.items() if name in self._inputs}
        tokens: np.ndarray = self._request.infer(known)[0]
        return tokens[:, 0] if self.identity.pooling == "cls" else tokens.mean(axis=1)


LARGEST_GROUP = 64


def same_length(counts: Sequence[int]) -> list[list[int]]:
    """Positions of texts with equal token counts, at most `LARGEST_GROUP` together."""
    by_count: dict[int, list[int]] = {}
    for position, count in enumerate(counts):
        by_count.setdefault(count, []).append(position)
    return [
        group[start : start + LARGEST_GROUP]
        for _, group in sorted(by_count.items())
        for start in range(0, len(group), LARGEST_GROUP)
    ]
