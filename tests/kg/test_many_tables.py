"""Query processes reach all of a graph of many tables, and open nothing where they need not."""

import shutil
import sys
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Store

from branchwise.base.files import record_files
from branchwise.kg.answers import KgError
from branchwise.kg.build import build_kg
from branchwise.kg.open import EmbeddedKg
from support.kg.processes import query_processes

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
    build_kg([folder / "g.nt"], folder / "kg")
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


def cells(kg: EmbeddedKg, query: str) -> list[tuple[str, ...]]:
    rows = kg.query(query, 30.0).rows
    return [tuple(cell.value for cell in row if cell) for row in rows]


def test_a_graph_of_many_tables_is_counted_grouped_and_joined(many_tables: Path) -> None:
    kg = EmbeddedKg(many_tables, workers=1, in_memory=0)
    try:
        assert cells(kg, "SELECT (COUNT(*) AS ?n) { ?a ?b ?c }") == [(str(THINGS),)]
        assert cells(
            kg, "SELECT ?kind (COUNT(?x) AS ?n) { ?x ?kind ?next } GROUP BY ?kind ORDER BY ?kind"
        ) == [(f"urn:kind:{kind}", str(THINGS // 3)) for kind in range(3)]
        assert cells(
            kg, "SELECT ?a ?c { ?a <urn:kind:0> ?b . ?b <urn:kind:1> ?c } ORDER BY ?a LIMIT 2"
        ) == [("urn:thing:0", "urn:thing:2"), ("urn:thing:12", "urn:thing:14")]
    finally:
        kg.close()


def test_tables_that_a_new_graph_has_replaced_are_not_called_a_lack_of_memory(
    many_tables: Path, tmp_path: Path
) -> None:
    shutil.copytree(many_tables, tmp_path / "kg")
    kg = EmbeddedKg(tmp_path / "kg", workers=1, in_memory=0, memory=64 * 2**20)
    try:
        assert cells(kg, "SELECT ?a { BIND(1 AS ?a) }") == [("1",)]
        built(tmp_path, 1)
        with pytest.raises(KgError, match="was rebuilt since it was opened"):
            kg.query("SELECT (COUNT(*) AS ?n) { ?a ?b ?c }", 30.0)
    finally:
        kg.close()


@pytest.mark.parametrize(("tables", "files"), [("few", 0), ("many", None)])
def test_where_all_is_open_nothing_more_can_be(many_tables, tmp_path, tables, files):
    kg = EmbeddedKg(many_tables if tables == "many" else built(tmp_path, 0), workers=1, in_memory=0)
    try:
        assert cells(kg, "SELECT ?a { BIND(1 AS ?a) }") == [("1",)]
        [process] = query_processes(kg._pool._keeper._process.pid)
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        assert ("Max open files            0 " in limits) == (files == 0)
        assert "Max core file size        0 " in limits
    finally:
        kg.close()
