"""From text to the terms that BM25 counts, the same for passages and queries.

Lower case, words of two and more characters (letters, digits and `_` of any script) that are not
among Lucene's 33 English stop words, which bm25s has too, and the Snowball English stemmer.
"""

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import Manifest, rebuild_command

if TYPE_CHECKING:
    import tantivy

ANALYZER = "lower-words2-stop_en-snowball_english"
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then "  # noqa: SIM905
    "there these they this to was will with".split()
)
_WORD = re.compile(r"\w\w+")
# The same of ASCII, in half the time: all that is in no word becomes a space.
_SPACED = {code: " " for code in range(128) if not re.fullmatch(r"\w", chr(code))}
LEFT_OUT = STOP_WORDS | {chr(code) for code in range(128) if code not in _SPACED}
"""Of the words that `spaced` leaves: stop words and ASCII characters that stand alone."""
_KEPT_WORDS = 1 << 19


def spaced(text: str) -> str:
    """The words of a text in lower case between spaces, those that are `LEFT_OUT` among them."""
    text = text.lower()
    return text.translate(_SPACED) if text.isascii() else " ".join(_WORD.findall(text))


def tantivy_analyzer() -> "tantivy.TextAnalyzer":
    """From `spaced` words to the terms of `Analyzer`, which takes far longer."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    words = TextAnalyzerBuilder(Tokenizer.whitespace())
    left = words.filter(Filter.custom_stopword(sorted(LEFT_OUT)))
    return left.filter(Filter.stemmer("english")).build()


class Analyzer:
    """Text to stemmed terms. Thread-safe. Memory: up to 524,288 words and stems, some 90 MB."""

    def __init__(self) -> None:
        self._stems = _Stems()

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, repeats included."""
        return list(filter(None, map(self._stems.__getitem__, spaced(text).split())))


class _Stems(dict[str, str]):
    """Stems by word, worked out once; empty of a stop word or a single character."""

    def __init__(self) -> None:
        import Stemmer

        self._stem, self._lock = Stemmer.Stemmer("english").stemWord, threading.Lock()

    def __missing__(self, word: str) -> str:
        with self._lock:  # PyStemmer's stemmers may not be used by two threads at once
            stem = "" if word in LEFT_OUT else str(self._stem(word))
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
