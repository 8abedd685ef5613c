"""How what Branchwise does grows: processor time, memory and disk at three sizes, with exponents.

Corpora of synthetic passages: `corpus build`, `corpus index` by words and of vectors made
elsewhere, searches. Runs: `run` against a local server that answers at once (four turns and six
searches a question), `score` anew, `report`, its page, and the trace app's first screen. Each is a
process of its own.

    nice python benchmarks/scale.py [--passages 3000 30000 300000] [--questions 30 300 3000]
        [--repeats 1] [--only search,run] [--folder DIR]

An exponent is that of what grows beyond a constant, such as a command's start: the b of c + a n^b
through the three sizes, which should be far apart. What does not double from the first to the last
has none. Of the repeats the least counts, since other work on the machine only adds.
"""

import argparse
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from trace import measure
from typing import NamedTuple

from lexical import make_corpus, make_queries
from machine import describe_machine
from many_vectors import write_inputs
from peers.server import CALLS, TURNS
from peers.workload import K, server, write_corpus, write_questions

import corpora

SEARCHES, DIMENSION, MOST, NONE = 500, 32, 1.1, "–"
FIRST_SCREEN = (b"Who is in", b"Find")
SEARCH = """
import sys
from pathlib import Path
from branchwise.corpora.open import open_retriever
from branchwise.tools.batcher import Batcher
batcher = Batcher(open_retriever(Path(sys.argv[1]), sys.argv[2]))
for query in Path(sys.argv[3]).read_text().splitlines():
    assert batcher.search_blocking(query, 10)
"""
SCORE = """
import sys
from pathlib import Path
from branchwise.runs.scoring.score import ScoringSettings, score_answers
score_answers(Path(sys.argv[1]), ScoringSettings(saves=False, reuses=False))
"""


class Cost(NamedTuple):
    """Seconds of the processor, peak MB of a process, MB on disk."""

    processor: float
    memory: float
    disk: float


@dataclass(frozen=True)
class Workplace:
    """Where everything of one size is. `url`: of the model server."""

    folder: Path
    size: int
    url: str

    @property
    def source(self) -> Path:
        """Passages, a folder with a `corpus.jsonl`."""
        return self.folder / f"source-{self.size}"

    @property
    def corpus(self) -> Path:
        """The corpus that is built of them."""
        return self.folder / f"corpus-{self.size}"

    @property
    def queries(self) -> Path:
        """Queries about them, a line each."""
        return self.folder / f"queries-{self.size}"

    @property
    def questions(self) -> Path:
        """A question set."""
        return self.folder / f"questions-{self.size}.jsonl"

    @property
    def run(self) -> Path:
        """The run that answers it."""
        return self.folder / f"run-{self.size}"


def make_passages(at: Workplace) -> None:
    """What the steps on corpora begin with."""
    make_corpus(at.source, at.size)
    made = make_queries(at.source, SEARCHES)
    at.queries.write_text("\n".join(made))


def make_questions(at: Workplace) -> None:
    """What the steps on runs begin with; they share a corpus."""
    write_questions(at.questions, at.size)
    if not (at.folder / "shared").exists():
        write_corpus(at.folder / "shared")


def build(at: Workplace) -> Cost:
    shutil.rmtree(at.corpus, ignore_errors=True)
    source = str(at.source / "corpus.jsonl")
    return command(at.corpus, "corpus", "build", "--from", source, "--out", str(at.corpus))


def index_words(at: Workplace) -> Cost:
    folder = at.corpus / "index" / "bm25"
    shutil.rmtree(folder, ignore_errors=True)
    return command(folder, "corpus", "index", str(at.corpus), "--kind", "bm25")


def search_words(at: Workplace) -> Cost:
    return program(SEARCH, str(at.corpus), "bm25", str(at.queries))


def index_vectors(at: Workplace) -> Cost:
    inputs = write_inputs(at.folder, at.size, DIMENSION)
    shutil.rmtree(inputs.index, ignore_errors=True)
    return command(inputs.index, *inputs.command)


def search_vectors(at: Workplace) -> Cost:
    inputs = write_inputs(at.folder, at.size, DIMENSION)
    return program(SEARCH, str(inputs.corpus), "ivf", str(at.queries))


def run(at: Workplace) -> Cost:
    shutil.rmtree(at.run, ignore_errors=True)
    searched = ("--corpus", str(at.folder / "shared"), "--retriever", "bm25", "--k", str(K))
    asked = ("--questions", str(at.questions), "--model", f"openai:m@{at.url}")
    return command(at.run, "run", *asked, *searched, "--concurrency", "32", "--out", str(at.run))


