"""A pass over questions stops at damage in what it searches, and goes on once that is whole."""

import json
from pathlib import Path

import numpy as np
import pytest

from branchwise import resume, run, score
from branchwise.base.errors import DamagedDataError, InputError
from branchwise.graphs.system import System
from branchwise.kg.build import build_kg
from branchwise.kg.open import EmbeddedKg
from branchwise.kg.store import check_kg
from support.corpora.small import FILMS, bm25_corpus

QUESTION = {
    "id": "q1",
    "question": "Who directed King Kong?",
    "answers": {"1933": ["Merian C. Cooper"], "1976": ["John Guillermin"]},
}
WD = "http://www.wikidata.org/"
NT = "".join(
    f"<{WD}entity/Q{n}> <{WD}prop/direct/P57> <{WD}entity/Q{n + 1}> .\n"
    f'<{WD}entity/Q{n}> <http://www.w3.org/2000/01/rdf-schema#label> "Film {n}"@en .\n'
    for n in range(40)
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::branchwise.base.errors.StoppedWarning")
def test_a_wrong_passage_stops_the_run_and_resume_goes_on(tmp_path: Path) -> None:
    corpus = bm25_corpus(tmp_path, FILMS)
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    system = System(model="offline", corpus=str(corpus), retriever="bm25")
    whole = score(run(str(tmp_path / "q.jsonl"), system, out=tmp_path / "whole"))
    offsets = np.load(corpus / "offsets.npy")
    np.save(corpus / "offsets.npy", np.roll(offsets, 1, axis=0))
    made = run(str(tmp_path / "q.jsonl"), system, out=tmp_path / "R")
    assert made.state.stopped
    assert "is not what it was when the corpus was built" in made.state.stopped
    assert (made.state.done, made.state.failed, made.state.pending) == (0, 0, 1)
    (corpus / "offsets.npy").unlink()
    [item] = score(resume(tmp_path / "R")).items
    assert item.metrics == whole.items[0].metrics


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    """A built graph."""
    (tmp_path / "g.nt").write_text(NT)
    build_kg([tmp_path / "g.nt"], tmp_path / "G")
    return tmp_path / "G"


def test_every_file_of_a_graph_is_compared_when_it_is_opened(kg: Path) -> None:
    files = [f for f in kg.rglob("*") if f.is_file() and f.name not in ("LOCK", "LOG")]
    assert len(files) > 8
    for file in files:
        whole = file.read_bytes()
        for cut in {0, len(whole) // 2, len(whole) - 2} - {len(whole), -2, -1}:
            file.write_bytes(whole[:cut])
            with pytest.raises(InputError, match="build the graph again"):
                check_kg(kg)
        file.write_bytes(whole)
        check_kg(kg)


def test_the_triples_of_a_graph_without_records_are_counted(kg: Path) -> None:
    (kg / "files.json").unlink()
    check_kg(kg)
    described = json.loads((kg / "graph.json").read_text())
    (kg / "graph.json").write_text(json.dumps(described | {"triples": 81}))
    with pytest.raises(DamagedDataError, match=r"the store has 80 triples, graph\.json 81"):
        check_kg(kg)


@pytest.mark.usefixtures("process")
def test_damage_that_is_met_while_a_graph_is_open_is_no_failed_call(kg: Path) -> None:
    opened = EmbeddedKg(kg, workers=1)
    try:
        size = (kg / "names.sqlite").stat().st_size
        with (kg / "names.sqlite").open("r+b") as names:
            names.write(b"\1" * size)
        with pytest.raises(DamagedDataError, match=r"names of the graph are damaged.*kg build"):
            opened.search("Film 1")
    finally:
        opened.close()
