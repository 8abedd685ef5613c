"""What the commands read, small, and the subjects with their shares of all kills."""

import hashlib
import json
import shlex
import sys
from contextlib import closing
from pathlib import Path

from killing.builds import BuildSubject
from killing.launcher import Launcher
from killing.runs import ForkSubject, RunSubject, ScoreSubject, StudySubject
from killing.subjects import Place, Subject

QUESTIONS, PASSAGES, MANY = 8, 60, 420
FILMS = Path(__file__).parents[2] / "tests" / "support" / "plugins" / "mcp_films.py"
STUDY = """
name: kills
questions: few.jsonl
base: {{model: "openai:scripted@{url}", corpus: C, k: 3}}
factors:
  expansion: [off, on]
  extraction: [off, on]
  k: [3, 1]
concurrency: 4
"""


def make_inputs(launcher: Launcher, place: Place) -> None:
    """Questions, passages, a corpus with its index, a world with its graph, runs, a study."""
    folder = place.inputs
    folder.mkdir()
    write(folder / "q.jsonl", [question(n) for n in range(QUESTIONS)])
    write(folder / "few.jsonl", [question(n) for n in range(3)])
    write(folder / "many.jsonl", [question(n) for n in range(MANY)])
    write(folder / "p.jsonl", [passage(n) for n in range(PASSAGES)])
    write(folder / "more.jsonl", [passage(n) for n in range(100 * PASSAGES)])
    (folder / "study.yaml").write_text(STUDY.format(url=place.server.url))
    model = f"openai:scripted@{place.server.url}"
    asks = ["run", "--questions", "q.jsonl", "--corpus", "C", "--model", model]
    for command in (
        ["corpus", "build", "--from", "p.jsonl", "--out", "C"],
        ["corpus", "build", "--from", "more.jsonl", "--out", "D"],
        ["corpus", "index", "C", "--kind", "bm25"],
        # The first time it exports the encoder, for all that come.
        ["corpus", "build", "--from", "p.jsonl", "--out", "E"],
        ["corpus", "index", "E", "--kind", "flat"],
        ["world", "make", "--entities", "150", "--seed", "3", "--out", "W"],
        ["kg", "build", "W"],
        [*asks, "--out", "scored"],
        [*asks, "--extract", "--k", "6", "--out", "parent"],
        ["run", "--questions", "many.jsonl", "--model", "offline", "--out", "many"],
    ):
        ended = launcher.start(command, folder, {}, real=False).wait()
        if ended.status:
            sys.exit(f"{' '.join(command)}: {(folder / 'complained').read_text()}")


def shares(place: Place) -> list[tuple[Subject, int]]:
    """Every subject, and its share."""
    inputs, model = place.inputs, f"openai:scripted@{place.server.url}"
    films = f"mcp:{shlex.quote(sys.executable)} {shlex.quote(str(FILMS))}#film_year"
    corpus = ["--corpus", str(inputs / "C")]
    compacted = ["--compact", "1000"]
    world = str(inputs / "W")
    named = [arg for name in ("local_retriever", "wikisparql", films) for arg in ("--tool", name)]
    tools = ["--kg", world, *named]
    bm25, flat = (["corpus", "index", "--kind", kind] for kind in ("bm25", "flat"))
    generated = ["--n", "12", "--seed", "5", "--out", "q.jsonl"]
    return [
        (_questions(place, ["questions", "generate", "--kg", world, *generated]), 6),
        (_corpus(place, ["corpus", "build", "--from", str(inputs / "more.jsonl")]), 6),
        (_index(place, "bm25 index", [*bm25, "D"], "D/index/bm25"), 4),
        (_index(place, "bm25 index, replaced", [*bm25, "C"], "C/index/bm25", earlier=True), 4),
        (_index(place, "flat index", [*flat, "C"], "C/index/flat"), 3),
        (_kg(place, "graph", earlier=False), 2),
        (_kg(place, "graph, replaced", earlier=True), 3),
        (_world(place), 4),
        (RunSubject(place, "run", corpus), 20),
        (RunSubject(place, "run with modules", [*corpus, "--expand", "--extract"]), 10),
        (RunSubject(place, "run with compaction", [*corpus, "--k", "20", *compacted]), 4),
        (RunSubject(place, "run with checks", [*corpus, "--extract", "--check", "2"]), 5),
        (RunSubject(place, "run with fan-out", [*corpus, "--fan-out"]), 6),
        (RunSubject(place, "run with query processes and MCP", [*corpus, *tools]), 4),
        (StudySubject(place), 15),
        (ForkSubject(place), 10),
        (ScoreSubject(place, "score by a model", "scored", ["--matcher", f"llm:{model}"]), 8),
        (ScoreSubject(place, "score by workers", "many", []), 2),
    ]


def question(n: int) -> object:
    answers = {"Heat (1995 film)": ["Michael Mann"], "Heat (1986 film)": ["Dick Richards"]}
    return {"id": f"q{n}", "question": f"Number {n:03d}: who directed Heat?", "answers": answers}


def passage(n: int) -> object:
    text = f"Heat is film {n} of {1900 + n % 120}, which director number {n * 7 % 1000} made."
    text += f" The reels were lost for {n} years. Nobody has looked for them since."
    return {"id": f"p{n:04d}", "contents": f"Heat {n}\n{text}"}


def write(path: Path, records: list[object]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def _questions(place: Place, command: list[str]) -> Subject:
    return BuildSubject(place, "questions generate", command, "q.jsonl", Path.is_file)


def _corpus(place: Place, command: list[str]) -> Subject:
    return BuildSubject(place, "corpus build", [*command, "--out", "B"], "B", _passages)


def _index(
    place: Place, name: str, command: list[str], target: str, *, earlier: bool = False
) -> Subject:
    corpus = target.split("/", maxsplit=1)[0]
    return BuildSubject(place, name, command, target, _found, copied=corpus, earlier=earlier)


def _kg(place: Place, name: str, *, earlier: bool) -> Subject:
    command = ["kg", "build", str(place.inputs / "W"), "--out", "G"]
    return BuildSubject(place, name, command, "G", _triples, earlier=earlier)


def _world(place: Place) -> Subject:
    command = ["world", "make", "--entities", "400", "--seed", "9", "--out", "N"]
    return BuildSubject(place, "world make", command, "N", _passages)


def _passages(path: Path) -> object:
    from branchwise.corpora.folder import Corpus

    corpus = Corpus.open(path)
    return corpus.sha256, [corpus.passage(row) for row in range(len(corpus))]


def _found(path: Path) -> object:
    from branchwise.corpora.open import open_retriever

    hits = open_retriever(path.parents[1], path.name).search(["film 7 of 1907", "number 21"], 5)
    return [[(hit.passage.id, hit.score) for hit in found] for found in hits]


def _triples(path: Path) -> object:
    from branchwise.kg.names.index import NameIndex
    from branchwise.kg.store import open_store

    lines = sorted(map(str, open_store(path)))
    with closing(NameIndex.open(path)) as names:
        found = names.search("Reef"), names.most_used_properties(20)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest(), found
