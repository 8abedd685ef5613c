"""`flashrag:CONFIG.yaml`: FlashRAG's own retrievers and rerankers, on its corpora and indexes.

FlashRAG itself ignores a misspelt key of a configuration and takes its default; here it is refused.
It runs in a process of its own (`flashrag_worker.py`).
"""

import contextlib
import hashlib
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import orjson
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.base.errors import InputError, did_you_mean, require
from branchwise.base.files import first_problem
from branchwise.base.text import encodable
from branchwise.corpora.retrieval import MAX_K, Hit, RetrieverError
from branchwise.corpora.search_server import read_rankings

_SEARCH_KEYS = ("retriev", "rerank", "index", "corpus", "instruction", "bm25", "faiss", "seismic")
_PATHS = ("index_path", "corpus_path", "retrieval_model_path", "rerank_model_path")
_PATH_TABLES = ("model2path", "method2index")
_ELSEWHERE = {
    "retrieval_batch_size", "rerank_batch_size", "retrieval_cache_path", "faiss_gpu",
    "rerank_topk", "use_multi_retriever",
}  # fmt: skip
"""Keys that only change how fast FlashRAG is, or that are not used here."""
_UNUSED = ("save_retrieval_cache", "use_retrieval_cache", "silent_retrieval")
_MODULE = "branchwise.corpora.flashrag_worker"
_LOADING_SECONDS = 3600.0
_SEARCH_SECONDS = 300.0
_END_BYTES = 1 << 20
_BLOCKS, _BLOCK_BYTES = 64, 4096


class SearchSettings(BaseModel):
    """The keys of FlashRAG's "Retrieval" and "Reranker" settings; None leaves its default.
    `retrieval_topk`: how many passages a reranker gets to rank; without one it says nothing."""

    model_config = ConfigDict(frozen=True, extra="allow")

    retrieval_method: str = "e5"
    retrieval_model_path: str | None = None
    index_path: str | None = None
    corpus_path: str | None = None
    instruction: str | None = None
    retrieval_topk: int = Field(default=MAX_K, ge=1)
    retrieval_batch_size: int | None = None
    retrieval_use_fp16: bool | None = None
    retrieval_query_max_length: int = Field(default=128, ge=1)
    retrieval_pooling_method: Literal["mean", "cls", "pooler"] | None = None
    retrieval_cache_path: str | None = None
    faiss_gpu: bool = False
    bm25_backend: Literal["bm25s", "pyserini"] = "bm25s"
    use_sentence_transformer: bool = False
    use_reranker: bool = False
    use_multi_retriever: bool = False
    rerank_model_name: str | None = None
    rerank_model_path: str | None = None
    rerank_pooling_method: Literal["mean", "cls", "pooler"] | None = None
    rerank_topk: int | None = None
    rerank_max_length: int = Field(default=512, ge=1)
    rerank_batch_size: int | None = None
    rerank_use_fp16: bool | None = None
    seismic_query_cut: int = Field(default=10, ge=1)
    seismic_max_tokens_length: int | None = None
    seismic_heap_factor: float = Field(default=0.8, gt=0)

    def described(self) -> dict[str, Any]:
        """What a ranking depends on: no paths, sizes of batches, or settings of generation."""
        names = set()
        for name in set(type(self).model_fields) - {*_PATHS, *_ELSEWHERE}:
            if name == "retrieval_topk" or name.startswith("rerank"):
                matters = self.use_reranker
            elif name.startswith("seismic"):
                matters = self.retrieval_method == "splade"
            else:
                matters = self.retrieval_method == "bm25" or not name.startswith("bm25")
            if matters:
                names.add(name)
        return self.model_dump(mode="json", include=names, exclude_none=True)


def read_config(file: Path) -> tuple[SearchSettings, dict[str, Any]]:
    """What the file says of searching, and all of it, its paths made whole. They count from its
    folder or else, as for FlashRAG itself, from where the process was started."""
    try:
        content = yaml.safe_load(file.read_bytes())
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        remedy = "name a FlashRAG configuration: flashrag:CONFIG.yaml"
        raise InputError(problem, where=str(file), remedy=remedy) from None
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise InputError("is not YAML", where=f"{file}{line}") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise InputError("is not a mapping of names to settings", where=str(file))
    known = {*SearchSettings.model_fields, *_UNUSED}
    for name in content:
        if name.startswith(_SEARCH_KEYS) and name not in known:
            problem = f"FlashRAG has no retrieval setting {name!r}"
            remedy = did_you_mean(name, known, else_="remove it")
            raise InputError(problem, where=str(file), remedy=remedy)
    whole = dict(content)
    for name in _PATHS:
        whole[name] = _whole(content.get(name), file.parent)
    for name in _PATH_TABLES:
        if isinstance(table := content.get(name), dict):
            whole[name] = {key: _whole(value, file.parent) for key, value in table.items()}
    whole = {name: value for name, value in whole.items() if value is not None}
    try:
        settings = SearchSettings.model_validate(whole)
    except ValidationError as error:
        raise InputError(first_problem(error), where=str(file)) from None
    _check(file, settings, whole)
    return settings, {**whole, "retrieval_topk": settings.retrieval_topk}


