"""From text to the terms that BM25 counts, the same for passages and queries.

Lower case, words of two and more characters (letters, digits and `_`, between spaces or other
characters) that are not among Lucene's 33 English stop words, and the Snowball English
stemmer. Scripts that write no spaces have no words so: a warning says it.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.base.errors import InputError, warn
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
# Chinese, Japanese, Thai, Lao, Burmese and Khmer: a sentence is one word there.
_UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_MANY = 0.2
"""The share of letters of such scripts from which a warning says so."""
_PASSAGES = 2_000
"""Of a corpus, those that are looked at: in steps, from its beginning to its end."""


def spaced(text: str) -> str:
    """The words of a text in lower case between spaces, those that are `LEFT_OUT` among them."""
    text = text.lower()
    return text.translate(_SPACED) if text.isascii() else " ".join(_WORD.findall(text))


def is_unspaced(texts: Iterable[str]) -> bool:
    """Whether many of the letters are of scripts that write no spaces between words."""
    letters = unspaced = 0
    for text in texts:
        letters += sum(map(len, text.split()))
        unspaced += 0 if text.isascii() else len(_UNSPACED.findall(text))
    return unspaced > _MANY * letters


def warn_of_unspaced(corpus: Corpus) -> None:
    """Warn, before it is indexed, of a corpus in which hardly any word will be met."""
    step = max(1, len(corpus) // _PASSAGES)
    texts = (text for row in range(0, len(corpus), step) for text in corpus.contents(row, row + 1))
    if is_unspaced(texts):
        warn(f"{corpus.path}: {_FINDS_LITTLE}")


_FINDS_LITTLE = (
    "much of the text is in a script without spaces between words, where BM25 finds next to "
    "nothing; use `--kind flat` with an encoder of its language"
)


def warn_of_question(text: str, corpus: Corpus) -> None:
    """Warn, once for a corpus, of a search in such a script."""
    if not text.isascii() and is_unspaced([text]):
        _warn_once(corpus.path)


@cache
def _warn_once(path: Path) -> None:
    warn(f"{path}, a search: {_FINDS_LITTLE}")


def tantivy_analyzer() -> "tantivy.TextAnalyzer":
    """From `spaced` words to terms."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    words = TextAnalyzerBuilder(Tokenizer.whitespace())
    left = words.filter(Filter.custom_stopword(sorted(LEFT_OUT)))
    return left.filter(Filter.stemmer("english")).build()


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
