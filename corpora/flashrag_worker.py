"""FlashRAG's retriever in a process of its own: questions on standard input, rankings on output.

Importing FlashRAG and reading its configuration changes the whole process: faiss searches with
one thread from then on, the seeds are set, GPUs are chosen, and each search prints. None of that
may happen where the other retrievers and the models are at work.

One JSON value a line. First come the settings, answered with `{"ready": {...}}`; then requests
`{"query", "k"}`, each answered with `{"result": [[...]]}` in Search-R1's form. A failure is
`{"error": "..."}`.
"""

import json
import math
import os
import select
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from branchwise.corpora.retrieval import MAX_K

_DOCUMENT_FIELDS = ("id", "title", "text", "contents")


class _Search:
    """FlashRAG's retriever, asked one query at a time. A batch would change rankings: padding
    changes vectors, the first query's language chooses the prefix of all (`parse_query`), and
    `BiReranker` scores every query against the passages of the first."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import torch  # before numba, which bm25s brings: encoding is many times slower otherwise

        gpu = torch.cuda.is_available()
        self._config = _configuration(settings, half=gpu)
        from flashrag.utils import get_retriever

        self._retriever = get_retriever(self._config)
        corpus = getattr(self._retriever, "corpus", None)
        self._size = None if corpus is None else len(corpus)
        self._reranks = bool(self._config["use_reranker"])
        self._depth = int(self._config["retrieval_topk"])

    def ready(self) -> dict[str, Any]:
        """What was opened, and in which number format it computes. It searches once: the first
        search compiles and loads for seconds, and shows what fails."""
        from importlib.metadata import version

        self.ranking("What is the capital of France?", 1)
        names = ("index_path", "corpus_path", "retrieval_model_path", "rerank_model_path")
        flags = ("retrieval_use_fp16", "rerank_use_fp16", "retrieval_pooling_method")
        return {name: self._config[name] for name in (*names, *flags)} | {
            "version": version("flashrag-dev"),
            "passages": self._size,
        }

    def ranking(self, query: str, k: int) -> list[dict[str, Any]]:
        """The best `k` documents with scores; a reranker ranks `retrieval_topk` of them first."""
        # Always as deep, so that the first 3 of 50 are the best 3 where scores are equal, too.
        wanted = self._depth if self._reranks else max(k, MAX_K)
        # Past the last passage faiss returns row -1, which FlashRAG reads as the last passage.
        wanted = wanted if self._size is None else min(wanted, self._size)
        results = self._retriever.batch_search([query], num=wanted, return_score=True)
        documents, scores = (list(part[0]) for part in results)
        ranking = []
        for document, score in zip(map(dict, documents), scores, strict=True):
            fields = {name: document[name] for name in _DOCUMENT_FIELDS if name in document}
            if math.isfinite(float(score)):
                ranking.append({"document": fields, "score": float(score)})
        return ranking[:k]


def _configuration(settings: Mapping[str, Any], *, half: bool) -> Any:
    """FlashRAG's configuration, with the settings that are fixed here.

    float16 only on a GPU, unless it is asked for: on a processor it is three times slower. No
    cache: its key is the query alone, so it answers for any index. No folder is made.
    """
    from flashrag.config import Config

    decided = {
        "disable_save": True,
        "save_retrieval_cache": False,
        "use_retrieval_cache": False,
        "silent_retrieval": True,
        "gpu_id": settings.get("gpu_id"),
        "rerank_topk": settings["retrieval_topk"],
    }
    defaults = {"retrieval_use_fp16": half, "rerank_use_fp16": half}
    return Config(config_dict={**defaults, **settings, **decided})


def _answers(lines: TextIO) -> Iterator[dict[str, Any]]:
    try:
        search = _Search(json.loads(lines.readline()))
        yield {"ready": search.ready()}
    except Exception as error:  # noqa: BLE001 -- told to the one who asked
        yield {"error": _in_words(error)}
        return
    for line in lines:
        request = json.loads(line)
        try:
            yield {"result": [search.ranking(request["query"], request["k"])]}
        except Exception as error:  # noqa: BLE001 -- told to the one who asked
            yield {"error": _in_words(error)}


def _in_words(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:1000]


def main() -> None:
    """Serve until standard input ends. What FlashRAG prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines = os.fdopen(os.dup(0), "r", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def end_with_host() -> None:
        """Leave as soon as nobody writes to standard input: loading or a search takes minutes."""
        poll = select.poll()
        poll.register(lines.fileno(), 0)  # what is always told: the other end was closed
        poll.poll()
        os._exit(1)

    threading.Thread(target=end_with_host, daemon=True).start()
    for answer in _answers(lines):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    # As a module `faiss` and FlashRAG's own threads may still be at work: leave at once.
    main()
    sys.stdout.flush()
    os._exit(0)
