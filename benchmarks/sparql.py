"""What a query on the embedded graph costs, beside rdflib's own store in memory.

Seven query shapes on worlds. `ours` is the whole path of an agent's query: to a query process and
back, checks, rows, labels; each text is new, so nothing is cached. `again` is the same text once
more. `disk` and `memory` are the bare Oxigraph store, without checks and labels. `rdflib` parses
and evaluates in this process; `evaluated` is its time without parsing. The systems take turns, so
that a busy machine slows all alike: read the ratios.

    python benchmarks/sparql.py [--triples 300000 3000000] [--repeats 7]
"""

import argparse
import gc
import gzip
import itertools
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from machine import describe_machine

if TYPE_CHECKING:
    from branchwise.kg.open import EmbeddedKg

TRIPLES_PER_ENTITY = 13.1
PEER_UP_TO = 500_000  # rdflib takes a kilobyte or more a triple
AGENTS = (8, 64)  # that ask at once
QUERIES = 140
MAX_ROWS = 1_000  # of an answer; beyond it ours has fewer rows than the bare store
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
PREFIXES = (
    f"PREFIX wd: <{WD}> PREFIX wdt: <{WDT}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
)
COUNTED = "SELECT (COUNT(*) AS ?n) WHERE"
Systems = dict[str, Callable[[str], object]]


class Shape(NamedTuple):
    """A kind of query, and how many times faster than rdflib it should be."""

    name: str
    text: str
    aim: int


def shapes(ntriples: Path) -> list[Shape]:
    """The queries, about a name, a town and a year that the world has."""
    born: Counter[str] = Counter()
    name = ""
    with gzip.open(ntriples, "rt") as lines:
        for line in lines:
            if f"<{WDT}P19>" in line:
                born[line.split()[2]] += 1
            elif "/entity/Q2" in line and "#label>" in line:
                name = re.findall(r'"[^"]+"@en', line)[0]
    town = born.most_common(1)[0][0]
    bare = name.removesuffix("@en")
    labelled = f"?x rdfs:label ?label FILTER(LCASE(STR(?label)) = LCASE({bare}))"
    films = "?film wdt:P57 ?director"
    return [
        Shape("exact label", f"SELECT ?x WHERE {{ ?x rdfs:label {name} }}", 20),
        Shape("label filter", f"SELECT ?x WHERE {{ {labelled} }}", 20),
        Shape("two-hop join", f"SELECT * WHERE {{ ?director wdt:P19 {town} . {films} }}", 5),
        Shape(
            "group and having",
            f"SELECT ?director (COUNT(?film) AS ?n) WHERE {{ {films} }} "
            "GROUP BY ?director HAVING (COUNT(?film) > 3)",
            20,
        ),
        Shape(
            "date filter",
            "SELECT ?film WHERE { ?film wdt:P577 ?date FILTER(YEAR(?date) = 1984) }",
            20,
        ),
        Shape("type path", f"{COUNTED} {{ ?x wdt:P31/wdt:P279* wd:Q11424 }}", 1),
        Shape("transitive path", f"{COUNTED} {{ ?x wdt:P184+ ?y }}", 1),
    ]


def make_world(folder: Path, triples: int) -> Path:
    """A world's graph of about this size."""
    entities = str(round(triples / TRIPLES_PER_ENTITY))
    command = [sys.executable, "-m", "branchwise", "world", "make", "--entities", entities]
    out = ["--seed", "7", "--out", str(folder)]
    subprocess.run([*command, *out], check=True, stdout=subprocess.DEVNULL)
    return folder / "kg.nt.gz"


def build(ntriples: Path, folder: Path) -> int:
    """Build the graph; how many triples it has."""
    from branchwise.kg.build import build_kg

    began = time.perf_counter()
    triples = build_kg([ntriples], folder).triples
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    print(f"{triples:,} triples: built in {time.perf_counter() - began:.1f} s, {size:,.0f} MB")
    return triples


def peer(ntriples: Path) -> Any:
    """The graph in rdflib's own store."""
    import rdflib

    kg = rdflib.Graph()
    began = time.perf_counter()
    with gzip.open(ntriples) as stream:
        kg.parse(stream, format="nt")
    gc.collect()
    gc.freeze()  # or each collection would look through the whole graph, in everybody's time
    print(f"rdflib: loaded in {time.perf_counter() - began:.1f} s")
    return kg


def bare_stores(folder: Path, ntriples: Path, triples: int) -> Systems:
    """Oxigraph without anything around it."""
    import pyoxigraph

    def asked(store: pyoxigraph.Store) -> Callable[[str], object]:
        return lambda text: list(store.query(PREFIXES + text))

    systems = {"disk": asked(pyoxigraph.Store.read_only(str(folder / "store")))}
    if triples <= PEER_UP_TO:
        store = pyoxigraph.Store()
        with gzip.open(ntriples) as stream:
            store.bulk_load(stream, pyoxigraph.RdfFormat.N_TRIPLES, lenient=True)
        systems["memory"] = asked(store)
    return systems


