"""Search by words at a million passages, beside plain tantivy on the same text.

Passages of 60 to 140 words of a vocabulary of 300,000 with Zipf's frequencies; queries are five
words of a passage. Plain tantivy is what one writes in an afternoon: one text field with its
English stemmer, passages stored in the index, `parse_query`, the first ten; its queries come one
after the other from one thread, since its Python wheel gains nothing by more. Ours goes the way of
an agent's search: batcher, analysis, index, passages from disk. Each runs in a process of its own,
and they take turns, so that a busy machine slows all alike: read the ratios.

    python benchmarks/lexical.py [--passages 1000000] [--repeats 5] [--queries 200] [--with-dense]
        [--folder DIR]
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import orjson
from machine import describe_machine
from many_vectors import Inputs, write_encoder, write_vectors

K, CLIENTS, VOCABULARY, DIMENSION = 10, 32, 300_000, 384
METHODS = ("one_after_the_other", "together")
SYLLABLES = tuple("ka ro mi ten sul par vo lin bas que nor tia mel gar dun phe ost".split())  # noqa: SIM905


class Cost(NamedTuple):
    """Of indexing: seconds, seconds of the processor, peak and disk MB."""

    seconds: float
    processor: float
    peak: float
    disk: float


class System(Protocol):
    """A way of searching."""

    def one_after_the_other(self, queries: Sequence[str]) -> None: ...
    def together(self, queries: Sequence[str]) -> None: ...


class Plain:
    """tantivy as it is."""

    @staticmethod
    def index(corpus: Path, folder: Path) -> None:
        import tantivy

        fields = tantivy.SchemaBuilder().add_text_field(
            "contents", stored=True, tokenizer_name="en_stem"
        )
        folder.mkdir()
        writer = tantivy.Index(fields.build(), path=str(folder)).writer(num_threads=1)
        with (corpus / "corpus.jsonl").open("rb") as lines:
            for line in lines:
                writer.add_document(tantivy.Document(contents=orjson.loads(line)["contents"]))
        writer.commit()
        writer.wait_merging_threads()

    def __init__(self, corpus: Path, folder: Path) -> None:
        import tantivy

        self._index = tantivy.Index.open(str(folder))
        self._searcher = self._index.searcher()

    def one_after_the_other(self, queries: Sequence[str]) -> None:
        for query in queries:
            hits = self._searcher.search(
                self._index.parse_query(query, ["contents"]), K, count=False
            ).hits
            assert [self._searcher.doc(address) for _, address in hits]

    together = one_after_the_other


class Ours:
    """The product, by kind of index."""

    KIND = "bm25"

    @classmethod
    def index(cls, corpus: Path, folder: Path) -> None:
        from branchwise.corpora.build import build_index

        build_index(corpus, cls.KIND)

    def __init__(self, corpus: Path, folder: Path) -> None:
        from branchwise.corpora.open import open_retriever
        from branchwise.tools.batcher import Batcher

        self._batcher = Batcher(open_retriever(corpus, self.KIND))

    def one_after_the_other(self, queries: Sequence[str]) -> None:
        for query in queries:
            assert self._batcher.search_blocking(query, K)

    def together(self, queries: Sequence[str]) -> None:
        asyncio.run(self._clients(queries))

    async def _clients(self, queries: Sequence[str]) -> None:
        waiting = iter(queries)

        async def client() -> None:
            for query in waiting:
                assert await self._batcher.search(query, K)

        await asyncio.gather(*(client() for _ in range(CLIENTS)))


class OursByVectors(Ours):
    """Synthetic vectors of passages; queries are encoded by a BERT of one layer."""

    KIND = "ivf"

    @classmethod
    def index(cls, corpus: Path, folder: Path) -> None:
        from branchwise.corpora.build import build_index

        given = vectors_of(corpus)
        build_index(corpus, cls.KIND, encoder=str(given.encoder), vectors=given.vectors)


class OursByBoth(Ours):
    """The fusion of `bm25` and `ivf`."""

    KIND = "hybrid"

    @classmethod
    def index(cls, corpus: Path, folder: Path) -> None:
        """It needs none of its own."""


DENSE = ("ivf", "hybrid")
SYSTEMS: dict[str, Any] = {
    "tantivy": Plain,
    "bm25": Ours,
    "ivf": OursByVectors,
    "hybrid": OursByBoth,
}


def vectors_of(corpus: Path) -> Inputs:
    """Vectors beside a corpus, which are made unless they are there."""
    made = Inputs(corpus, corpus.with_suffix(".npy"), corpus.with_name(f"encoder{DIMENSION}"))
    if not made.encoder.exists():
        write_encoder(made.encoder, DIMENSION)
    if not made.vectors.exists():
        with (corpus / "corpus.jsonl").open("rb") as lines:
            count = sum(1 for _ in lines)
        write_vectors(made.vectors, corpus, made.encoder, count, DIMENSION)
    return made


def index(name: str, corpus: Path, folder: Path, pipe: Connection) -> None:
    """In a process of its own: make the index, send its cost."""
    began, processor = time.perf_counter(), time.process_time()
    SYSTEMS[name].index(corpus, folder)
    made = folder if folder.exists() else corpus / "index" / name
    disk = sum(file.stat().st_size for file in made.rglob("*") if file.is_file()) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    pipe.send(Cost(time.perf_counter() - began, time.process_time() - processor, peak, disk))


def search(name: str, corpus: Path, folder: Path, pipe: Connection) -> None:
    """In a process of its own: open, then answer what is sent with seconds."""
    began = time.perf_counter()
    system = SYSTEMS[name](corpus, folder)
    pipe.send(time.perf_counter() - began)
    while job := pipe.recv():
        method, queries = job
        began = time.perf_counter()
        getattr(system, method)(queries)
        pipe.send((time.perf_counter() - began, _memory()))


def _memory() -> tuple[float, float]:
    """Private and resident MB; mapped files are resident, not private."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    fields = {line.split()[0]: float(line.split()[1]) / 2**10 for line in lines}
    return fields["Private_Dirty:"], fields["Rss:"]


