"""How long it takes to turn a name into entities, and what an index of names costs.

A world is made and its graph built; then names of it are looked up: as they are, with a word cut,
with a letter wrong, and properties by phrase. The peers in the same run, over the same labels:
a SPARQL FILTER(CONTAINS(LCASE(?label), ...)) in Oxigraph, what people write without an index;
difflib.get_close_matches; and rapidfuzz, where it is installed.

    python benchmarks/names.py [--entities 100000] [--queries 300] [--peer-queries 5]
"""

import argparse
import difflib
import importlib.util
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine

from branchwise.kg.answers import SearchKind
from branchwise.kg.build import build_kg
from branchwise.kg.names.index import NameIndex
from branchwise.kg.store import STORE_FOLDER, open_store

AIM_MS = 10.0
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PHRASES = (
    "starred in", "who directed", "place of birth", "birthPlace", "written by", "ocupation",
    "record label", "date of death", "when was it published", "which team did he play for",
)  # fmt: skip


class Looked(NamedTuple):
    """Milliseconds of each look-up, and the share of them that found what was meant."""

    milliseconds: list[float]
    found: float


def main() -> None:
    """Print sizes, a line for each kind of text, and the ratios to the peers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--peer-queries", type=int, default=5)
    options = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        world, kg = Path(folder) / "W", Path(folder) / "W" / "kg"
        make_world(world, options.entities)
        build(world, kg)
        labels = world_labels(kg)
        draws = random.Random(7)
        asked = draws.sample(sorted(labels.items()), min(options.queries, len(labels)))
        ours = look_up(NameIndex.open(kg), asked, options.queries)
        compare(kg, labels, asked[: options.peer_queries], ours)


def make_world(folder: Path, entities: int) -> None:
    """Make a world in a process of its own: its memory is none of the graph's."""
    command = (sys.executable, "-m", "branchwise", "world", "make", "--seed", "7")
    subprocess.run(
        [*command, "--entities", str(entities), "--out", str(folder)],
        check=True,
        capture_output=True,
    )


def build(world: Path, kg: Path) -> None:
    """Build the graph, and print what it took."""
    began = time.perf_counter()
    built = build_kg([world], kg)
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    store = sum(file.stat().st_size for file in (kg / STORE_FOLDER).iterdir())
    names = (kg / "names.sqlite").stat().st_size
    print(f"{built.entities:,} entities, {built.triples:,} triples, {built.names:,} names")
    print(
        f"built in {seconds:.1f} s ({built.triples / seconds:,.0f} triples a second), peak memory "
        f"{memory:,.0f} MiB; store {store / 2**20:,.0f} MiB, names {names / 2**20:,.0f} MiB"
    )


def world_labels(kg: Path) -> dict[str, str]:
    """IRI -> label of every entity, read from the store; properties are left out."""
    query = f"SELECT ?s ?label WHERE {{ ?s <{LABEL}> ?label FILTER(CONTAINS(STR(?s), '/Q')) }}"
    return {row["s"].value: row["label"].value for row in open_store(kg).query(query)}


def look_up(
    index: NameIndex, asked: Sequence[tuple[str, str]], phrases: int
) -> dict[str, list[float]]:
    """Look all up, print a line for each kind of text, and give the times."""
    kinds: dict[str, Callable[[str], str]] = {
        "exact": str,
        "exact, lower case": str.lower,
        "last word cut": lambda label: label[: -max(1, len(label.split()[-1]) // 2)],
        "a letter wrong": misspelt,
        "in a question": lambda label: f"who directed {label}, and when was it published?",
    }
    print("\ntext                  median ms     95 %     99 %   found")
    times = {}
    for name, write in kinds.items():
        looked = timed(index, [(iri, write(label)) for iri, label in asked], "item")
        times[name] = looked.milliseconds
        show(name, looked)
    repeated = [("", PHRASES[n % len(PHRASES)]) for n in range(phrases)]
    show("property phrase", timed(index, repeated, "property"))
    iris = [iri for iri, _ in asked]
    thousand = (iris * (1000 // len(iris) + 1))[:1000]
    began = time.perf_counter()
    index.labels(thousand)
    print(f"labels of 1,000 IRIs: {(time.perf_counter() - began) * 1e3:.1f} ms")
    return times


def timed(index: NameIndex, asked: Sequence[tuple[str, str]], kind: SearchKind) -> Looked:
    """Look texts up; found is what its own entity is among, or anything for a phrase."""
    milliseconds, found = [], 0
    for iri, text in asked:
        began = time.perf_counter()
        matches = index.search(text, kind)
        milliseconds.append((time.perf_counter() - began) * 1e3)
        found += any(iri.endswith(f"/{match.id}") for match in matches) if iri else bool(matches)
    return Looked(milliseconds, found / len(asked))


def show(name: str, looked: Looked) -> None:
    """A line: median, 95th and 99th percentile, share found."""
    ordered = sorted(looked.milliseconds)
    tail = [ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.95, 0.99)]
    over = "" if tail[0] <= AIM_MS else f"   aim: {AIM_MS:.0f} ms"
    print(
        f"{name:<20} {statistics.median(ordered):>10.2f} {tail[0]:>8.2f} {tail[1]:>8.2f} "
        f"{looked.found:>7.1%}{over}"
    )


def compare(
    kg: Path,
    labels: dict[str, str],
    asked: Sequence[tuple[str, str]],
    ours: dict[str, list[float]],
) -> None:
    """Time the peers on a few of the same names, and print how often we are faster."""
    store, texts = open_store(kg), list(labels.values())

    def contains(text: str) -> None:
        escaped = text.lower().replace("\\", "\\\\").replace('"', '\\"')
        where = f'?s <{LABEL}> ?l FILTER(CONTAINS(LCASE(?l), "{escaped}"))'
        list(store.query(f"SELECT ?s WHERE {{ {where} }} LIMIT 8"))

    peers: dict[str, tuple[str, Callable[[str], object]]] = {
        "Oxigraph CONTAINS": ("exact, lower case", contains),
        "difflib": ("a letter wrong", lambda text: difflib.get_close_matches(text, texts, 8)),
    }
    if importlib.util.find_spec("rapidfuzz"):
        from rapidfuzz import process

        peers["rapidfuzz"] = ("a letter wrong", lambda text: process.extract(text, texts, limit=8))
    print()
    for name, (kind, ask) in peers.items():
        milliseconds = []
        for _, label in asked:
            text = misspelt(label) if kind == "a letter wrong" else label
            began = time.perf_counter()
            ask(text)
            milliseconds.append((time.perf_counter() - began) * 1e3)
        median, own = statistics.median(milliseconds), statistics.median(ours[kind])
        print(f"{name}: {median:,.0f} ms; ours ({kind}) {own:.2f} ms, {median / own:,.0f} times")


def misspelt(label: str) -> str:
    """A label with two letters swapped in the middle of its longest word."""
    word = max(label.split(), key=len)
    middle = len(word) // 2
    swapped = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
    return label.replace(word, swapped)


if __name__ == "__main__":
    main()
