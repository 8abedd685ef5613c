"""The embedded graph's answers, against the triples themselves."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from branchwise.base.errors import InputError
from branchwise.kg.answers import MAX_QUERY_BYTES, MAX_ROWS, KgError, Term
from branchwise.kg.build import build_kg
from branchwise.kg.open import EmbeddedKg
from branchwise.kg.processes.rows import MAX_LABELS, short_labels

WD = "http://www.wikidata.org/entity/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@pytest.fixture(scope="module")
def lines(world_300: Path) -> list[str]:
    return gzip.decompress((world_300 / "kg.nt.gz").read_bytes()).decode().splitlines()


@pytest.mark.usefixtures("process")
def test_memory_and_disk_give_the_same_answers(kg: EmbeddedKg, built_kg: Path) -> None:
    on_disk = EmbeddedKg(built_kg, in_memory=0)
    try:
        for sparql in (
            "SELECT ?c (COUNT(*) AS ?n) WHERE { ?x wdt:P31 ?c } GROUP BY ?c ORDER BY ?n ?c",
            "SELECT ?x WHERE { ?x wdt:P31/wdt:P279* wd:Q11424 } ORDER BY ?x",
            "SELECT ?x ?xLabel WHERE { ?x wdt:P31 wd:Q6256 } ORDER BY ?x",
            "ASK { ?x wdt:P31 wd:Q5 }",
        ):
            assert on_disk.query(sparql) == kg.query(sparql)
    finally:
        on_disk.close()


def test_more_rows_than_are_kept_are_counted_as_more(kg: EmbeddedKg, lines: list[str]) -> None:
    assert len(set(lines)) > MAX_ROWS
    cut = kg.query("SELECT * WHERE { ?s ?p ?o }")
    assert len(cut.rows) == MAX_ROWS
    assert not cut.complete
    whole = kg.query(f"SELECT * WHERE {{ ?s ?p ?o }} LIMIT {MAX_ROWS}")
    assert len(whole.rows) == MAX_ROWS
    assert whole.complete


def test_long_values_are_cut_with_a_mark(kg: EmbeddedKg) -> None:
    doubled = "".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1}) " for i in range(12))
    answer = kg.query(f'SELECT ?x12 WHERE {{ BIND("a" AS ?x0) {doubled} }}')
    (row,) = answer.rows
    assert row[0] is not None
    assert row[0].value == "a" * 2_000 + "… (cut: 4,096 characters)"


def test_a_query_beyond_the_limit_is_refused_unread(kg: EmbeddedKg) -> None:
    with pytest.raises(KgError, match="longer than 16 KB") as refused:
        kg.query(f"ASK {{ ?a ?b ?c }} # {'ü' * (MAX_QUERY_BYTES // 2)}")
    assert refused.value.kind == "refused"


def test_a_syntax_error_is_told_from_a_refusal(kg: EmbeddedKg) -> None:
    with pytest.raises(KgError) as syntax:
        kg.query("SELECT ?x WHERE { ?x wdt:P31 }")
    assert syntax.value.kind == "syntax"
    with pytest.raises(KgError) as refused:
        kg.query("DELETE WHERE { ?s ?p ?o }")
    assert refused.value.kind == "refused"


def test_names_are_found_without_a_query_process(kg: EmbeddedKg) -> None:
    assert "P161" in [match.id for match in kg.search("starred in", "property")]


@pytest.mark.usefixtures("process")
def test_identity_is_that_of_the_contents(kg: EmbeddedKg, world_300: Path, tmp_path: Path) -> None:
    build_kg([world_300 / "kg.nt.gz"], tmp_path / "elsewhere")
    other = EmbeddedKg(tmp_path / "elsewhere")
    other.close()
    assert other.identity() == kg.identity()
    assert str(tmp_path) not in str(other.identity())


def test_a_folder_without_a_graph_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no graph"):
        EmbeddedKg(tmp_path)


@pytest.fixture
def emoji(tmp_path: Path, process: None) -> Iterator[EmbeddedKg]:
    """1,000 things, each with a label of 1,000 emoji."""
    label = "\N{GRINNING FACE}" * 1_000
    (tmp_path / "a.nt").write_text(
        "".join(f'<{WD}Q{number}> <{LABEL}> "{label}"@en .\n' for number in range(1, 1_001))
    )
    build_kg([tmp_path / "a.nt"], tmp_path / "kg")
    opened = EmbeddedKg(tmp_path / "kg", workers=1)
    yield opened
    opened.close()


def test_the_longest_labels_fit_into_an_answer(emoji: EmbeddedKg) -> None:
    answer = emoji.query("SELECT ?x (?x AS ?y) { ?x rdfs:label ?label } LIMIT 1000")
    assert len(answer.rows) == len(answer.labels) == 1_000
    assert set(answer.labels.values()) == {"\N{GRINNING FACE}" * 299 + "…"}


def test_labels_end_at_their_limit() -> None:
    labels = {f"{WD}Q{number}": "\N{GRINNING FACE}" * 1_000 for number in range(20_000)}
    kept = short_labels(labels)
    assert 10_000 <= len(kept) < 20_000
    assert len(orjson.dumps(kept)) <= MAX_LABELS


def test_a_row_that_is_too_long_is_told_from_no_row(kg: EmbeddedKg) -> None:
    doubled = "".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1}) " for i in range(11))
    columns = "".join(f"(?x11 AS ?{i:x}) " for i in range(900)).replace("AS ?", "AS ?_")
    query = f'SELECT {columns} {{ BIND("\\u0001" AS ?x0) {doubled} }}'
    answer = kg.query(query, seconds=300)  # a second's work, on a machine that may be busy
    assert (answer.rows, answer.complete) == ((), False)
    assert answer.notes == ("The first row alone is too long: ask for fewer columns.",)


def test_half_a_character_in_a_query_is_a_question_mark(kg: EmbeddedKg) -> None:
    answer = kg.query('SELECT ("a\ud800b" AS ?x) {}')
    assert answer.rows == ((Term("a?b", "literal"),),)


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("in_memory", [0, 500_000], ids=["disk", "memory"])
def test_a_graph_that_is_rebuilt_in_use_is_not_mixed_with_the_new_one(tmp_path, in_memory):
    source = tmp_path / "a.nt"
    source.write_text(f'<{WD}Q1> <{LABEL}> "old"@en .\n')
    build_kg([source], tmp_path / "kg")
    used = EmbeddedKg(tmp_path / "kg", workers=1, in_memory=in_memory)
    unused = EmbeddedKg(tmp_path / "kg", workers=1, in_memory=in_memory)
    query = "SELECT ?label { wd:Q1 rdfs:label ?label }"
    try:
        assert used.query(query).rows == ((Term("old", "literal", "", "en"),),)
        source.write_text(f'<{WD}Q1> <{LABEL}> "new"@en .\n')
        build_kg([source], tmp_path / "kg")
        assert used.query(query).rows == ((Term("old", "literal", "", "en"),),)
        for ask in (
            lambda: unused.query(query),
            lambda: unused.search("new"),
            lambda: used.search("old"),
        ):
            with pytest.raises(KgError, match="was rebuilt since it was opened"):
                ask()
    finally:
        used.close()
        unused.close()


@pytest.mark.usefixtures("process")
def test_a_graph_that_is_rebuilt_from_the_same_stays_usable(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text(f'<{WD}Q1> <{LABEL}> "same"@en .\n')
    build_kg([tmp_path / "a.nt"], tmp_path / "kg")
    opened = EmbeddedKg(tmp_path / "kg", workers=1)
    try:
        build_kg([tmp_path / "a.nt"], tmp_path / "kg")
        assert opened.query("ASK { wd:Q1 rdfs:label ?label }").boolean
        assert [match.id for match in opened.search("same")] == ["Q1"]
    finally:
        opened.close()