def make_corpus(folder: Path, passages: int) -> None:
    """Passages whose words have Zipf's frequencies."""
    chance = np.random.default_rng(1)
    words = np.array([_word(number) for number in range(VOCABULARY)], dtype=object)
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    shares /= shares[-1]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.jsonl").open("wb") as file:
        for row in range(passages):
            text = words[np.searchsorted(shares, chance.random(chance.integers(60, 141)))]
            contents = f"{' '.join(text[:2])}\n{' '.join(text[2:])}"
            file.write(orjson.dumps({"id": f"p{row}", "contents": contents}) + b"\n")


def _word(number: int) -> str:
    """A word of its own for each number."""
    made, number = "", number + len(SYLLABLES)
    while number:
        number, syllable = divmod(number, len(SYLLABLES))
        made += SYLLABLES[syllable]
    return made


def make_queries(corpus: Path, count: int) -> list[str]:
    """Five words of a passage each."""
    chance = random.Random(3)
    with (corpus / "corpus.jsonl").open("rb") as lines:
        passages = [
            orjson.loads(line)["contents"].split()
            for _, line in zip(range(20_000), lines, strict=False)
        ]
    return [" ".join(chance.sample(chance.choice(passages), 5)) for _ in range(count)]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--with-dense", action="store_true", help="ivf and hybrid, too.")
    parser.add_argument("--folder", type=Path, help="Keep and use again what is made here.")
    options = parser.parse_args()
    from branchwise.corpora.folder import Corpus

    print(describe_machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        corpus = folder / f"C{options.passages}"
        if not corpus.exists():
            make_corpus(corpus, options.passages)
        Corpus.open(corpus)  # which counts and hashes it the first time, as building it would
        names = [name for name in SYSTEMS if options.with_dense or name not in DENSE]
        if options.with_dense:
            # In a process of its own: what this one once held would count as its children's peak.
            making = multiprocessing.get_context("spawn").Process(target=vectors_of, args=(corpus,))
            making.start()
            making.join()
        _index_all(names, corpus)
        _search_all(names, corpus, make_queries(corpus, options.queries), options.repeats)


def _index_all(names: Sequence[str], corpus: Path) -> None:
    print(f"{'indexing':<12}{'s':>8}{'CPU s':>8}{'peak MB':>9}{'disk MB':>9}")
    for name in names:
        folder = corpus.with_name(f"{corpus.name}-{name}")
        if folder.exists() or (corpus / "index" / name).exists():
            print(f"{name:<12}  there already")
            continue
        pipe, process = _started(index, name, corpus)
        cost = pipe.recv()
        process.join()
        print(
            f"{name:<12}{cost.seconds:>8.1f}{cost.processor:>8.1f}{cost.peak:>9.0f}{cost.disk:>9.0f}"
        )


def _search_all(names: Sequence[str], corpus: Path, queries: Sequence[str], repeats: int) -> None:
    pipes = {name: _started(search, name, corpus)[0] for name in names}
    opening = {name: pipe.recv() for name, pipe in pipes.items()}
    rates: dict[tuple[str, str], list[float]] = {}
    memory: dict[str, tuple[float, float]] = {}
    for turn in range(repeats + 1):
        for method in METHODS:
            for name, pipe in pipes.items():
                pipe.send((method, queries))
                seconds, memory[name] = pipe.recv()
                if turn:  # the first warms up
                    rates.setdefault((name, method), []).append(len(queries) / seconds)
    head = ("open, s", "1/s at 1", f"1/s at {CLIENTS}", "private MB", "resident MB")
    print(f"{'searching':<12}" + "".join(f"{column:>12}" for column in head))
    for name in names:
        one, many = (statistics.median(rates[name, m]) for m in METHODS)
        figures = (opening[name], one, many, *memory[name])
        print(f"{name:<12}" + "".join(f"{figure:>12.1f}" for figure in figures))
    for method in METHODS:
        ratios = [
            ours / theirs
            for ours, theirs in zip(rates["bm25", method], rates["tantivy", method], strict=True)
        ]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"bm25 / tantivy, {method}: {statistics.median(ratios):.2f} ({spread})")
    for pipe in pipes.values():
        pipe.send(None)


