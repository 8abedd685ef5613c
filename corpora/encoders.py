"""Turning texts into unit vectors, the same way for passages and queries.

A query's vector must not depend on what it is encoded with. Measured: on openvino, texts of
exactly the same number of tokens encoded together are bit-identical to each alone, while padding
changes results by up to 6e-4; on torch even same-length batches differ. So on openvino texts are
grouped by token count, and on torch queries go one at a time.

Importing torch and sentence-transformers takes 4 s of a command's start, openvino and tokenizers
.2 s, so an index's queries are encoded with these alone where the model is of the usual shape
(transformer, pooling, normalisation). It is exported once into the user's cache folder; what the
libraries would read from its settings (length limit, pooling, prefix) is in the index's manifest.
"""

import contextlib
import importlib.util
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from branchwise.base.atomic import new_folder
from branchwise.base.errors import InputError
from branchwise.base.process import Progress, silent
from branchwise.corpora.encoder_models import (
    AS_THE_MODEL_SAYS,
    EncoderModel,
    EncoderSettings,
    find_model,
    quiet,
)
from branchwise.corpora.manifest import Backend, EncoderIdentity

if TYPE_CHECKING:
    import numpy as np
    from sentence_transformers import SentenceTransformer

_PACKAGES = ("openvino", "optimum-intel", "transformers", "sentence-transformers")
PRECISION_HINTS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
_USUAL = {"Transformer", "Pooling", "Normalize"}
_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""Of a model, by the attributes of a text's encoding that they are made of."""
LARGEST_GROUP = 64
# Texts at a time; on a GPU fewer where its memory does not suffice.
_BATCHES = {"cpu": (32,), "cuda": (256, 64, 16)}


def has_openvino() -> bool:
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
        problem = "the cache folder belongs to another user"
        remedy = "set XDG_CACHE_HOME to a folder of your own"
        raise InputError(problem, where=str(cache), remedy=remedy)
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


class OpenVinoQueries:
    """Queries to unit vectors, each the same in any batch. Thread-safe: one call at a time."""

    def __init__(self, folder: Path, identity: EncoderIdentity) -> None:
        import openvino
        from tokenizers import Tokenizer  # type: ignore[import-untyped]

        self.identity = identity
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(identity.max_tokens)
        self._tokenizer.no_padding()
        precision = PRECISION_HINTS[identity.precision]
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
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
        import numpy as np

        texts = [self.identity.query_prefix + query for query in queries]
        encodings = self._tokenizer.encode_batch(texts)
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        with self._lock:
            for group in same_length([len(encoding.ids) for encoding in encodings]):
                features = {
                    name: np.array([getattr(encodings[i], part) for i in group], dtype=np.int64)
                    for name, part in _INPUTS.items()
                    if name in self._inputs
                }
                tokens: np.ndarray = self._request.infer(features)[0]
                first = self.identity.pooling == "cls"
                vectors[group] = tokens[:, 0] if first else tokens.mean(axis=1)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


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


