"""Dense search of many vectors: `ivf` beside `flat`, both over the same synthetic vectors.

Unit vectors of 384 numbers around a centre for each 50 of them, kept as float16; queries are others
around the same centres. Encoding is left out. The exact nearest ten are flat's.

    python benchmarks/dense.py [--vectors 1000000] [--queries 200] [--recall .99] [--folder DIR]

With `--rankings` it compares instead what both find with a real encoder, on the questions and
passages of `lexical.py --rankings`.
"""

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lexical import compare_kinds, judged
from machine import describe_machine

from branchwise.corpora import flat, ivf
from branchwise.corpora.build import build_index
from branchwise.corpora.flat import KEPT_VECTORS, mapped
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import read_manifest

DIMENSION, AROUND_ONE, SPREAD, CHUNK, K, TURNS = 384, 50, 0.6, 20_000, 10, 3


def around(centres: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Unit vectors around centres, float32 [count, DIMENSION]."""
    chance = np.random.default_rng(seed)
    noise = chance.standard_normal((count, DIMENSION), dtype=np.float32)
    made = centres[chance.integers(0, len(centres), count)] + np.float32(SPREAD) * noise
    unit: np.ndarray = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def private() -> float:
    """MB of this process alone, without what is mapped."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 2**10 for line in lines if line.startswith("RssAnon"))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--recall", type=float, default=0.99)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rankings", action="store_true")
    options = parser.parse_args()
    print(describe_machine())
    if options.rankings:
        compare_rankings()
        return
    centres = np.random.default_rng(1).standard_normal(
        (max(1, options.vectors // AROUND_ONE), DIMENSION), dtype=np.float32
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        kept, folder = Path(temporary) / "kept", Path(temporary) / "index"
        kept.mkdir()
        folder.mkdir()
        with (kept / KEPT_VECTORS).open("wb") as file:
            for start in range(0, options.vectors, CHUNK):
                count = min(CHUNK, options.vectors - start)
                file.write(around(centres, count, start + 2).astype(np.float16).tobytes())
        vectors = mapped(kept / KEPT_VECTORS, options.vectors, DIMENSION, "float16")
        compare(vectors, around(centres, options.queries, 0), kept, folder, options.recall)


def compare_rankings() -> None:
    """Overlap of the first ten and recall of support; the vectors of ivf are flat's, too."""
    with tempfile.TemporaryDirectory() as temporary:
        for name, corpus, queries in judged(Path(temporary)):
            manifest = read_manifest(Corpus.open(corpus), build_index(corpus, "ivf").name)
            encoder = manifest.encoder
            assert encoder is not None
            made = mapped(
                corpus / "index" / "ivf" / KEPT_VECTORS,
                manifest.passages,
                encoder.dimension,
                manifest.dtype,
            )
            np.save(corpus / "vectors.npy", made)
            build_index(
                corpus,
                "flat",
                backend=encoder.backend,
                vectors=corpus / "vectors.npy",
                dtype="float16",
            )
            print(f"{manifest.probes} lists probed for {manifest.recall}; ", end="")
            compare_kinds(name, corpus, queries, ("ivf", "flat"))


def compare(
    vectors: np.ndarray, queries: np.ndarray, kept: Path, folder: Path, recall: float
) -> None:
    """Build ivf, then take turns."""
    began, processor = time.perf_counter(), time.process_time()
    ivf.index_vectors(vectors, kept, folder)
    chosen = ivf.choose_probes(folder, vectors, recall)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(
        f"ivf built in {time.perf_counter() - began:.0f} s, {time.process_time() - processor:.0f} "
        f"CPU s, peak {peak:.0f} MB resident: {chosen.probes} of {chosen.lists} lists, recall "
        f"{chosen.recall} of the corpus's own vectors"
    )
    before, began = private(), time.perf_counter()
    lists = ivf.open_lists(folder)
    lists.nprobe = chosen.probes
    print(f"opened in {time.perf_counter() - began:.2f} s")
    searched(lists, vectors, queries)
    print(f"private memory of searching {private() - before:.0f} MB")
    exact = flat.new_vectors(DIMENSION, "float16")
    for start in range(0, len(vectors), CHUNK):
        exact.add(np.ascontiguousarray(vectors[start : start + CHUNK], dtype=np.float32))
    truth = flat.search(exact, queries, K)[1].tolist()
    found = searched(lists, vectors, queries)
    shares = [len({*a} & {*b}) / K for a, b in zip(found, truth, strict=True)]
    print(f"recall at {K} of other vectors: {statistics.mean(shares):.4f}")
    ways: dict[str, Callable[[], object]] = {
        "ivf": lambda: searched(lists, vectors, queries),
        "flat, one at a time": lambda: [flat.search(exact, q[None], K) for q in queries[:20]],
        "flat, 32 at once": lambda: flat.search(exact, queries[:32], K),
    }
    counts = {"ivf": len(queries), "flat, one at a time": 20, "flat, 32 at once": 32}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            rates[name].append(counts[name] / (time.perf_counter() - began))
    for name, values in rates.items():
        print(f"{name:<22}{statistics.median(values):>9.1f} queries a second")


def searched(lists: object, vectors: np.ndarray, queries: np.ndarray) -> list[list[int]]:
    """The best ten rows of each query, as the index ranks them."""
    found = []
    for query in queries:
        rows, scores = ivf.nearest(lists, vectors, query, ivf.candidates(K))
        best = np.argsort(-np.array(scores), kind="stable")[:K]
        found.append([rows[place] for place in best])
    return found


if __name__ == "__main__":
    main()
