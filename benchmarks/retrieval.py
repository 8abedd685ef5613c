"""What a search costs beside a plain sentence-transformers and faiss script.

A corpus of 100,000 passages, whose vectors are random (encoding them takes over 15 minutes on two
cores); queries are really encoded. Ours goes the whole way of an agent: tool, batcher, encoder,
index, passages from disk. The plain script encodes one query, searches a flat float32 index,
takes passages from a list, and then does the next; a second one does the same on openvino.

Each runs in a process of its own, and they take turns, so that a busy machine slows all alike:
read the ratios. Encoding of passages is measured apart.

    python benchmarks/retrieval.py [--passages 100000] [--repeats 5]
"""

import argparse
import asyncio
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from machine import describe_machine

if TYPE_CHECKING:
    from branchwise.corpora.encoders import Encoder

K, DIMENSION, CONCURRENT, LONE = 15, 384, 64, 8
# A script that does one query after the other need not do 64 to show its rate.
IN_A_ROW = 16
SYSTEMS = ("branchwise", "plain", "plain openvino")
SYLLABLES = tuple("ka ro mi ten sul par vo lin bas que nor tia mel gar dun phe ost".split())  # noqa: SIM905
FRAMES = (
    "Who directed {0}?",
    "Which year was {0} {1} released",
    "members of the band {0} {1}",
    "Which films by {0} {1} won an award at {2}, and who wrote them?",
    "{0}",
    "What is the longest river that flows through {0}, {1} and {2} before it reaches the sea?",
)


class Measured(NamedTuple):
    """One turn of one system: milliseconds a lone query takes, queries a second at 64."""

    latency: float
    throughput: float


class Searcher(Protocol):
    """A way of searching."""

    def one(self, query: str) -> object: ...
    def many(self, queries: Sequence[str]) -> object: ...
    def encode(self, passages: list[str]) -> object: ...


class Ours:
    """An agent's way: the tool over the opened corpus."""

    def __init__(self, corpus: Path) -> None:
        from branchwise.corpora.open import open_retriever
        from branchwise.tools.built_in import SearchForm, make_local_retriever

        form = SearchForm(K)
        self._tool = make_local_retriever(open_retriever(corpus, "flat"), form)
        self._loop = asyncio.new_event_loop()

    def one(self, query: str) -> object:
        return self._loop.run_until_complete(self._ask(query))

    def many(self, queries: Sequence[str]) -> object:
        async def all_at_once() -> list[Any]:
            return await asyncio.gather(*map(self._ask, queries))

        return self._loop.run_until_complete(all_at_once())

    def encode(self, passages: list[str]) -> object:
        return self._encoder.encode_passages(passages)

    @cached_property
    def _encoder(self) -> "Encoder":
        """What `corpus index` encodes with; searching goes without it."""
        from branchwise.corpora.encoder_models import DEFAULT_ENCODER
        from branchwise.corpora.encoders import load_encoder

        return load_encoder(DEFAULT_ENCODER)

    async def _ask(self, query: str) -> Any:
        call = {"type": "tool_call", "id": "c", "name": "local_retriever", "args": {"query": query}}
        return await self._tool.ainvoke(call)


class Plain:
    """What one writes in an afternoon."""

    def __init__(self, corpus: Path, backend: str) -> None:
        import faiss
        import orjson
        from sentence_transformers import SentenceTransformer

        from branchwise.corpora.encoder_models import DEFAULT_ENCODER, find_model, quiet
        from branchwise.corpora.encoders import exported

        model = find_model(DEFAULT_ENCODER)
        folder = exported(model) if backend == "openvino" else model.folder
        with quiet():
            self._model = SentenceTransformer(str(folder), backend=backend, device="cpu")  # type: ignore[arg-type]
        self._index = faiss.IndexFlatIP(DIMENSION)
        self._index.add(np.load(corpus / "vectors.npy"))
        with (corpus / "corpus.jsonl").open("rb") as lines:
            self._passages = [orjson.loads(line)["contents"] for line in lines]

    def one(self, query: str) -> object:
        vector = self._model.encode([query], normalize_embeddings=True, show_progress_bar=False)
        _, rows = self._index.search(vector, K)
        return [self._passages[row] for row in rows[0]]

    def many(self, queries: Sequence[str]) -> object:
        return [self.one(query) for query in queries]

    def encode(self, passages: list[str]) -> object:
        return self._model.encode(passages, normalize_embeddings=True, show_progress_bar=False)


