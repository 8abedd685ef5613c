"""Damaged corpora, indexes, graphs and studies: refused in one line, or answering as the whole one.

    python benchmarks/folder_damage.py               # 200 corpora, indexes and graphs, 200 studies
    python benchmarks/folder_damage.py --copies 20 --studies 20 --seed 7

Copies of a small corpus with its indexes, of a world's graph and of a study are damaged: a file is
cut off, emptied, removed, changed in some bits or bytes, or takes another's place; rows of an
array are swapped; runs of a study are swapped, copied over each other, removed. Of every copy:

* what it is asked (passages, rankings, titles; queries and names; a report) is what the whole one
  answers, or is refused in one line;
* a pass of questions over it ends with the whole one's scores, or stops in one line, and once the
  folder is whole again `resume` ends with those scores.

Exits with 1 where anything else happened.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from typer.testing import CliRunner

from branchwise.base.errors import InputError
from branchwise.cli import app
from branchwise.corpora.build import build_corpus, build_index
from branchwise.corpora.folder import Corpus, Titles
from branchwise.corpora.open import open_retriever
from branchwise.kg.build import build_kg
from branchwise.kg.open import EmbeddedKg
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.worlds.make import make_world

READS = ScoringSettings(saves=False, reuses=False)
QUERIES = ("Who directed Film 3?", "Person 2 1950", "town 5", "film")
SPARQL = (
    "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }",
    "SELECT ?s ?o WHERE { ?s wdt:P31 ?o } ORDER BY ?s ?o LIMIT 500",
    "SELECT ?s ?o WHERE { ?s rdfs:label ?o } ORDER BY ?s ?o LIMIT 500",
)
PASSES = 0.4
"""Of the copies that are searched, the share that a pass of questions goes over."""
Ask = Callable[[Path], Any]


@dataclass(frozen=True)
class Subject:
    """A folder that is damaged; `ask`: what it answers; `run`: options that search it."""

    name: str
    whole: Path
    ask: Ask
    run: tuple[str, ...] = ()
    damages: tuple[Callable[[random.Random, Path], None], ...] = ()


class Surprise(Exception):  # noqa: N818 - what the benchmark looks for
    """Something that no copy may lead to."""


def damage_file(chance: random.Random, folder: Path) -> None:
    """One of the files: cut, emptied, removed, changed, or another's contents."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file, other = chance.choice(files), chance.choice(files)
    data = bytearray(file.read_bytes())
    match chance.choice(["cut", "cut", "empty", "remove", "bit", "bytes", "longer", "other"]):
        case "cut":
            del data[chance.randrange(len(data) + 1) :]
        case "empty":
            data.clear()
        case "remove":
            file.unlink()
            return
        case "bit" if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case "bytes" if data:
            at = chance.randrange(len(data))
            data[at : at + 8] = chance.randbytes(min(8, len(data) - at))
        case "longer":
            data += chance.randbytes(chance.randint(1, 64))
        case _:
            data = bytearray(other.read_bytes())
    file.write_bytes(data)


def damage_rows(chance: random.Random, folder: Path) -> None:
    """Rows of an array that says where something stands: two are swapped, or one is changed."""
    file = chance.choice(sorted(folder.rglob("*.npy")))
    array = np.load(file)
    one, two = chance.sample(range(len(array)), 2)
    if chance.random() < 0.5:
        array[[one, two]] = array[[two, one]]
    else:
        array[one] = array[two]
    np.save(file, array)


def damage_study(chance: random.Random, folder: Path) -> None:
    """Runs that are swapped, copied or removed; the study's file that is cut or removed."""
    one, two = chance.sample(sorted((folder / "runs").iterdir()), 2)
    match chance.choice(["swap", "copy", "swap files", "copy file", "remove", "cut", "no study"]):
        case "swap":
            for source, target in ((one, folder / "x"), (two, one), (folder / "x", two)):
                source.rename(target)
        case "copy":
            shutil.rmtree(one)
            shutil.copytree(two, one)
        case "swap files":
            data = (one / "run.sqlite").read_bytes()
            shutil.copyfile(two / "run.sqlite", one / "run.sqlite")
            (two / "run.sqlite").write_bytes(data)
        case "copy file":
            shutil.copyfile(two / "run.sqlite", one / "run.sqlite")
        case "remove":
            shutil.rmtree(one)
        case "cut":
            data = (folder / "study.json").read_bytes()
            (folder / "study.json").write_bytes(data[: chance.randrange(len(data) - 1)])
        case "no study":
            (folder / "study.json").unlink()


def ask_corpus(folder: Path) -> Any:
    """Passages, rankings, and titles."""
    corpus = Corpus.open(folder)
    rankings = [
        [(hit.passage.id, hit.passage.text, hit.score) for hit in hits]
        for hits in open_retriever(folder, "bm25").search(QUERIES, 5)
    ]
    titles, passages = Titles(corpus), [corpus.passage(row) for row in range(len(corpus))]
    return rankings, passages, [titles.place(passage) for passage in passages]


def ask_kg(folder: Path) -> Any:
    """Queries, in memory and on disk, and names."""
    found = []
    for in_memory in (0, 500_000):
        with closing(EmbeddedKg(folder, workers=1, in_memory=in_memory)) as kg:
            found.append([kg.query(query, 30) for query in SPARQL])
            names = [str(row[1].value) for row in found[-1][-1].rows[:20] if row[1]]
            found.append([kg.search(name) for name in names])
    return found


def ask_study(folder: Path) -> Any:
    """The report, and the scores of each run."""
    return [
        ended(*command)
        for command in (
            ("report", str(folder)),
            *(("score", str(run), "--json") for run in sorted((folder / "runs").iterdir())),
        )
    ]


