"""A FlashRAG configuration file, as far as it says how to search.

FlashRAG itself ignores a misspelt key and takes its default instead; here it is refused.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.files import first_problem
from branchwise.corpora.retrieval import MAX_K

_SEARCH_KEYS = ("retriev", "rerank", "index", "corpus", "instruction", "bm25", "faiss", "seismic")
_PATHS = ("index_path", "corpus_path", "retrieval_model_path", "rerank_model_path")
_PATH_TABLES = ("model2path", "method2index")
_ELSEWHERE = {
    "retrieval_batch_size", "rerank_batch_size", "retrieval_cache_path", "faiss_gpu",
    "rerank_topk", "use_multi_retriever",
}  # fmt: skip
"""Keys that only change how fast FlashRAG is, or that are not used here."""
_UNUSED = ("save_retrieval_cache", "use_retrieval_cache", "silent_retrieval")


class SearchSettings(BaseModel):
    """The keys of FlashRAG's "Retrieval" and "Reranker" settings; None leaves its default.

    `retrieval_topk`: how many passages a reranker gets to rank; without one it says nothing.
    """

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
        """What a ranking depends on: no paths, no sizes of batches, and none of FlashRAG's other
        settings (generator, metrics, folders)."""
        names = {name for name in type(self).model_fields if self._matters(name)}
        return self.model_dump(mode="json", include=names, exclude_none=True)

    def _matters(self, name: str) -> bool:
        if name in _PATHS or name in _ELSEWHERE:
            return False
        if name == "retrieval_topk" or name.startswith("rerank"):
            return self.use_reranker
        if name.startswith(("seismic", "bm25")):
            return self.retrieval_method == ("bm25" if name.startswith("bm25") else "splade")
        return True


def read_config(file: Path) -> tuple[SearchSettings, dict[str, Any]]:
    """What the file says of searching, and all of it with the paths made whole.

    A relative path counts from the file's folder, where there is such a file, else, as FlashRAG
    itself has it, from where the process was started. Raises InputError.
    """
    content = _read_yaml(file)
    _check_names(file, content)
    whole = _with_whole_paths(content, file.parent)
    try:
        settings = SearchSettings.model_validate(whole)
    except ValidationError as error:
        raise InputError(first_problem(error), where=str(file)) from None
    _check_kind(file, settings)
    _check_files(file, settings, whole)
    return settings, {**whole, "retrieval_topk": settings.retrieval_topk}


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})",
            where=str(file),
            remedy="name a FlashRAG configuration: flashrag:CONFIG.yaml",
        ) from None
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise InputError("is not YAML", where=f"{file}{line}") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise InputError("is not a mapping of names to settings", where=str(file))
    return content


def _check_names(file: Path, content: Mapping[str, Any]) -> None:
    known = {*SearchSettings.model_fields, *_UNUSED}
    for name in content:
        if name in known or not name.startswith(_SEARCH_KEYS):
            continue
        remedy = did_you_mean(name, known, else_="remove it")
        raise InputError(
            f"FlashRAG has no retrieval setting {name!r}", where=str(file), remedy=remedy
        )


def _check_kind(file: Path, settings: SearchSettings) -> None:
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
        raise InputError(
            "use_reranker is on, but no reranker is named",
            where=str(file),
            remedy="add rerank_model_name and rerank_model_path",
        )


def _check_files(file: Path, settings: SearchSettings, whole: Mapping[str, Any]) -> None:
    indexes = whole.get("method2index") or {}
    index = settings.index_path or indexes.get(settings.retrieval_method)
    for name, path in (("index_path", index), ("corpus_path", settings.corpus_path)):
        if path is None:
            raise InputError(f"names no {name}", where=str(file), remedy=f"add {name}: FILE")
        if not Path(path).exists():
            raise InputError(
                f"{name}: {path} does not exist",
                where=str(file),
                remedy="write the path relative to this file's folder",
            )


def _with_whole_paths(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    whole = dict(content)
    for name in _PATHS:
        whole[name] = _whole(content.get(name), folder)
    for name in _PATH_TABLES:
        if isinstance(table := content.get(name), dict):
            whole[name] = {key: _whole(value, folder) for key, value in table.items()}
    return {name: value for name, value in whole.items() if value is not None}


def _whole(value: Any, folder: Path) -> Any:
    """The path where there is such a file or folder, else the value: the name of a model."""
    if not isinstance(value, str):
        return value
    near = folder / value
    if near.exists():
        return str(near.resolve())
    return str(Path(value).resolve()) if Path(value).exists() else value