def work(system: str, corpus: Path, pipe: Connection) -> None:
    """A system's process: does what it is sent, answers with seconds."""
    made: Searcher = (
        Ours(corpus)
        if system == "branchwise"
        else Plain(corpus, "openvino" if system.endswith("openvino") else "torch")
    )
    pipe.send(_resident_mib())
    while job := pipe.recv():
        name, argument = job
        began = time.perf_counter()
        getattr(made, name)(argument)
        pipe.send((time.perf_counter() - began, _resident_mib()))


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def make_corpus(folder: Path, passages: int) -> None:
    """A corpus with an index of random unit vectors, in the product's own format."""
    import faiss

    from branchwise.corpora.encoder_models import DEFAULT_ENCODER
    from branchwise.corpora.encoders import load_encoder
    from branchwise.corpora.flat import VECTORS_FILE, new_vectors
    from branchwise.corpora.folder import Corpus
    from branchwise.corpora.manifest import Manifest, write_manifest
    from branchwise.corpora.passages import CorpusRecord

    words = random.Random(1)
    with (folder / "corpus.jsonl").open("wb") as file:
        for row in range(passages):
            record = CorpusRecord(f"p{row}", f"{name(words)}\n{text(words)}")
            file.write(record.line(record.hash))
    vectors = np.random.default_rng(1).standard_normal((passages, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(folder / "vectors.npy", vectors)
    index = new_vectors(DIMENSION, "float16")
    index.add(vectors)
    target = folder / "index" / "flat"
    target.mkdir(parents=True)
    faiss.write_index(index, str(target / VECTORS_FILE))
    corpus = Corpus.open(folder)
    manifest = Manifest(
        kind="flat",
        corpus_sha256=corpus.sha256,
        passages=len(corpus),
        metric="inner_product",
        dtype="float16",
        encoder=load_encoder(DEFAULT_ENCODER).identity,
    )
    write_manifest(target, manifest)


def name(words: random.Random) -> str:
    """A made-up name of two to four syllables."""
    return "".join(words.choices(SYLLABLES, k=words.randint(2, 4))).capitalize()


def text(words: random.Random) -> str:
    """About a hundred made-up words."""
    return " ".join(name(words).lower() for _ in range(words.randint(60, 140)))


def questions(words: random.Random, count: int) -> list[str]:
    """Different questions of different lengths."""
    return [words.choice(FRAMES).format(*(name(words) for _ in range(3))) for _ in range(count)]


def main() -> None:
    """Print the figures."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder)
        context = multiprocessing.get_context("spawn")
        # Made in a process of its own: what it leaves in memory belongs to no system.
        maker = context.Process(target=make_corpus, args=(corpus, options.passages))
        maker.start()
        maker.join()
        pipes = {}
        memory = {}
        for system in SYSTEMS:
            pipes[system], theirs = context.Pipe()
            context.Process(target=work, args=(system, corpus, theirs), daemon=True).start()
            theirs.close()  # or the end of the process would not be seen here
            memory[system] = pipes[system].recv()
        report(pipes, options, memory, corpus)
        for pipe in pipes.values():
            pipe.send(None)


def report(
    pipes: dict[str, Connection],
    options: argparse.Namespace,
    memory: dict[str, float],
    corpus: Path,
) -> None:
    """Take turns, then print medians and ratios."""

    def ask(system: str, what: str, argument: object) -> float:
        pipes[system].send((what, argument))
        seconds, memory[system] = pipes[system].recv()
        return float(seconds)

    words = random.Random(2)
    turns: dict[str, list[Measured]] = {system: [] for system in SYSTEMS}
    for turn in range(options.repeats + 1):
        for system in SYSTEMS:
            measured = _turn(partial(ask, system), words, concurrent=system == "branchwise")
            if turn:  # the first warms up
                turns[system].append(measured)
    searching = dict(memory)
    passages = [text(words) for _ in range(options.encoded)]
    for system in SYSTEMS:
        ask(system, "encode", passages[:1])  # load what searching did not need
    speeds = {s: len(passages) / ask(s, "encode", passages) for s in SYSTEMS}
    size = (corpus / "index" / "flat" / "vectors.faiss").stat().st_size / 2**20
    print(describe_machine())
    print(f"{options.passages} passages, {DIMENSION} dimensions, k = {K}; index {size:.0f} MiB")
    print(f"{'medians of ' + str(options.repeats):<17}{'1 query, ms':>12}{'at 64, 1/s':>12}"
          f"{'memory, MiB':>13}{'encoding, passages/s':>22}")  # fmt: skip
    for system in SYSTEMS:
        latency = statistics.median(t.latency for t in turns[system])
        throughput = statistics.median(t.throughput for t in turns[system])
        print(f"{system:<17}{latency:>12.2f}{throughput:>12.0f}"
              f"{searching[system]:>13.0f}{speeds[system]:>22.0f}")  # fmt: skip
    for other in SYSTEMS[1:]:
        pairs = list(zip(turns["branchwise"], turns[other], strict=True))
        slower = statistics.median(a.latency / b.latency for a, b in pairs)
        faster = statistics.median(a.throughput / b.throughput for a, b in pairs)
        print(f"branchwise beside {other}: {faster:.1f} x the throughput at 64 (aim 3), "
              f"{100 * (slower - 1):+.0f}% latency at 1 (aim +5%)")  # fmt: skip


def _turn(
    ask: Callable[[str, object], float], words: random.Random, *, concurrent: bool
) -> Measured:
    lone = [ask("one", question) for question in questions(words, LONE)]
    together = questions(words, CONCURRENT if concurrent else IN_A_ROW)
    return Measured(1000 * statistics.median(lone), len(together) / ask("many", together))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--encoded", type=int, default=128, help="passages encoded, apart")
    return parser.parse_args()


if __name__ == "__main__":
    main()