def ended(*words: str) -> str:
    """What a command prints. Raises InputError with the line that refuses."""
    result = CliRunner().invoke(app, words, standalone_mode=False)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, None):
        raise Surprise(f"{words[0]} exits with {result.exit_code}: {result.output[-300:]}")
    return str(result.stdout)


def look(subject: Subject, copy: Path, expected: Any) -> str:
    """What becomes of a copy, in a word."""
    try:
        answered = subject.ask(copy)
    except InputError as error:
        line = str(error)
        if "\n" in line or len(line) > 2000 or not error.where:
            raise Surprise(f"not one line: {line[:300]!r}") from error
        return "refused"
    if answered != expected:
        raise Surprise("answers otherwise")
    return "the same answers"


def look_at_pass(subject: Subject, copy: Path, questions: Path, scores: Any) -> str:
    """What becomes of a pass of questions over a copy, and of its resumption over a whole one."""
    out = questions.with_name("pass")
    shutil.rmtree(out, ignore_errors=True)
    options = ("--questions", str(questions), "--model", "offline", "--out", str(out), "--quiet")
    searched = [word.format(copy) for word in subject.run]
    result = CliRunner().invoke(app, ["run", *options, *searched], standalone_mode=False)
    found = "the pass has the same scores"
    if isinstance(result.exception, InputError):
        return "the pass is refused"
    if result.exit_code == 1 and "continue with" in result.output:
        found = "the pass stops, and goes on"
        shutil.rmtree(copy)
        shutil.copytree(subject.whole, copy)
        ended("resume", str(out), "--quiet")
    elif result.exit_code:
        raise Surprise(f"the pass ends with {result.exception!r}: {result.output[-300:]}")
    if items(out) != scores:
        raise Surprise("the pass has other scores")
    return found


def items(run: Path) -> Any:
    """What is scored of each item."""
    return [item.to_json() for item in score_answers(run, READS).scores.items]


def prepare(folder: Path) -> list[Subject]:
    """A corpus, a graph and a study, all whole."""
    names = [f"Film {n}" for n in range(8)]
    passages = [
        {"id": f"{n}-{year}", "contents": f"{name} ({year} film)\n{name} ({year} film) was directed"
         f" by Person {n} {year}. It was shown in town {n}."}
        for n, name in enumerate(names) for year in (1950, 1990)
    ]  # fmt: skip
    asked = [
        {"id": f"q{n}", "question": f"Who directed {name}?", "answers":
         {f"{name} ({year} film)": [f"Person {n} {year}"] for year in (1950, 1990)}}
        for n, name in enumerate(names)
    ]  # fmt: skip
    for file, lines in (("p.jsonl", passages), ("q.jsonl", asked)):
        (folder / file).write_text("\n".join(map(json.dumps, lines)) + "\n")
    build_corpus(str(folder / "p.jsonl"), folder / "C")
    build_index(folder / "C", "bm25")
    ask_corpus(folder / "C")  # which leaves titles there
    make_world(folder / "W", 300, 7)
    build_kg([folder / "W"], folder / "KG")
    study = {
        "name": "damaged",
        "questions": str(folder / "q.jsonl"),
        "base": {"model": "offline", "corpus": str(folder / "C"), "retriever": "bm25"},
        "factors": {"k": [1, 2, 3]},
        "design": "vary",
    }
    (folder / "s.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    ended("ablate", str(folder / "s.yaml"), "--out", str(folder / "S"), "--quiet")
    corpus = ("--corpus", "{}", "--retriever", "bm25")
    kg = ("--kg", "{}", "--corpus", str(folder / "C"), "--retriever", "bm25")
    return [
        Subject("corpus", folder / "C", ask_corpus, corpus, (damage_file, damage_rows)),
        Subject("graph", folder / "KG", ask_kg, kg, (damage_file,)),
        Subject("study", folder / "S", ask_study, (), (damage_study,)),
    ]


def fresh(subject: Subject, folder: Path) -> Path:
    """A copy of it, as it was built: with its times, and titles that were looked up."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    return Path(shutil.copytree(subject.whole, copy))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=200, help="of the corpus and of the graph")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    surprises = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        *searched, study = prepare(folder)
        plan = [searched[n % 2] for n in range(chosen.copies)] + [study] * chosen.studies
        answers = {one.name: one.ask(fresh(one, folder)) for one in (*searched, study)}
        scores = {}
        for one in searched:
            out = folder / f"whole {one.name}"
            options = ("--questions", str(folder / "q.jsonl"), "--model", "offline", "--quiet")
            words = [word.format(one.whole) for word in one.run]
            ended("run", *options, *words, "--out", str(out))
            scores[one.name] = items(out)
        for number, subject in enumerate(plan):
            chance = random.Random(f"{chosen.seed}-{number}")
            copy = fresh(subject, folder)
            damage = chance.choice(subject.damages)
            damage(chance, copy)
            try:
                if subject.run and chance.random() < PASSES:
                    asked = folder / "q.jsonl"
                    outcome = look_at_pass(subject, copy, asked, scores[subject.name])
                else:
                    outcome = look(subject, copy, answers[subject.name])
            except Exception as error:  # noqa: BLE001 - every failure is reported
                outcome = f"SURPRISE {type(error).__name__}: {str(error)[:300]}"
                surprises += 1
                print(f"{number} {damage.__name__}: {outcome}", flush=True)
            counts[f"{subject.name}: {outcome}"] += 1
    for outcome, count in sorted(counts.items()):
        print(f"{count:6} {outcome}")
    sys.exit(bool(surprises))


if __name__ == "__main__":
    main()
