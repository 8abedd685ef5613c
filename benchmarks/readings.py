"""How many of a question's true readings an expander lists, from memory and from a search.

A world and ambiguous questions about it are made first, in a temporary folder (`--folder` keeps
them); then `offline` answers them. Beside it stand two scripted expanders, as bounds: one that
writes every namesake it was shown, and one that also knows which kinds of things are meant.

    python benchmarks/readings.py [--entities 3000] [--questions 60] [--seed 1011]
        [--retriever bm25|flat|hybrid] [--folder DIR]
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from branchwise import System, run, score
from branchwise.corpora.folder import Corpus
from branchwise.corpora.passages import to_passage
from branchwise.graphs.expand_node import namesakes
from branchwise.graphs.list_replies import MAX_READINGS
from branchwise.runs.store import open_run
from branchwise.trace.events import Expansion

INDEXES = {"bm25": ("bm25",), "flat": ("flat",), "hybrid": ("flat", "bm25")}
"""By retriever."""
_BRACKETS = re.compile(r" \((?:\d{4} )?([a-z][^,()]+?)(?:,? (?:born|founded|formed)\b[^()]*)?\)$")


class Expanded(NamedTuple):
    """A question, what an expander wrote for it, and what it had been shown: titles by name."""

    question: str
    gold: frozenset[str]
    readings: Sequence[str]
    listed: Sequence[str]
    searches: int


class Readings(NamedTuple):
    """`wrong`: readings a question that are none of gold's; `unfit`: those of them that are of
    another kind than all of gold's, or name nothing in the collection."""

    listed: float
    wrong: float
    unfit: float
    searches: float


def kind(title: str) -> str:
    """ "film" of "Reef (1994 film)"; a place is told apart by another place."""
    found = _BRACKETS.search(title)
    return found[1] if found else "place"


def measured(items: Sequence[Expanded], titles: frozenset[str]) -> Readings:
    """The figures of an expander."""
    gold = listed = wrong = unfit = 0
    for one in items:
        there = one.gold & titles
        named = [named_in(reading, titles, one.question) for reading in one.readings]
        gold, listed = gold + len(there), listed + len(there.intersection(named))
        others = [title for title in named if title not in one.gold]
        kinds = {kind(title) for title in one.gold}
        wrong += len(others)
        unfit += sum(title is None or kind(title) not in kinds for title in others)
    count = len(items)
    return Readings(
        listed / gold, wrong / count, unfit / count, sum(one.searches for one in items) / count
    )


def named_in(reading: str, titles: Iterable[str], question: str) -> str | None:
    """The title that a reading puts in the place of a name: one that is told apart."""
    said = [title for title in titles if title in reading and title not in question]
    apart = [title for title in said if re.search(r"\(|, ", title)]
    return max(apart, key=len, default=None)


def expanded(folder: Path) -> Iterator[Expanded]:
    """The questions of a run with what their expansion recorded."""
    reader = open_run(folder)
    for row in reader.items():
        gold = frozenset(branch.name for branch in row.question.branches)
        for event in reader.events(row.item):
            if isinstance(body := event.body, Expansion):
                things = namesakes(body.question, body.looked).values()
                listed = [one.title for own in things if len(own) > 1 for one in own]
                yield Expanded(body.question, gold, body.readings, listed, len(body.looked))
    reader.close()


def scripted(items: Iterable[Expanded], *, knows_kinds: bool) -> list[Expanded]:
    """An expander that writes what it was shown: all of it, or what is of a kind that is meant."""
    found = []
    for one in items:
        kinds = {kind(title) for title in one.gold}
        meant = [title for title in one.listed if not knows_kinds or kind(title) in kinds]
        found.append(one._replace(readings=meant[:MAX_READINGS]))
    return found


def strict_recall(folder: Path) -> float:
    """Of the answers, branch by branch."""
    return score(folder).aggregates["all"]["strict_recall"].mean


def make(folder: Path, given: argparse.Namespace) -> None:
    """The world, its indexes and graph, and the questions; what is there stays."""
    world, file = folder / "W", folder / "q.jsonl"
    of_size = ("--entities", given.entities, "--seed", given.seed)
    steps: list[tuple[Path, list[object]]] = [
        (world, ["world", "make", *of_size, "--out", world]),
        *(
            (world / "index" / kind, ["corpus", "index", world, "--kind", kind])
            for kind in INDEXES[given.retriever]
        ),
        (world / "kg", ["kg", "build", world]),
        (
            file,
            [
                *("questions", "generate", "--kg", world, "--ambiguous", 1.0),
                *("--n", given.questions, "--out", file),
            ],
        ),
    ]
    for made, arguments in steps:
        if not made.exists():
            command = [sys.executable, "-m", "branchwise", *map(str, arguments)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def rows(folder: Path, retriever: str) -> Iterator[tuple[str, Readings | None, float | None]]:
    """What each expander wrote, and the strict recall of the answers where they were written."""
    world = folder / "W"
    titles = frozenset(to_passage("", text).title for text in Corpus.open(world).contents())
    systems: dict[str, dict[str, Any]] = {
        "no expansion": {},
        "memory": {"expand": True, "readings_from": "memory"},
        "search": {"expand": True},
        "search, with the graph": {"expand": True, "kg": str(world)},
    }
    for name, changes in systems.items():
        system = System(model="offline", corpus=str(world), retriever=retriever, k=5, **changes)
        with tempfile.TemporaryDirectory() as out:
            made = run(str(folder / "q.jsonl"), system, out=Path(out, "run"))
            items = list(expanded(made.path))
            recall = strict_recall(made.path)
        yield f"offline, {name}", measured(items, titles) if items else None, recall
        if "readings_from" not in changes and items:
            for said, knows in (("every namesake shown", False), ("those of a kind meant", True)):
                figures = measured(scripted(items, knows_kinds=knows), titles)
                yield f"scripted, {name}: {said}", figures, None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=3000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1011, help="of the world")
    parser.add_argument("--retriever", choices=INDEXES, default="bm25")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        make(folder, given)
        print("| expander | true readings listed | wrong | of them unfit | searches | recall |")
        print("|---|---|---|---|---|---|")
        for name, found, recall in rows(folder, given.retriever):
            figures = [f"{n:.2f}" for n in found] if found else ["–"] * 4
            print(
                f"| {name} | {' | '.join(figures)} | {'–' if recall is None else f'{recall:.2f}'} |"
            )


if __name__ == "__main__":
    main()