def score(at: Workplace) -> Cost:
    return program(SCORE, str(at.run))


def report(at: Workplace) -> Cost:
    return command(None, "report", str(at.run))


def page(at: Workplace) -> Cost:
    file = at.folder / f"page-{at.size}.html"
    return command(file, "report", str(at.run), "--html", str(file))


def trace_app(at: Workplace) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    app = [sys.executable, "-m", "branchwise", "trace", str(at.run)]
    found = measure(app, 0, FIRST_SCREEN, {})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(processor, found.memory_mb, 0)


def command(made: Path | None, *arguments: str) -> Cost:
    """A command of the product, and what it `made`."""
    return spent([sys.executable, "-m", "branchwise", *arguments], made)


def program(text: str, *arguments: str) -> Cost:
    """A program of a few lines."""
    return spent([sys.executable, "-c", text, *arguments], None)


def spent(words: Sequence[str], made: Path | None) -> Cost:
    """What a process takes, and the size of what it made."""
    used = corpora.measured([*words])
    files = [] if made is None else [made, *made.rglob("*")]
    disk = sum(file.stat().st_size for file in files if file.is_file())
    return Cost(used.processor, used.mebibytes, disk / 2**20)


Step = Callable[[Workplace], Cost]
ON_CORPORA: dict[str, Step] = {
    "corpus build": build,
    "index bm25": index_words,
    f"search bm25, {SEARCHES} queries": search_words,
    "index ivf": index_vectors,
    f"search ivf, {SEARCHES} queries": search_vectors,
}
ON_RUNS: dict[str, Step] = {
    "run": run,
    "score": score,
    "report": report,
    "page": page,
    "trace app": trace_app,
}


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float | None:
    """The b of c + a n^b through three points, by bisection; None for what hardly grows.

    (v3 - v2) / (v2 - v1) = (n3^b - n2^b) / (n2^b - n1^b), which rises with b.
    """
    first, second, third = values
    if third < 2 * first or second <= first or third <= second:
        return None
    wanted = (third - second) / (second - first)
    small, large = (size / sizes[0] for size in sizes[1:])
    low, high = 1e-6, 8.0
    while high - low > 1e-4:
        b = (low + high) / 2
        low, high = (b, high) if (large**b - small**b) / (small**b - 1) < wanted else (low, b)
    return low


def tell(name: str, sizes: Sequence[int], costs: Sequence[Cost]) -> None:
    """The rows of a step, and its exponents."""
    for size, cost in zip(sizes, costs, strict=True):
        print(f"{name:<26}{size:>10,}" + "".join(f"{value:>10.1f}" for value in cost))
    grown = [exponent(sizes, values) for values in zip(*costs, strict=True)]
    shown = "".join(f"{NONE if b is None else format(b, '.2f'):>10}" for b in grown)
    fast = any(b is not None and b > MOST for b in grown)
    print(f"{'':<26}{'exponent':>10}{shown}{f'  above {MOST}' if fast else ''}", flush=True)


def compare(
    steps: dict[str, Step], places: Sequence[Workplace], repeats: int, only: Sequence[str]
) -> None:
    """Each step at each size; sizes take turns, so that other work meets all alike."""
    for name, step in steps.items():
        if not any(word in name for word in only):
            continue
        rounds = [[step(at) for at in places] for _ in range(repeats)]
        best = [Cost(*map(min, zip(*costs, strict=True))) for costs in zip(*rounds, strict=True)]
        tell(name, [at.size for at in places], best)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    three = {"type": int, "nargs": 3}
    parser.add_argument("--passages", default=[3_000, 30_000, 300_000], **three)
    parser.add_argument("--questions", default=[30, 300, 3_000], **three)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", default="", help="words, by commas: steps that have one")
    parser.add_argument("--folder", type=Path, help="Use again what lies here, and keep it.")
    options = parser.parse_args()
    os.environ |= {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    print(describe_machine())
    print(f"a question has {TURNS} turns and {CALLS} searches")
    print(f"{'':<26}{'size':>10}{'CPU s':>10}{'peak MB':>10}{'disk MB':>10}")
    with tempfile.TemporaryDirectory() as temporary, server(0) as url:
        for steps, sizes, make in (
            (ON_CORPORA, sorted(options.passages), make_passages),
            (ON_RUNS, sorted(options.questions), make_questions),
        ):
            places = [Workplace(options.folder or Path(temporary), size, url) for size in sizes]
            for at in places:
                make(at)
            compare(steps, places, options.repeats, options.only.split(","))


if __name__ == "__main__":
    main()
