"""BM25 with tantivy: mapped files, and only the passages that can be among the best are scored.

k1 is 1.2 and b .75, which tantivy fixes; it keeps the length of a passage in one byte, as Lucene
does. A passage that shares no term with the query is not a result. Queries are terms, never
tantivy's query language.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import DamagedDataError, InputError
from branchwise.base.files import RECORDS_FILE, has_records
from branchwise.base.process import Progress
from branchwise.base.text import one_line
from branchwise.corpora.analysis import (
    ANALYZER,
    check_analyzer,
    no_words,
    spaced,
    tantivy_analyzer,
    warn_of_question,
    warn_of_unspaced,
)
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import Manifest, index_command, made_with, rebuild_command
from branchwise.corpora.ranking import DEPTH, Scored, ranked
from branchwise.corpora.retrieval import MAX_K
from branchwise.corpora.scratch import scratch_folder

if TYPE_CHECKING:
    import tantivy

SCORING = "tantivy k1=1.2 b=0.75"
TERMS_FOLDER = "tantivy"
_CONTENTS, _ROW = "contents", "row"
_MOST_TERMS = 256
"""Of a query; those behind are left out."""
# Rows fetched beyond k, so that ties across the border are seen; doubled while they are not.
_SPARE = 8
_DEPTHS = (MAX_K + _SPARE, DEPTH + _SPARE)
_WRITER_BYTES = 128_000_000
_REPORT_EVERY = 5000
_LOCK = ".lock"


class LexicalIndex:
    """Ranks rows by BM25. Thread-safe. `folder`: where its files lie."""

    def __init__(
        self, searcher: "tantivy.Searcher", schema: "tantivy.Schema", corpus: Corpus, folder: Path
    ) -> None:
        self._searcher, self._schema = searcher, schema
        self._corpus, self._folder = corpus, folder
        self._analyzer = tantivy_analyzer()

    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        """For each query the best `k` rows with a term of it, and their BM25 scores."""
        return [self._best(query, k) for query in queries]

    def _best(self, text: str, k: int) -> list[Scored]:
        warn_of_question(text, self._corpus)
        # Sorted, since scores are sums of floats: the order of a query's words must not change one.
        terms = sorted(self._analyzer.analyze(spaced(text))[:_MOST_TERMS])
        if not terms:
            return []
        with _damage(self._corpus, self._folder):
            query = self._query(terms)
            # The same depth for every usual k: which passages are skipped depends on it, and with
            # that, by the last bit, what is found near the end.
            depth = next((depth for depth in _DEPTHS if k + _SPARE <= depth), k + _SPARE)
            found = self._found(query, depth)
            while len(found) == depth and found[-1].score == found[k - 1].score:
                depth *= 2
                found = self._found(query, depth)
        return ranked(found, k, self._corpus.id)

    def _query(self, terms: Sequence[str]) -> "tantivy.Query":
        """A union of terms: a term that a query repeats counts as often."""
        from tantivy import Occur, Query

        fields = [
            Query.term_query(self._schema, _CONTENTS, term, index_option="freq") for term in terms
        ]
        return Query.boolean_query([(Occur.Should, field) for field in fields])

    def _found(self, query: "tantivy.Query", depth: int) -> list[Scored]:
        # Without counting what matches, passages that cannot be among the best are skipped.
        hits = self._searcher.search(query, depth, count=False).hits
        rows = self._searcher.fast_field_values(_ROW, [address for _, address in hits])
        found = []
        for row, (score, _) in zip(rows, hits, strict=True):
            if not isinstance(row, int) or not 0 <= row < len(self._corpus):
                raise ValueError
            found.append(Scored(row, score))
        return found


def build(corpus: Corpus, folder: Path, encoding: Encoding, progress: Progress) -> Manifest:
    """Analyse and index every passage into `folder`; there is nothing to encode.

    Memory does not grow with the corpus. Raises InputError where no passage has a word, or the
    files cannot be written.
    """
    warn_of_unspaced(corpus)
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
    import tantivy

    fields = tantivy.SchemaBuilder().add_integer_field(_ROW, fast=True)
    fields = fields.add_text_field(_CONTENTS, tokenizer_name=ANALYZER, index_option="freq")
    folder.mkdir()
    try:
        index = tantivy.Index(fields.build(), path=str(folder))
        index.register_tokenizer(ANALYZER, tantivy_analyzer())
        writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        try:
            words = _add_all(writer, corpus, progress)
            writer.commit()
        finally:
            writer.wait_merging_threads()  # or they would go on to write while the folder goes
        for lock in folder.glob(f"*{_LOCK}"):
            lock.unlink()
    except (ValueError, OSError) as error:  # tantivy makes the first of every error of the system
        raise InputError(
            f"the index cannot be written ({one_line(str(error))})",
            where=str(corpus.path),
            remedy="look for room on the disk, and for what else writes there",
        ) from None
    if not words:
        raise no_words(corpus)
    progress(len(corpus), len(corpus))


def _add_all(writer: "tantivy.IndexWriter", corpus: Corpus, progress: Progress) -> bool:
    """Give the writer every passage; whether any of them has a term."""
    from tantivy import Document

    analyzer, words = tantivy_analyzer(), False
    for row, contents in enumerate(corpus.contents()):
        text = spaced(contents)
        words = words or bool(analyzer.analyze(text))
        passage = Document()
        passage.add_integer(_ROW, row)
        passage.add_text(_CONTENTS, text)
        writer.add_document(passage)
        if row % _REPORT_EVERY == 0:
            progress(row, len(corpus))
    return words


def open_index(corpus: Corpus, folder: Path, manifest: Manifest) -> LexicalIndex:
    """The index in `folder`. Raises InputError if it was made otherwise, or is damaged."""
    import tantivy

    check_analyzer(corpus, folder, manifest)
    if not has_records(folder):
        # Opening a damaged file can end the process (SIGABRT), which no handler of errors sees.
        raise InputError(
            f"the index was made without a record of its files ({RECORDS_FILE})",
            where=str(folder),
            remedy=rebuild_command(corpus.path, folder.name, manifest),
        )
    with scratch_folder("branchwise-index-") as links, _damage(corpus, folder):
        _link(folder / TERMS_FOLDER, links)
        index = tantivy.Index.open(str(links))
        index.config_reader(reload_policy="manual")
        searcher = index.searcher()
        if searcher.num_docs != len(corpus):
            raise ValueError
    return LexicalIndex(searcher, index.schema, corpus, folder)


def _link(folder: Path, links: Path) -> None:
    """Fill `links` with links to what is in `folder`, which the user may only be able to read.

    tantivy makes a lock beside what it opens. What is mapped stays when the links are gone.
    """
    for file in folder.resolve(strict=True).iterdir():
        if file.suffix != _LOCK:
            (links / file.name).symlink_to(file)


def described(manifest: Mapping[str, Any]) -> str:
    """By which analysis and formula."""
    analyzer = manifest.get("analyzer", "without an analyzer")
    return f"{analyzer}, {manifest.get('scoring')}"


@contextmanager
def _damage(corpus: Corpus, folder: Path) -> Iterator[None]:
    """What goes wrong in here is the index's damage, as one line."""
    try:
        yield
    except BaseException as error:
        panicked = type(error).__name__ == "PanicException"  # of Rust; it derives of BaseException
        if not panicked and not isinstance(error, (ValueError, TypeError, OSError)):
            raise
        raise DamagedDataError(
            "the terms are missing or damaged",
            where=str(folder),
            remedy=f"rebuild it: {index_command(corpus.path, folder.name, 'bm25')}",
        ) from None
