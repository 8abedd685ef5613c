"""BM25 with tantivy: mapped files, and only the passages that can be among the best are scored.

Terms, the same for passages and queries: lower case, words of two and more characters (letters,
digits and `_`) that are not among Lucene's 33 English stop words, and the Snowball English stemmer.
k1 is 1.2 and b .75, which tantivy fixes; it keeps the length of a passage in one byte, as Lucene
does. A passage that shares no term with the query is not a result. Queries are terms, never
tantivy's query language.

Titles are no field of their own: with a weight of .5 they find .04 more of the support on 2Wiki,
whose questions name it, and .02 less on worlds.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import tantivy

from branchwise.base.errors import DamagedDataError, InputError, warn
from branchwise.base.files import RECORDS_FILE, has_records
from branchwise.base.process import Progress
from branchwise.base.text import one_line
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import Manifest, index_command, made_with, rebuild_command
from branchwise.corpora.retrieval import DEPTH, MAX_K, Scored, ranked
from branchwise.corpora.scratch import scratch_folder

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
_MANY = 0.2  # the share of letters of such scripts from which a warning says so
_PASSAGES = 2_000  # of a corpus, those that are looked at: in steps, from its beginning to its end
_FINDS_LITTLE = (
    "much of the text is in a script without spaces between words, where BM25 finds next to "
    "nothing; use `--kind flat` with an encoder of its language"
)
SCORING = "tantivy k1=1.2 b=0.75"
TERMS_FOLDER = "tantivy"
_CONTENTS, _ROW = "contents", "row"
_MOST_TERMS = 256  # of a query; those behind are left out
# Rows fetched beyond k, so that ties across the border are seen; doubled while they are not.
_SPARE = 8
_DEPTHS = (MAX_K + _SPARE, DEPTH + _SPARE)
_WRITER_BYTES = 128_000_000
_REPORT_EVERY = 5000
_LOCK = ".lock"


def spaced(text: str) -> str:
    """The words of a text in lower case between spaces, those that are `LEFT_OUT` among them."""
    text = text.lower()
    return text.translate(_SPACED) if text.isascii() else " ".join(_WORD.findall(text))


def _is_unspaced(texts: Iterable[str]) -> bool:
    letters = unspaced = 0
    for text in texts:
        letters += sum(map(len, text.split()))
        unspaced += 0 if text.isascii() else len(_UNSPACED.findall(text))
    return unspaced > _MANY * letters


@cache
def _warn_once(path: Path) -> None:
    warn(f"{path}, a search: {_FINDS_LITTLE}")


def tantivy_analyzer() -> tantivy.TextAnalyzer:
    """From `spaced` words to terms."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    counted = words.filter(tantivy.Filter.custom_stopword(sorted(LEFT_OUT)))
    return counted.filter(tantivy.Filter.stemmer("english")).build()


class LexicalIndex:
    """Ranks rows by BM25. Thread-safe. `folder`: where its files lie."""

    def __init__(
        self, searcher: tantivy.Searcher, schema: tantivy.Schema, corpus: Corpus, folder: Path
    ) -> None:
        self._searcher, self._schema = searcher, schema
        self._corpus, self._folder = corpus, folder
        self._analyzer = tantivy_analyzer()

    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        return [self._best(query, k) for query in queries]

    def _best(self, text: str, k: int) -> list[Scored]:
        if not text.isascii() and _is_unspaced([text]):
            _warn_once(self._corpus.path)
        # Sorted, since scores are sums of floats: the order of a query's words must not change one.
        terms = sorted(self._analyzer.analyze(spaced(text))[:_MOST_TERMS])
        if not terms:
            return []
        with _damage(self._corpus, self._folder):
            # A union: a term that a query repeats counts as often.
            of_term = partial(
                tantivy.Query.term_query, self._schema, _CONTENTS, index_option="freq"
            )
            parts = [(tantivy.Occur.Should, of_term(term)) for term in terms]
            query = tantivy.Query.boolean_query(parts)
            # As deep for every usual k: which passages are skipped decides what is near the end.
            depth = next((depth for depth in _DEPTHS if k + _SPARE <= depth), k + _SPARE)
            scored = self._scored(query, depth)
            while len(scored) == depth and scored[-1].score == scored[k - 1].score:
                depth *= 2
                scored = self._scored(query, depth)
        return ranked(scored, k, self._corpus.id)

    def _scored(self, query: tantivy.Query, depth: int) -> list[Scored]:
        # Without counting what matches, passages that cannot be among the best are skipped.
        hits = self._searcher.search(query, depth, count=False).hits
        rows = self._searcher.fast_field_values(_ROW, [address for _, address in hits])
        scored = []
        for row, (score, _) in zip(rows, hits, strict=True):
            if not isinstance(row, int) or not 0 <= row < len(self._corpus):
                raise ValueError
            scored.append(Scored(row, score))
        return scored


