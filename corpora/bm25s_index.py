"""BM25 with bm25s (Lucene's variant, k1 = 1.5, b = 0.75): every passage is scored for every query.

A passage that shares no term with the query is not a result.
"""

import warnings
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from branchwise.corpora.analysis import (
    ANALYZER,
    Analyzer,
    check_analyzer,
    no_words,
    warn_of_question,
    warn_of_unspaced,
)
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import Manifest, index_command, made_with
from branchwise.corpora.progress import Progress
from branchwise.corpora.ranking import Scored, ranked

if TYPE_CHECKING:
    import numpy as np

TERMS_FOLDER = "bm25s"
_REPORT_EVERY = 5000


class TermArrays:
    """Ranks rows by bm25s. Thread-safe. `folder`: where its files lie."""

    def __init__(self, bm25: Any, analyzer: Analyzer, corpus: Corpus, folder: Path) -> None:
        self._bm25, self._analyzer, self._corpus = bm25, analyzer, corpus
        self._folder = folder

    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        """For each query the best `k` rows with a term of it, and their BM25 scores."""
        return [self._best(query, k) for query in queries]

    def _best(self, query: str, k: int) -> list[Scored]:
        import numpy as np

        warn_of_question(query, self._corpus)
        terms = self._analyzer.terms(query)
        try:
            ids = self._bm25.get_tokens_ids(terms)
            if not ids:
                return []
            scores: np.ndarray = self._bm25.get_scores_from_ids(ids)
        except (ValueError, TypeError, LookupError):
            # To read all of a large index before the first search would take minutes.
            raise _damaged(self._corpus, self._folder) from None
        rows = _candidates(scores, k)
        found = [Scored(r, s) for r, s in zip(rows.tolist(), scores[rows].tolist(), strict=True)]
        return ranked(found, k, self._corpus.id)


def _candidates(scores: "np.ndarray", k: int) -> "np.ndarray":
    """Rows above zero that reach the k-th best score, all that tie with it included."""
    import numpy as np

    if k >= len(scores):
        return np.flatnonzero(scores > 0)
    border = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero((scores >= border) & (scores > 0))


def build(corpus: Corpus, folder: Path, encoding: Encoding, progress: Progress) -> Manifest:
    """Analyse and count every passage into `folder`; there is nothing to encode.

    Raises InputError where no passage has a word.
    """
    _count(corpus, folder, progress)
    return Manifest(
        kind="bm25s",
        corpus_sha256=corpus.sha256,
        passages=len(corpus),
        metric="bm25",
        dtype="float32",
        analyzer=ANALYZER,
        versions=made_with("bm25s", "PyStemmer"),
    )


def _count(corpus: Corpus, folder: Path, progress: Progress) -> None:
    warn_of_unspaced(corpus)
    bm25s = _bm25s()
    analyzer = Analyzer()
    vocabulary: dict[str, int] = {}
    documents: list[array[int]] = []
    for row, contents in enumerate(corpus.contents()):
        terms = analyzer.terms(contents)
        ids = (vocabulary.setdefault(term, len(vocabulary)) for term in terms)
        documents.append(array("I", ids))
        if row % _REPORT_EVERY == 0:
            progress(row, len(corpus))
    if not vocabulary:
        raise no_words(corpus)
    bm25 = bm25s.BM25()
    bm25.index((documents, vocabulary), show_progress=False)
    bm25.save(folder / TERMS_FOLDER)
    progress(len(corpus), len(corpus))


def open_index(corpus: Corpus, folder: Path, manifest: Manifest) -> TermArrays:
    """The index in `folder`. Raises InputError if it was analysed differently, or is damaged."""
    check_analyzer(corpus, folder, manifest)
    bm25s = _bm25s()
    try:
        bm25 = bm25s.BM25.load(folder / TERMS_FOLDER, mmap=True)
        fits = bm25.scores["num_docs"] == len(corpus)
    except Exception:  # noqa: BLE001 - numpy and bm25s let through what damaged files lead to
        fits = False
    if not fits:
        raise _damaged(corpus, folder)
    return TermArrays(bm25, Analyzer(), corpus, folder)


def described(manifest: Mapping[str, Any]) -> str:
    """By which analysis."""
    return str(manifest.get("analyzer", "without an analyzer"))


def _damaged(corpus: Corpus, folder: Path) -> InputError:
    return InputError(
        "the term statistics are missing or damaged",
        where=str(folder),
        remedy=f"rebuild it: {index_command(corpus.path, folder.name, 'bm25s')}",
    )


def _bm25s() -> ModuleType:
    """bm25s; with numba, which makes torch tens of times slower where it comes first, torch too."""
    import importlib.util

    if importlib.util.find_spec("numba"):
        import torch  # noqa: F401
    # bm25s imports tqdm, which complains in a notebook without widgets; its bars are not used.
    warnings.filterwarnings("ignore", "IProgress not found")
    import bm25s

    return cast(ModuleType, bm25s)
