"""Encoding queries with openvino alone: no torch, no sentence-transformers.

Importing those takes 4 s of a command's start, openvino and tokenizers .2 s. What they would read
from the model's settings stands in the index's manifest: length limit, pooling, prefix. Only for
models of the usual shape (transformer, pooling, normalisation); the others take the long way.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.corpora.errors import InputError
from branchwise.corpora.manifest import EncoderIdentity
from branchwise.corpora.token_groups import same_length

if TYPE_CHECKING:
    import numpy as np

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
        found = compiled.outputs[0].partial_shape[-1].get_length()
        if found != identity.dimension:
            raise InputError(
                f"the encoder {identity.name} gives {found} dimensions, "
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
