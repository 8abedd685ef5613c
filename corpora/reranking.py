"""A retriever's ranking made anew by a cross-encoder, which reads query and passage together."""

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError, require
from branchwise.corpora.encoder_models import folder_digest, quiet
from branchwise.corpora.encoders import refuse_telemetry
from branchwise.corpora.names_in_text import quoted
from branchwise.corpora.retrieval import MAX_K, Hit, Retriever, phrases_first

DEPTH = MAX_K
"""Passages of a query that are ranked anew: always as many, so that the first 3 of 50 stay."""
_KIND = "ForSequenceClassification"
_REMEDY = "name the folder of a cross-encoder, such as ms-marco-MiniLM-L12-v2"
_BATCH = 32


class RerankingRetriever:
    """Asks another retriever for more and puts the best first, by a cross-encoder's scores before
    activation. A query's pairs are scored apart from others': padding changes the last bits."""

    def __init__(self, retriever: Retriever, folder: Path) -> None:
        """Raises InputError where the folder holds no such model."""
        check_cross_encoder(folder)
        require("local", "a cross-encoder", str(folder), ("sentence_transformers",))
        refuse_telemetry()  # importing sentence-transformers imports openvino too, where it is
        from sentence_transformers import CrossEncoder

        try:
            with quiet():
                model = CrossEncoder(str(folder), local_files_only=True)
        except Exception as error:
            problem = f"holds no cross-encoder that can be loaded ({type(error).__name__})"
            raise InputError(problem, where=str(folder), remedy=_REMEDY) from error
        if model.num_labels != 1:
            problem = f"the cross-encoder gives {model.num_labels} scores for a pair, not one"
            raise InputError(problem, where=str(folder), remedy=_REMEDY)
        self._model = model
        self.name = retriever.name
        self.identity: Mapping[str, Any] = {
            "kind": "reranked",
            "depth": DEPTH,
            "digest": folder_digest(folder),
            "parts": [dict(retriever.identity)],
        }
        # How a batcher asks it is how it asks the other one.
        self.daemon = getattr(retriever, "daemon", None)
        self.address = getattr(retriever, "address", None)
        if hasattr(retriever, "batch"):
            self.batch = retriever.batch
        self._retriever = retriever
        # Fast tokenizers keep padding settings as state, so they cannot be shared by threads.
        self._lock = threading.Lock()

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        rankings = self._retriever.search(queries, max(k, DEPTH))
        pairs = zip(queries, rankings, strict=True)
        return [self._ranked(query, hits)[:k] for query, hits in pairs]

    def _ranked(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        if not hits:
            return []
        import torch

        with self._lock:
            scores = self._model.predict(
                [(query, hit.passage.contents) for hit in hits],
                batch_size=_BATCH,
                show_progress_bar=False,
                # A sigmoid would make one score of all high ones.
                activation_fn=torch.nn.Identity(),
            )
        scored = [Hit(hit.passage, float(score)) for hit, score in zip(hits, scores, strict=True)]
        best = sorted(scored, key=lambda hit: (-hit.score, hit.passage.id))
        return phrases_first(best, (), phrases) if (phrases := quoted(query)) else best


def check_cross_encoder(folder: Path) -> None:
    """Raise InputError where a folder holds no cross-encoder, as far as its files tell."""
    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder), remedy=_REMEDY)
    if not any(folder.glob("*.safetensors")):
        problem = "has no weights in safetensors format"
        raise InputError(problem, where=str(folder), remedy="pickled weights can run code")
    try:
        architectures = json.loads((folder / "config.json").read_text("utf-8"))["architectures"]
        # Else the part that scores would be made of random numbers.
        scores_pairs = any(str(name).endswith(_KIND) for name in architectures)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        scores_pairs = False
    if not scores_pairs:
        problem = "holds no cross-encoder: its model scores no pairs"
        raise InputError(problem, where=str(folder), remedy=_REMEDY)
