"""A folder with all that a study file can name, and study files in it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from branchwise.base.errors import InputError
from branchwise.corpora.build import build_corpus, build_index
from branchwise.kg.build import build_kg
from branchwise.runs.studies.schema import LoadedStudy, load_study

QUESTIONS = 5
TRIPLE = (
    "<http://www.wikidata.org/entity/Q1> <http://www.wikidata.org/prop/direct/P57> "
    "<http://www.wikidata.org/entity/Q2> .\n"
    '<http://www.wikidata.org/entity/Q1> <http://www.w3.org/2000/01/rdf-schema#label> "Heat"@en .\n'
)
BASE: dict[str, Any] = {"corpus": "corpus", "kg": "graph", "tools": ["local_retriever"], "k": 5}
KG = ["local_retriever", "wikisparql", "wikidata_search"]


def make_parts(folder: Path) -> Path:
    """Questions, ids, a corpus with the index bm25, a graph, prompts, prices."""
    for name in ("corpus", "graph"):
        (folder / f"{name}.src").mkdir(parents=True)
    passages = folder / "corpus.src" / "passages.jsonl"
    passages.write_text(json.dumps({"id": "p1", "contents": "Heat\nHeat is a film."}))
    build_corpus(str(passages), folder / "corpus")
    build_index(folder / "corpus", "bm25")
    triples = folder / "graph.src" / "g.nt"
    triples.write_text(TRIPLE)
    build_kg([triples], folder / "graph")
    question = {"question": "Who directed Heat?", "answers": {"default": ["Michael Mann"]}}
    lines = [json.dumps({"id": f"q{n}", **question}) for n in range(QUESTIONS)]
    (folder / "questions.jsonl").write_text("\n".join(lines))
    (folder / "ids.txt").write_text("q1\nq3\n")
    (folder / "short").mkdir()
    (folder / "short" / "expander.md").write_text("Write the readings, one a line.")
    (folder / "prices.yaml").write_text("models:\n  openai:mine: {input: 1, output: 10}\n")
    return folder


def write_study(folder: Path, **changes: Any) -> Path:
    """The file of a study that is right but for the changes; None leaves a key out."""
    fields = {
        "name": "modules",
        "questions": "questions.jsonl",
        "base": BASE,
        "factors": {"expansion": [False, True]},
    }
    kept = {key: value for key, value in (fields | changes).items() if value is not None}
    return write_text(folder, yaml.safe_dump(kept, sort_keys=False))


def write_text(folder: Path, text: str | bytes) -> Path:
    path = folder / "study.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(folder: Path, **changes: Any) -> LoadedStudy:
    return load_study(write_study(folder, **changes))


def refusal_of(path: Path) -> str:
    """The message about a study file, from its line on."""
    with pytest.raises(InputError) as caught:
        load_study(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}:"), message
    assert len(message) < len(str(path)) + 560
    return message.removeprefix(f"{path}:")


def refusal(folder: Path, **changes: Any) -> str:
    return refusal_of(write_study(folder, **changes))


def refusal_of_text(folder: Path, text: str | bytes) -> str:
    return refusal_of(write_text(folder, text))