def _started(work: Any, name: str, corpus: Path) -> tuple[Connection, Any]:
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    arguments = (name, corpus, corpus.with_name(f"{corpus.name}-{name}"), theirs)
    process = context.Process(target=work, args=arguments, daemon=True)
    process.start()
    return pipe, process


def judged(folder: Path) -> Iterator[tuple[str, Path, list[tuple[str, set[str]]]]]:
    """Name, corpus, and queries with the ids of their support."""
    from manners.worlds import ENTITIES, branchwise, questions

    from branchwise.corpora.loaders import load_questions
    from branchwise.eval.retrieval_evaluation import judged_queries

    for seed in (5, 6):
        made = folder / f"world-{seed}"
        branchwise("world", "make", "--entities", ENTITIES, "--seed", seed, "--out", made)
        asked = judged_queries(load_questions(str(questions(made, 300, seed))).questions, None)
        yield f"world {seed}", made, [(one.text, {*one.relevant}) for one in asked]
    data = os.environ.get("BRANCHWISE_DATA")
    if data:
        yield "2Wiki", *_two_wiki(Path(data) / "2wiki", folder / "2wiki")
    else:
        print("2Wiki: left out; set BRANCHWISE_DATA", file=sys.stderr)


def _two_wiki(data: Path, folder: Path) -> tuple[Path, list[tuple[str, set[str]]]]:
    from branchwise.corpora.build import build_corpus
    from branchwise.corpora.passages import name_of

    corpus = build_corpus(f"hipporag:{data / 'corpus.json'}", folder).corpus
    by_name: dict[str, set[str]] = {}
    for row in range(len(corpus)):
        passage = corpus.passage(row)
        by_name.setdefault(name_of(passage.title), set()).add(passage.id)
    names = re.compile(
        "|".join(
            rf"\b{re.escape(name)}\b"
            for name in sorted(by_name, key=len, reverse=True)
            if len(name) > 6
        )
    )
    asked = []
    for question in json.loads((data / "questions.json").read_text()):
        named = names.findall(question["question"])
        if named:
            asked.append((question["question"], set().union(*(by_name[name] for name in named))))
    return folder, random.Random(1).sample(asked, 600)


def compare_kinds(
    name: str, corpus: Path, queries: Sequence[tuple[str, set[str]]], kinds: tuple[str, str]
) -> None:
    """Print how far the rankings of two indexes agree, and what each finds."""
    from branchwise.corpora.open import open_retriever

    found: dict[str, list[list[str]]] = {}
    for kind in kinds:
        rankings = open_retriever(corpus, kind).search([text for text, _ in queries], 10)
        found[kind] = [[hit.passage.id for hit in ranking] for ranking in rankings]
    shared = statistics.mean(
        len({*ours} & {*theirs}) / max(1, len(theirs))
        for ours, theirs in zip(*found.values(), strict=True)
    )
    print(f"{name}: {len(queries)} queries, overlap at 10 {shared:.3f}", end="")
    for kind, rankings in found.items():
        recalls = (recall_of(rankings, queries, depth) for depth in (3, 10))
        print(
            f"; {kind} recall at 3 and 10 " + " ".join(f"{recall:.3f}" for recall in recalls),
            end="",
        )
    print()


def recall_of(
    rankings: Iterable[Sequence[str]], queries: Sequence[tuple[str, set[str]]], depth: int
) -> float:
    return statistics.mean(
        len({*ranking[:depth]} & support) / len(support)
        for ranking, (_, support) in zip(rankings, queries, strict=True)
    )


if __name__ == "__main__":
    main()