def build(corpus: Corpus, folder: Path, encoding: Encoding, progress: Progress) -> Manifest:
    """Analyse and index every passage into `folder`, in memory that does not grow with it."""
    step = max(1, len(corpus) // _PASSAGES)
    texts = (text for row in range(0, len(corpus), step) for text in corpus.contents(row, row + 1))
    if _is_unspaced(texts):
        warn(f"{corpus.path}: {_FINDS_LITTLE}")
    _write(corpus, folder / TERMS_FOLDER, progress)
    return Manifest(
        kind="bm25",
        corpus_sha256=corpus.sha256,
        passages=len(corpus),
        metric="bm25",
        dtype="float32",
        analyzer=ANALYZER,
        scoring=SCORING,
        versions=made_with("tantivy"),
    )


def _write(corpus: Corpus, folder: Path, progress: Progress) -> None:
    fields = tantivy.SchemaBuilder().add_integer_field(_ROW, fast=True)
    fields = fields.add_text_field(_CONTENTS, tokenizer_name=ANALYZER, index_option="freq")
    folder.mkdir()
    try:
        index = tantivy.Index(fields.build(), path=str(folder))
        index.register_tokenizer(ANALYZER, tantivy_analyzer())
        writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        try:
            analyzer, words = tantivy_analyzer(), False
            for row, contents in enumerate(corpus.contents()):
                text = spaced(contents)
                words = words or bool(analyzer.analyze(text))
                passage = tantivy.Document()
                passage.add_integer(_ROW, row)
                passage.add_text(_CONTENTS, text)
                writer.add_document(passage)
                if row % _REPORT_EVERY == 0:
                    progress(row, len(corpus))
            writer.commit()
        finally:
            writer.wait_merging_threads()  # or they would go on to write while the folder goes
        for lock in folder.glob(f"*{_LOCK}"):
            lock.unlink()
    except (ValueError, OSError) as error:  # tantivy makes the first of every error of the system
        problem = f"the index cannot be written ({one_line(str(error))})"
        remedy = "look for room on the disk, and for what else writes there"
        raise InputError(problem, where=str(corpus.path), remedy=remedy) from None
    if not words:
        problem = "no passage contains a word to index"
        raise InputError(problem, where=str(corpus.path), remedy="use `--kind flat` for it")
    progress(len(corpus), len(corpus))


def open_index(corpus: Corpus, folder: Path, manifest: Manifest) -> LexicalIndex:
    problem = ""
    if manifest.analyzer != ANALYZER:
        problem = f"was analysed with {manifest.analyzer}, queries would be with {ANALYZER}"
    elif not has_records(folder):
        # Opening a damaged file can end the process (SIGABRT), which no handler of errors sees.
        problem = f"was made without a record of its files ({RECORDS_FILE})"
    if problem:
        remedy = rebuild_command(corpus.path, folder.name, manifest)
        raise InputError(f"the index {problem}", where=str(folder), remedy=remedy)
    with scratch_folder("branchwise-index-") as links, _damage(corpus, folder):
        # tantivy locks beside what it opens, which may be read-only. What is mapped stays.
        for file in (folder / TERMS_FOLDER).resolve(strict=True).iterdir():
            if file.suffix != _LOCK:
                (links / file.name).symlink_to(file)
        index = tantivy.Index.open(str(links))
        index.config_reader(reload_policy="manual")
        searcher = index.searcher()
        if searcher.num_docs != len(corpus):
            raise ValueError
    return LexicalIndex(searcher, index.schema, corpus, folder)


def described(manifest: Mapping[str, Any]) -> str:
    """By which analysis and formula."""
    analyzer = manifest.get("analyzer", "without an analyzer")
    return f"{analyzer}, {manifest.get('scoring')}"


@contextmanager
def _damage(corpus: Corpus, folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        panicked = type(error).__name__ == "PanicException"  # of Rust; it derives of BaseException
        if not panicked and not isinstance(error, (ValueError, TypeError, OSError)):
            raise
        problem = "the terms are missing or damaged"
        remedy = f"rebuild it: {index_command(corpus.path, folder.name, 'bm25')}"
        raise DamagedDataError(problem, where=str(folder), remedy=remedy) from None