class Encoder:
    """A sentence-transformers model on one backend. Thread-safe: one call at a time."""

    def __init__(self, model: "SentenceTransformer", identity: EncoderIdentity) -> None:
        self.identity, self._model = identity, model
        # Fast tokenizers keep padding settings as state, so they cannot be shared by threads.
        self._lock = threading.Lock()

    def encode_queries(self, queries: Sequence[str]) -> "np.ndarray":
        texts = [self.identity.query_prefix + query for query in queries]
        with self._lock:
            alone = [[i] for i in range(len(texts))]
            groups = self._same_length(texts) if self.identity.backend == "openvino" else alone
            return self._encode_groups(texts, groups, silent)

    def encode_passages(self, texts: Sequence[str], progress: Progress = silent) -> "np.ndarray":
        """float32 [n, dimension], unit length. `progress` is called after each batch."""
        texts = [self.identity.passage_prefix + text for text in texts]
        with self._lock:
            if self.identity.backend == "openvino":
                return self._encode_groups(texts, self._same_length(texts), progress)
            vectors = self._encode_batches(texts)
        progress(len(texts), len(texts))
        return vectors

    def _encode_batches(self, texts: list[str]) -> "np.ndarray":
        import torch

        device = self._model.device.type
        for size in _BATCHES.get(device, _BATCHES["cpu"]):
            with contextlib.suppress(torch.OutOfMemoryError), _tensor_cores(device):
                vectors: np.ndarray = self._model.encode(
                    texts,
                    batch_size=size,
                    normalize_embeddings=True,
                    show_progress_bar=False,
                    convert_to_numpy=True,
                )
                return vectors
        raise _gpu_is_full(self.identity.name)

    def _same_length(self, texts: Sequence[str]) -> list[list[int]]:
        if len(texts) < 2:
            return [[i] for i in range(len(texts))]
        tokens = self._model.tokenizer(
            list(texts),
            truncation=True,
            max_length=self._model.max_seq_length,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        return same_length([len(ids) for ids in tokens])

    def _encode_groups(
        self, texts: Sequence[str], groups: Iterable[Sequence[int]], progress: Progress
    ) -> "np.ndarray":
        import numpy as np
        import torch

        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        done = 0
        with torch.inference_mode():
            for group in groups:
                features = self._model.preprocess([texts[i] for i in group])
                features = {
                    name: value.to(self._model.device) if isinstance(value, torch.Tensor) else value
                    for name, value in features.items()
                }
                pooled = self._model(features)["sentence_embedding"].float().cpu()
                vectors[list(group)] = torch.nn.functional.normalize(pooled, dim=-1).numpy()
                done += len(group)
                progress(done, len(texts))
        return vectors


QueryEncoder = Encoder | OpenVinoQueries


@contextlib.contextmanager
def _tensor_cores(device: str) -> Iterator[None]:
    """TF32 on a GPU: 2.6 times as many passages a second (H100); cosines with float32's stay 1."""
    import torch

    before = torch.get_float32_matmul_precision()
    if device == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def load_encoder(
    name: str,
    backend: Literal["auto", "torch", "openvino"] = "auto",
    settings: EncoderSettings = AS_THE_MODEL_SAYS,
) -> Encoder:
    """The encoder called `name`; `auto` uses openvino if it is installed and no GPU is present."""
    model = find_model(name, settings)
    if backend == "auto":
        import torch

        backend = "openvino" if has_openvino() and not torch.cuda.is_available() else "torch"
    return _load(model, backend, None)


def reopen_encoder(identity: EncoderIdentity) -> QueryEncoder:
    """The encoder of an index, for queries, in the same number format and on the same backend:
    other vectors differ. Raises InputError where it is not here, or not the same."""
    given = {name: getattr(identity, name) for name in identity.given or ()}
    model = find_model(identity.name, EncoderSettings(**given))
    if model.digest != identity.digest:
        raise InputError(
            f"the encoder {identity.name} is not the one that the index was built with "
            f"(SHA-256 {model.digest[:12]}, the index has {identity.digest[:12]})"
        )
    if identity.backend == "openvino" and has_openvino():
        folder = exported(model)
        # Whether the model has the usual shape, which can be run by openvino alone.
        modules = orjson.loads((folder / "modules.json").read_bytes())
        types = {module["type"].rsplit(".", 1)[-1] for module in modules}
        has_tokenizer = (folder / "tokenizer.json").is_file()
        if identity.pooling in ("mean", "cls") and has_tokenizer and types <= _USUAL:
            return OpenVinoQueries(folder, identity)
    encoder = _load(model, identity.backend, identity.precision)
    if encoder.identity != identity:
        now = encoder.identity.model_dump()
        differing = [k for k, value in identity.model_dump().items() if now[k] != value]
        changed = ", ".join(differing)
        raise InputError(f"the encoder {identity.name} now differs from the index in {changed}")
    return encoder


def _load(model: EncoderModel, backend: Backend, precision: str | None) -> Encoder:
    refuse_telemetry()  # importing sentence-transformers imports openvino too, where it is
    import torch
    from sentence_transformers import SentenceTransformer

    try:
        if backend == "openvino":
            encoder, precision = _load_openvino(model, precision)
        else:
            with quiet():
                encoder = SentenceTransformer(str(model.folder), local_files_only=True)
            precision = "float32"
    except InputError:
        raise
    except torch.OutOfMemoryError:
        raise _gpu_is_full(model.name) from None
    except Exception as error:
        problem = f"holds no model that sentence-transformers can load ({type(error).__name__})"
        remedy = "name a sentence-transformers model or its folder with --encoder"
        raise InputError(problem, where=str(model.folder), remedy=remedy) from error
    prompts, chosen = encoder.prompts or {}, model.settings
    if chosen.max_tokens is not None:
        encoder.max_seq_length = chosen.max_tokens
    if chosen.pooling not in (None, _pooling(encoder)):
        pooled = [n for n, module in enumerate(encoder) if hasattr(module, "pooling_mode")]
        if not pooled:
            problem, remedy = "the encoder has no pooling to choose", "leave out --pooling"
            raise InputError(problem, where=str(model.folder), remedy=remedy)
        module = encoder[pooled[0]]
        encoder[pooled[0]] = type(module)(module.embedding_dimension, chosen.pooling)
    queries = (chosen.query_prefix, model.query_prefix, prompts.get("query"))
    own_passages = (prompts.get("passage"), prompts.get("document"))
    passages = (chosen.passage_prefix, model.passage_prefix, *own_passages)
    identity = EncoderIdentity(
        name=model.name,
        digest=model.digest,
        backend=backend,
        precision=precision,
        query_prefix=next((text for text in queries if text is not None), ""),
        passage_prefix=next((text for text in passages if text is not None), ""),
        pooling=_pooling(encoder),
        dimension=int(encoder.get_embedding_dimension() or 0),
        max_tokens=int(encoder.max_seq_length or 0),
        given=chosen.given,
    )
    return Encoder(encoder, identity)


def _gpu_is_full(encoder: str) -> InputError:
    return InputError(
        f"the GPU has too little free memory for the encoder {encoder}",
        remedy="end what else uses it, or hide it with CUDA_VISIBLE_DEVICES=",
    )


def _load_openvino(model: EncoderModel, precision: str | None) -> tuple["SentenceTransformer", str]:
    """The model and the number format that it computes in: bfloat16 where the processor has it."""
    if not has_openvino():
        raise InputError(
            "the openvino backend is not installed",
            remedy="pip install 'branchwise[fast]' and optimum-intel, or index with "
            "`--backend torch`",
        )
    from sentence_transformers import SentenceTransformer

    folder = exported(model)
    settings = {"INFERENCE_PRECISION_HINT": PRECISION_HINTS[precision]} if precision else {}
    with quiet():
        encoder = SentenceTransformer(
            str(folder),
            backend="openvino",
            device="cpu",
            local_files_only=True,
            model_kwargs={"ov_config": settings},
        )
        openvino_model: Any = encoder[0].model  # optimum-intel's, made by the backend
        openvino_model.compile()
    hint = openvino_model.request.get_property("INFERENCE_PRECISION_HINT").to_string()
    return encoder, {short: long for long, short in PRECISION_HINTS.items()}[hint]


def _pooling(encoder: "SentenceTransformer") -> str:
    modes = [str(m.pooling_mode) for m in encoder if hasattr(m, "pooling_mode")]
    return modes[0] if modes else "none"