def _check(file: Path, settings: SearchSettings, whole: Mapping[str, Any]) -> None:
    if settings.use_multi_retriever:
        raise InputError(
            "several retrievers at once (use_multi_retriever) are not supported: their order "
            "depends on which of FlashRAG's threads ends first",
            where=str(file),
            remedy="give each a file of its own",
        )
    if "clip" in settings.retrieval_method.lower():
        raise InputError("image search is not supported", where=str(file))
    if settings.use_reranker and not (settings.rerank_model_name or settings.rerank_model_path):
        problem = "use_reranker is on, but no reranker is named"
        remedy = "add rerank_model_name and rerank_model_path"
        raise InputError(problem, where=str(file), remedy=remedy)
    indexes = whole.get("method2index") or {}
    index = settings.index_path or indexes.get(settings.retrieval_method)
    for name, path in (("index_path", index), ("corpus_path", settings.corpus_path)):
        if path is None:
            raise InputError(f"names no {name}", where=str(file), remedy=f"add {name}: FILE")
        if not Path(path).exists():
            problem = f"{name}: {path} does not exist"
            remedy = "write the path relative to this file's folder"
            raise InputError(problem, where=str(file), remedy=remedy)


def _whole(value: Any, folder: Path) -> Any:
    if not isinstance(value, str):
        return value
    near = folder / value
    if near.exists():
        return str(near.resolve())
    return str(Path(value).resolve()) if Path(value).exists() else value


class WorkerError(Exception):
    """What the process reported, or that it has ended. One line."""


class FlashRagProcess:
    """FlashRAG's retriever. Thread-safe: one request at a time. Ends with this object."""

    def __init__(self, settings: Mapping[str, Any], seconds: float) -> None:
        """Start the process and load. `ready`: what it opened. Raises WorkerError."""
        # -P: no folder called flashrag that happens to be here is imported in its stead.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C ends a run, and the run ends its processes
        )
        self._end = weakref.finalize(self, _ended, self._process)
        self._lock = threading.Lock()
        try:
            self.ready: Mapping[str, Any] = orjson.loads(self.ask(settings, seconds))["ready"]
        except BaseException:
            self._end()
            raise

    def ask(self, request: Mapping[str, Any], seconds: float) -> bytes:
        """The line that answers. Raises WorkerError; after `seconds` the process is ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        expired = threading.Event()

        def end() -> None:
            expired.set()
            self._process.kill()

        with self._lock:
            late = threading.Timer(seconds, end)
            late.daemon = True
            late.start()
            try:
                stdin.write(orjson.dumps(request) + b"\n")
                stdin.flush()
                line = stdout.readline()
            except (OSError, ValueError):
                line = b""
            finally:
                late.cancel()
        if expired.is_set():
            raise WorkerError(f"FlashRAG did not answer within {seconds:.0f} seconds")
        if not line.endswith(b"\n"):
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(timeout=5)
                raise WorkerError(f"FlashRAG's process has ended (exit status {status})")
            raise WorkerError("FlashRAG's process has ended")
        error = orjson.loads(line).get("error")
        if error is not None:
            raise WorkerError(f"FlashRAG failed: {error}")
        return line

    def close(self) -> None:
        self._end()


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


class FlashRag:
    """Searches as FlashRAG does, in a process of its own, one query at a time. Thread-safe."""

    name = "flashrag"

    def __init__(self, worker: FlashRagProcess, identity: Mapping[str, Any]) -> None:
        self._worker, self.identity = worker, identity

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        rankings = []
        for query in queries:
            try:
                line = self._worker.ask({"query": encodable(query), "k": k}, _SEARCH_SECONDS)
            except WorkerError as error:
                raise RetrieverError(str(error)) from None
            rankings += read_rankings(line, 1, k)
        return rankings

    def close(self) -> None:
        """End FlashRAG's process; it also ends with this object."""
        self._worker.close()


def open_flashrag(file: Path) -> FlashRag:
    require("flashrag", "a retriever of FlashRAG", f"flashrag:{file}")
    settings, whole = read_config(file)
    try:
        worker = FlashRagProcess(whole, _LOADING_SECONDS)
    except WorkerError as error:
        raise InputError(str(error), where=str(file), remedy="correct it there") from None
    # A moved index is the same index: no paths.
    ready = worker.ready
    computed = {name: ready[name] for name in ("retrieval_use_fp16", "retrieval_pooling_method")}
    files = {
        "index": ready["index_path"],
        "corpus": ready["corpus_path"],
        "model": ready["retrieval_model_path"],
        "reranker": ready["rerank_model_path"] if settings.use_reranker else None,
    }
    if settings.use_reranker:
        computed["rerank_use_fp16"] = ready["rerank_use_fp16"]
    # Of a local file or folder its fingerprint, else the name of a model.
    fingerprints = {
        name: fingerprint(Path(path)) if Path(path).exists() else path
        for name, path in files.items()
        if path
    }
    identity = {
        "kind": "flashrag",
        "version": ready["version"],
        "settings": settings.described() | computed,
        "files": fingerprints,
    }
    return FlashRag(worker, identity)


def fingerprint(path: Path) -> str:
    """16 hexadecimal digits over a file's size, both ends and 64 blocks in between. Of a folder,
    over all files in it, by name. An index of 60 GB is not read whole at each start: a change of
    the middle alone may go unseen, another index, corpus or model does not."""
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
