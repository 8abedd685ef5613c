"""`flashrag:CONFIG.yaml`: FlashRAG's own retrievers and rerankers, on its corpora and indexes."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError, require
from branchwise.base.text import encodable
from branchwise.corpora.flashrag.config import SearchSettings, read_config
from branchwise.corpora.flashrag.process import FlashRagProcess, WorkerError
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_answers import read_rankings

_LOADING_SECONDS = 3600.0
_SEARCH_SECONDS = 300.0


class FlashRag:
    """Searches as FlashRAG does, in a process of its own. Thread-safe.

    One query goes at a time, so that a ranking does not depend on its company.
    """

    name = "flashrag"

    def __init__(self, worker: FlashRagProcess, identity: Mapping[str, Any]) -> None:
        self._worker, self.identity = worker, identity

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query its best `k` passages, in FlashRAG's order. Raises RetrieverError."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        return [self._ranking(query, k) for query in queries]

    def _ranking(self, query: str, k: int) -> list[Hit]:
        text = encodable(query)
        try:
            line = self._worker.ask({"query": text, "k": k}, _SEARCH_SECONDS)
        except WorkerError as error:
            raise RetrieverError(str(error)) from None
        return read_rankings(line, 1, k)[0]

    def close(self) -> None:
        """End FlashRAG's process; it also ends with this object."""
        self._worker.close()


def open_flashrag(file: Path) -> FlashRag:
    """The retriever that a FlashRAG configuration describes.

    Raises InputError: FlashRAG is not installed, the file is not what it should be, or FlashRAG
    cannot open what it names.
    """
    require("flashrag", "a retriever of FlashRAG", f"flashrag:{file}")
    settings, whole = read_config(file)
    try:
        worker = FlashRagProcess(whole, _LOADING_SECONDS)
    except WorkerError as error:
        raise InputError(str(error), where=str(file), remedy="correct it there") from None
    return FlashRag(worker, _identity(settings, worker.ready))


def _identity(settings: SearchSettings, ready: Mapping[str, Any]) -> dict[str, Any]:
    """What rankings depend on, without paths: a moved index is the same index."""
    found = {name: ready[name] for name in ("retrieval_use_fp16", "retrieval_pooling_method")}
    files = {
        "index": ready["index_path"],
        "corpus": ready["corpus_path"],
        "model": ready["retrieval_model_path"],
        "reranker": ready["rerank_model_path"] if settings.use_reranker else None,
    }
    if settings.use_reranker:
        found["rerank_use_fp16"] = ready["rerank_use_fp16"]
    return {
        "kind": "flashrag",
        "version": ready["version"],
        "settings": settings.described() | found,
        "files": {name: _described(path) for name, path in files.items() if path},
    }


def _described(path: str) -> str:
    """The fingerprint of a local file or folder, else the name of a model."""
    return fingerprint(Path(path)) if Path(path).exists() else path


_END_BYTES = 1 << 20
_BLOCKS, _BLOCK_BYTES = 64, 4096


def fingerprint(path: Path) -> str:
    """16 hexadecimal digits over a file's size, both ends and 64 blocks in between.

    Of a folder, over all files in it, by name. An index of 60 GB is not read whole at each start:
    a change of the middle alone may go unseen, another index, corpus or model does not.
    """
    digest = hashlib.blake2b(digest_size=8)
    if path.is_file():
        _add(digest, path)
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(f"{file.relative_to(path).as_posix()}\0".encode())
        _add(digest, file)
    return digest.hexdigest()


def _add(digest: "hashlib.blake2b", file: Path) -> None:
    size = file.stat().st_size
    digest.update(f"{size}\n".encode())
    with file.open("rb") as stream:
        digest.update(stream.read(_END_BYTES))
        for block in range(_BLOCKS if size > 2 * _END_BYTES else 0):
            stream.seek(_END_BYTES + (size - 2 * _END_BYTES) * block // _BLOCKS)
            digest.update(stream.read(_BLOCK_BYTES))
        stream.seek(max(min(size, _END_BYTES), size - _END_BYTES))
        digest.update(stream.read(_END_BYTES))