def rdflib_systems(kg: Any) -> Systems:
    """rdflib with and without parsing."""
    from rdflib.plugins.sparql import prepareQuery

    prepared: dict[str, Any] = {}

    def evaluated(text: str) -> object:
        return list(kg.query(prepared[text]))

    def whole(text: str) -> object:
        if text not in prepared:
            prepared[text] = prepareQuery(PREFIXES + text)
        return list(kg.query(PREFIXES + text))

    return {"rdflib": whole, "evaluated": evaluated}


def our_systems(kg: "EmbeddedKg") -> Systems:
    """The whole path, with a text that is new each time, and with one that is not."""
    number = itertools.count()
    return {
        "ours": lambda text: kg.query(f"{text} # {next(number)}", 120.0).rows,
        "again": lambda text: kg.query(text, 120.0).rows,
    }


def compare(wanted: list[Shape], systems: Systems, repeats: int) -> None:
    """A line a shape: median milliseconds of each system, and the ratios to rdflib."""
    print(f"{'milliseconds':<18}{'rows':>6}" + "".join(f"{name:>11}" for name in systems))
    for shape in wanted:
        rows = {name: min(len(ask(shape.text)), MAX_ROWS) for name, ask in systems.items()}  # type: ignore[arg-type]
        if len(set(rows.values())) > 1:
            print(f"  they disagree: {rows}")
        times: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(repeats):
            for name, ask in systems.items():
                began = time.perf_counter()
                ask(shape.text)
                times[name].append((time.perf_counter() - began) * 1e3)
        medians = {name: statistics.median(taken) for name, taken in times.items()}
        line = "".join(f"{median:>11.2f}" for median in medians.values())
        print(f"{shape.name:<18}{rows['ours']:>6}{line}{_ratios(medians, shape.aim)}")


def _ratios(medians: dict[str, float], aim: int) -> str:
    if "rdflib" not in medians:
        return ""
    whole = medians["rdflib"] / medians["ours"]
    alone = medians["evaluated"] / medians["memory"]
    return f"   rdflib/ours {whole:,.1f}, evaluation alone {alone:,.1f}; aim {aim}"


def throughput(kg: "EmbeddedKg", name: str, wanted: list[Shape], agents: int) -> None:
    """Queries a second that so many threads get, and the longest wait; each text is new."""
    texts = [f"{wanted[i % len(wanted)].text} # {agents}.{i}" for i in range(QUERIES)]

    def ask(text: str) -> float:
        began = time.perf_counter()
        kg.query(text, 120.0)
        return time.perf_counter() - began

    with ThreadPoolExecutor(agents) as threads:
        began = time.perf_counter()
        longest = max(threads.map(ask, texts))
        rate = QUERIES / (time.perf_counter() - began)
    print(
        f"{agents} threads, {name}: {rate:,.1f} queries a second, the slowest answer after "
        f"{longest:.2f} s"
    )


def memory_of_children() -> float:
    """Megabytes that all our processes hold, shared pages counted once (Linux)."""
    ours, total = {str(Path("/proc/self").resolve().name)}, 0
    for path in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            if parent in ours:
                ours.add(path.name)
                rollup = (path / "smaps_rollup").read_text()
                total += int(re.findall(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[0])
        except OSError:
            continue
    return total / 1024


def measure(folder: Path, triples: int, repeats: int) -> None:
    """All that is measured on one graph."""
    from branchwise.kg.open import EmbeddedKg

    ntriples = make_world(folder / "world", triples)
    wanted = shapes(ntriples)
    exact = build(ntriples, folder / "kg")
    for label, in_memory in (("in memory", PEER_UP_TO), ("on disk", 0)):
        if exact > in_memory > 0:
            continue
        began = time.perf_counter()
        kg = EmbeddedKg(folder / "kg", in_memory=in_memory)
        kg.query("ASK { ?a ?b ?c }", 120.0)
        print(f"{label}: first answer after {time.perf_counter() - began:.2f} s")
        systems = our_systems(kg) | bare_stores(folder / "kg", ntriples, exact)
        if in_memory:
            systems |= rdflib_systems(peer(ntriples))
        compare(wanted, systems, repeats)
        for agents in AGENTS:
            throughput(kg, "look-ups and joins", [wanted[0], wanted[2]], agents)
            throughput(kg, "all shapes", wanted, agents)
        print(f"query processes: {memory_of_children():,.0f} MB")
        kg.close()


def main() -> None:
    """Measure each size in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, nargs="+", default=[300_000, 3_000_000])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print(describe_machine())
    for triples in options.triples:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), triples, options.repeats)


if __name__ == "__main__":
    main()
