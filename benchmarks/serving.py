"""Queries a second through `branchwise serve retrieve`, beside the retriever in process.

The corpus is made as in benchmarks/retrieval.py: 20,000 passages, whose vectors are random; queries
are really encoded. In process means as many coroutines as there are clients, over one batcher,
which is what the agents of a run are. The server is a process of its own, and so are its clients,
each with one connection that it keeps; one request holds one query. Last, one client sends 512
queries in one request, as a training step of Search-R1 does.

The three processes take turns, so that a busy machine slows all alike: read the ratios.

    python benchmarks/serving.py [--passages 20000] [--repeats 5] [--retrievers flat,bm25]
"""

import argparse
import asyncio
import multiprocessing
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine
from retrieval import make_corpus, questions

K, CLIENTS, TOGETHER = 3, (1, 8, 64), 512
QUERIES = {1: 32, 8: 128, 64: 512}
Ask = Callable[[Sequence[str]], Awaitable[int]]


class Turn(NamedTuple):
    """What one turn took, and how many passages it found: the same in process and served."""

    seconds: float
    passages: int


async def take_turn(ask: Ask, queries: Sequence[str], clients: int) -> Turn:
    """Ask all queries: in one request without clients, else one by one, each client by itself.

    A client waits for its answer before it asks again.
    """
    left = iter(queries)

    async def client() -> int:
        return sum([await ask([query]) for query in left])

    began = time.perf_counter()
    work = [client() for _ in range(clients)] or [ask(queries)]
    found = sum(await asyncio.gather(*work))
    return Turn(time.perf_counter() - began, found)


def in_process(corpus: Path, retriever: str, pipe: Connection) -> None:
    """The process that searches by itself."""
    from branchwise.corpora.open import open_retriever
    from branchwise.tools.batcher import Batcher

    batcher = Batcher(open_retriever(corpus, retriever))

    async def ask(queries: Sequence[str]) -> int:
        found = await asyncio.gather(*(batcher.search(query, K) for query in queries))
        return sum(map(len, found))

    pipe.send(None)
    loop = asyncio.new_event_loop()
    while job := pipe.recv():
        pipe.send(loop.run_until_complete(take_turn(ask, *job)))


def over_http(url: str, pipe: Connection) -> None:
    """The process of all clients."""
    asyncio.run(_clients(url, pipe))


async def _clients(url: str, pipe: Connection) -> None:
    import aiohttp
    import orjson

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(queries: Sequence[str]) -> int:
            body = {"queries": queries, "topk": K, "return_scores": True}
            async with session.post(url, json=body) as response:
                found = orjson.loads(await response.read())["result"]
                return sum(map(len, found))

        pipe.send(None)
        while job := pipe.recv():
            pipe.send(await take_turn(ask, *job))


def measure(corpus: Path, retriever: str, repeats: int) -> None:
    """Take turns with one retriever, then print a line for each number of clients."""
    command = [sys.executable, "-m", "branchwise", "serve", "retrieve", "--corpus", str(corpus)]
    command += ["--retriever", retriever, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = next(word for word in server.stdout.readline().split() if word.startswith("http"))
    pipes = {
        "in process": _started(in_process, corpus, retriever),
        "server": _started(over_http, url),
    }
    words = random.Random(3)
    for clients in (*CLIENTS, 0):
        count = QUERIES.get(clients, TOGETHER)
        rates: dict[str, list[float]] = {name: [] for name in pipes}
        for turn in range(repeats + 1):
            queries = questions(words, count)
            turns = {name: _asked(pipe, queries, clients) for name, pipe in pipes.items()}
            if len({taken.passages for taken in turns.values()}) != 1:
                raise ValueError(f"not the same passages: {turns}")
            for name, taken in turns.items() if turn else ():  # the first warms up
                rates[name].append(count / taken.seconds)
        _print(retriever, clients, rates)
    for pipe in pipes.values():
        pipe.send(None)
    server.terminate()
    server.wait()


def _asked(pipe: Connection, queries: Sequence[str], clients: int) -> Turn:
    pipe.send((queries, clients))
    taken: Turn = pipe.recv()
    return taken


def _started(work: Callable[..., None], *arguments: object) -> Connection:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    context.Process(target=work, args=(*arguments, theirs), daemon=True).start()
    ours.recv()
    return ours


def _print(retriever: str, clients: int, rates: dict[str, list[float]]) -> None:
    own, served = (statistics.median(rates[name]) for name in ("in process", "server"))
    pairs = zip(rates["server"], rates["in process"], strict=True)
    ratio = statistics.median(a / b for a, b in pairs)
    extra = f"{1000 / served - 1000 / own:>+14.2f}" if clients == 1 else " " * 14
    what = f"{clients} clients" if clients else f"{TOGETHER} in one request"
    print(f"{retriever:<8}{what:<20}{own:>12.0f}{served:>10.0f}{ratio:>8.2f}{extra}", flush=True)


def main() -> None:
    """Print the figures."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder)
        context = multiprocessing.get_context("spawn")
        maker = context.Process(target=_make, args=(corpus, options.passages))
        maker.start()
        maker.join()
        print(describe_machine())
        print(
            f"{options.passages} passages, k = {K}, medians of {options.repeats}, queries a second"
        )
        print(f"{'':<28}{'in process':>12}{'server':>10}{'ratio':>8}{'ms more each':>14}")
        for retriever in options.retrievers.split(","):
            measure(corpus, retriever, options.repeats)


def _make(corpus: Path, passages: int) -> None:
    from branchwise.corpora.build import build_index

    make_corpus(corpus, passages)
    build_index(corpus, "bm25")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--retrievers", default="flat,bm25")
    return parser.parse_args()


if __name__ == "__main__":
    main()
