"""Joining runs of one system over different questions into one new run.

The runs are only read. Scores are left out: scoring makes them again from the items.
"""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson

from branchwise.base.atomic import new_folder
from branchwise.base.errors import InputError
from branchwise.corpora.loaders import questions_digest
from branchwise.corpora.questions import Question
from branchwise.runs.costs.prices import keep_limit, keep_prices, kept_prices, limit_of
from branchwise.runs.store.new_run import begin_file, new_file, places, put_question
from branchwise.runs.store.passages import StoredPassages, references
from branchwise.runs.store.reader import open_run
from branchwise.runs.store.run_file import RunFile, RunSpec
from branchwise.runs.store.tables import (
    ENDED,
    INSERT_PASSAGE,
    create_table,
    insert_into,
    pack_ended,
)
from branchwise.runs.store.verifying import check_whole

_SAME = {"task": "task", "epochs": "number of epochs", "scoring": "way of scoring"}
"""What runs have in common besides their system, in words."""


@dataclass(frozen=True)
class _Source:
    """A run that is joined: its settings and questions."""

    path: Path
    meta: Mapping[str, Any]
    questions: Sequence[Question]

    @classmethod
    def read(cls, path: Path) -> "_Source":
        with closing(open_run(path)) as reader:
            meta, questions = reader.meta, list(reader.questions())
        check_whole(path)
        if meta.get("fork"):
            what, remedy = "is a fork of one item", "merge whole runs"
        elif not meta["system_digest"]:
            what = "was stopped before its system was open"
            remedy = f"continue it first: branchwise resume {path}"
        else:
            return cls(path, meta, questions)
        raise InputError(what, where=str(path), remedy=remedy)


def merge_runs(paths: Sequence[Path], out: Path) -> None:
    """Join runs at `out`, a new folder that appears when it is complete. Questions are in the order
    of the runs. Of an item that has not ended the responses are kept, and `resume` asks for the
    rest. Limits of cost are added. Raises InputError unless these are whole runs of one system over
    different questions."""
    _check_new(out)
    if not paths:
        raise InputError("no run is named", where=str(out), remedy="name the runs to join")
    sources = [_Source.read(path) for path in paths]
    for source in sources[1:]:
        _check_alike(source, sources[0])
    _check_distinct(sources)
    prices = _prices(paths)
    limits = [limit for path in paths if (limit := limit_of(path)) is not None]
    with new_folder(out) as folder:
        with new_file(folder) as connection:
            _fill(connection, sources)
        keep_prices(folder, prices)
        keep_limit(folder, math.fsum(limits) if len(limits) == len(paths) else None)
        _check_new(out)  # what another process made meanwhile would be replaced


def _check_new(out: Path) -> None:
    if out.exists():
        raise InputError("is there already", where=str(out), remedy="choose another --out")


def _check_alike(source: _Source, first: _Source) -> None:
    """Raise InputError unless both runs are of one system, task, number of epochs and scoring."""
    expected, meta = first.meta, source.meta
    differing = [
        words for key, words in _SAME.items() if (expected.get(key) or {}) != (meta.get(key) or {})
    ]
    what = differing[0] if differing else None
    if expected["system_digest"] != meta["system_digest"]:
        was, now = expected["identity"], meta["identity"]
        keys = sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))
        what = f"system ({', '.join(keys)})"
    if what:
        raise InputError(
            f"is of another {what} than {first.path}",
            where=str(source.path),
            remedy="merge the runs of each by themselves",
        )


def _check_distinct(sources: Sequence[_Source]) -> None:
    known: dict[str, Path] = {}
    for source in sources:
        for question in source.questions:
            if question.id in known:
                raise InputError(
                    f"the question {question.id[:60]!r} is in {known[question.id]}, too",
                    where=str(source.path),
                    remedy="merge runs of different questions",
                )
            known[question.id] = source.path


def _prices(paths: Sequence[Path]) -> Path | None:
    """The prices that the runs keep, if any; InputError where they differ."""
    kept = [prices for path in paths if (prices := kept_prices(path))]
    for prices in kept[1:]:
        if prices.read_bytes() != kept[0].read_bytes():
            raise InputError(
                f"has other prices than {kept[0]}",
                where=str(prices),
                remedy="give all runs the same: branchwise score DIR --prices FILE",
            )
    return kept[0] if kept else None


def _fill(connection: sqlite3.Connection, sources: Sequence[_Source]) -> None:
    """Write the settings, questions and items of all runs into the file of a new one."""
    questions = [question for source in sources for question in source.questions]
    meta = sources[0].meta
    spec = replace(
        RunSpec(**{f.name: meta[f.name] for f in fields(RunSpec) if f.name in meta}),
        source=", ".join(dict.fromkeys(source.meta["source"] for source in sources)),
        questions_digest=questions_digest(questions),
    )
    layout = begin_file(connection, spec, len(questions), 0)
    for n, question in enumerate(questions):
        put_question(connection, n, question)
    ids = [question.id for question in questions]
    items = {(place.question, place.epoch): place.item for place in places(spec, ids)}
    first = 0
    for source in sources:
        with closing(RunFile(source.path)) as file, file.snapshot():
            _copy(file, connection, items, first)
        pack_ended(connection, layout)
        first += len(source.questions)
    pack_ended(connection, layout, also_rest=True)


def _copy(
    file: RunFile, connection: sqlite3.Connection, items: Mapping[tuple[int, int], int], first: int
) -> None:
    """Copy a run's items with all that they recorded, and judgements; `items`: new numbers by
    question and epoch, `first`: the new number of the run's first question."""
    passages = StoredPassages(file)
    for number, question, epoch, status, _, _, outcome in file.each("items", "ORDER BY item"):
        item, counts = items[first + question, epoch], []
        for table in ("events", "responses"):
            rows = [(item, *row[1:]) for row in file.of_item(table, number)]
            # A set's order would differ from process to process.
            wanted = dict.fromkeys(
                hash for row in rows for hash in references(orjson.loads(row[-1]))
            )
            texts = passages.of(wanted)
            connection.executemany(INSERT_PASSAGE, [texts[hash] for hash in wanted])
            connection.executemany(insert_into(table), rows)
            counts.append(len(rows) if status in ENDED else None)
        row = (item, first + question, epoch, status, *counts, outcome)
        connection.execute(insert_into("items"), row)
    connection.execute(create_table("judgements"))
    # Runs whose judge was asked the same keep the reply of the first.
    insert = insert_into("judgements", "INSERT OR IGNORE")
    connection.executemany(insert, file.each("judgements"))
