"""What query processes cannot reach, and that they can reach all of a graph of many tables."""

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Store

from branchwise.corpora.file_records import record_files
from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.build import build_graph
from branchwise.corpora.graph.embedded import EmbeddedGraph
from branchwise.corpora.graph.processes.confinement import not_withheld
from support import TESTS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="Linux's own means"),
    pytest.mark.usefixtures("process"),
]
THINGS = 15
AT_FIRST = 16
"""Tables that RocksDB opens with a store; the others when they are needed."""


def triple(number: int) -> str:
    subject, value = f"<urn:thing:{number}>", f"<urn:thing:{(number + 1) % THINGS}>"
    return f"{subject} <urn:kind:{number % 3}> {value} .\n"


def built(folder: Path, number: int) -> Path:
    """A graph of one triple."""
    (folder / "g.nt").write_text(triple(number))
    build_graph([folder / "g.nt"], folder / "kg")
    return folder / "kg"


@pytest.fixture(scope="module")
def many_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph whose store has as many tables as one of millions of triples: loads that have no
    range of keys in common leave a table each in every index, which are never merged."""
    folder = built(tmp_path_factory.mktemp("tables"), 0)
    store = Store(str(folder / "store"))
    for number in range(1, THINGS):
        store.bulk_load(triple(number).encode(), RdfFormat.N_TRIPLES)
    store.flush()
    del store
    record_files(folder)
    assert len(list((folder / "store").glob("*.sst"))) >= 3 * THINGS > 2 * AT_FIRST
    return folder


def cells(graph: EmbeddedGraph, query: str) -> list[tuple[str, ...]]:
    rows = graph.query(query, 30.0).rows
    return [tuple(cell.value for cell in row if cell) for row in rows]


def test_a_graph_of_many_tables_is_counted_grouped_and_joined(many_tables: Path) -> None:
    graph = EmbeddedGraph(many_tables, workers=1, in_memory=0)
    try:
        assert cells(graph, "SELECT (COUNT(*) AS ?n) { ?a ?b ?c }") == [(str(THINGS),)]
        assert cells(
            graph,
            "SELECT ?kind (COUNT(?x) AS ?n) { ?x ?kind ?next } GROUP BY ?kind ORDER BY ?kind",
        ) == [(f"urn:kind:{kind}", str(THINGS // 3)) for kind in range(3)]
        assert cells(
            graph,
            "SELECT ?a ?c { ?a <urn:kind:0> ?b . ?b <urn:kind:1> ?c } ORDER BY ?a LIMIT 2",
        ) == [("urn:thing:0", "urn:thing:2"), ("urn:thing:12", "urn:thing:14")]
    finally:
        graph.close()


def test_tables_that_a_new_graph_has_replaced_are_not_called_a_lack_of_memory(
    many_tables: Path, tmp_path: Path
) -> None:
    shutil.copytree(many_tables, tmp_path / "kg")
    graph = EmbeddedGraph(tmp_path / "kg", workers=1, in_memory=0, memory=64 * 2**20)
    try:
        assert cells(graph, "SELECT ?a { BIND(1 AS ?a) }") == [("1",)]
        built(tmp_path, 1)
        with pytest.raises(GraphError, match="was rebuilt since it was opened"):
            graph.query("SELECT (COUNT(*) AS ?n) { ?a ?b ?c }", 30.0)
    finally:
        graph.close()


def tried(folder: Path, layers: str) -> dict[str, bool]:
    """What went well in a process that was sealed so; nothing may reach the listener."""
    script = TESTS / "support" / "graph" / "confined.py"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        command = [sys.executable, str(script), str(folder), layers, address]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    found: dict[str, bool] = json.loads(done.stdout)
    return found


QUERIES = {"group", "join"}
ON_FILES = {
    "read another file", "list another folder", "write in the graph", "make a file", "delete",
}  # fmt: skip


@pytest.mark.skipif(bool(not_withheld()), reason="the kernel lacks Landlock or seccomp")
def test_a_query_process_can_read_its_graph_and_do_nothing_else(many_tables: Path) -> None:
    went = tried(many_tables, "landlock seccomp")
    assert {name for name, well in went.items() if well} == QUERIES
    assert len(went) > 15


@pytest.mark.skipif("connections" in not_withheld(), reason="the kernel lacks seccomp")
def test_without_landlock_other_files_can_be_read_only(many_tables: Path) -> None:
    went = tried(many_tables, "seccomp")
    assert {name for name, well in went.items() if well} == {
        *QUERIES, "read another file", "list another folder",
    }  # fmt: skip


def test_a_store_of_few_tables_needs_no_kernel(tmp_path: Path) -> None:
    """Its tables are open: no handle is left, which keeps out files and sockets alike."""
    went = tried(built(tmp_path, 0), "")
    kept = {"service", "load", "connect", "datagram", "local socket", *ON_FILES} - {"delete"}
    assert not any(went[name] for name in kept)
