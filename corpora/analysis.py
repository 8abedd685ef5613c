"""From text to the terms that BM25 counts, the same for passages and queries.

Lower case, words of two and more characters (letters, digits and `_` of any script) that are not
among Lucene's 33 English stop words, which bm25s has too, and the Snowball English stemmer.
"""

import re
import threading
from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import Manifest, rebuild_command

ANALYZER = "lower-words2-stop_en-snowball_english"
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "  # noqa: SIM905
    "there these they this to was will with".split()
)
_WORD = re.compile(r"\w\w+")
_KEPT_WORDS = 1 << 18


class Analyzer:
    """Text to stemmed terms. Thread-safe. Memory: up to 262,144 words with their stems."""

    def __init__(self) -> None:
        self._stems = _Stems()

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, repeats included."""
        stems = self._stems
        return [stem for word in _WORD.findall(text.lower()) if (stem := stems[word])]


class _Stems(dict[str, str]):
    """Stems by word, worked out once; a stop word's is empty."""

    def __init__(self) -> None:
        import Stemmer

        self._stem, self._lock = Stemmer.Stemmer("english").stemWord, threading.Lock()

    def __missing__(self, word: str) -> str:
        with self._lock:  # PyStemmer's stemmers may not be used by two threads at once
            stem = "" if word in STOP_WORDS else str(self._stem(word))
        if len(self) >= _KEPT_WORDS:
            self.clear()
        self[word] = stem
        return stem


def check_analyzer(corpus: Corpus, folder: Path, manifest: Manifest) -> None:
    """Raises InputError if the index in `folder` was analysed differently."""
    if manifest.analyzer != ANALYZER:
        raise InputError(
            f"the index was analysed with {manifest.analyzer}, queries would be with {ANALYZER}",
            where=str(folder),
            remedy=rebuild_command(corpus.path, folder.name, manifest),
        )


def no_words(corpus: Corpus) -> InputError:
    """What is wrong with a corpus of which nothing can be indexed."""
    return InputError(
        "no passage contains a word to index",
        where=str(corpus.path),
        remedy="use `--kind flat` for it",
    )
