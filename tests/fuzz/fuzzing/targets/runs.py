"""Run folders: damaged stores, and whole ones whose traces hold what no graph of ours writes."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from fuzzing import forms
from fuzzing.ground import Ground
from fuzzing.target import Check, Target
from fuzzing.targets.files import Command, through
from fuzzing.targets.folders import damaged
from fuzzing.verdicts import Verdict

_READ: tuple[Command, ...] = (
    ("trace", "folder", "--print"),
    ("report", "folder", "--json"),
    ("errors", "folder"),
    ("export", "folder", "--events"),
)


def _traces(ground: Ground) -> list[bytes]:
    """The items of a run: question, events and outcome."""
    from branchwise.runs.store import open_run

    reader = open_run(ground.run)
    found = [
        {
            "question": row.question.model_dump(mode="json"),
            "events": [[event.kind, event.data] for event in reader.events(row.item)],
            "outcome": row.outcome,
        }
        for row in reader.items()
    ]
    reader.close()
    return [orjson.dumps(item) for item in found]


@contextmanager
def _looked_at(ground: Ground, here: Path) -> Iterator[Check]:
    from branchwise.corpora.questions import Question
    from branchwise.runs.store import open_run

    reader = open_run(ground.run)
    meta = dict(reader.meta)
    questions = {row.question.id: row.question for row in reader.items()}
    reader.close()
    question: Question = next(iter(questions.values()))
    commands = [*_READ, ("trace", "folder", "--print", "--question", question.id)]
    steps = [(*commands[-1], "--step", str(step)) for step in (0, 1, 2, 3, 5, 8)]

    def check(data: bytes) -> Verdict:
        try:
            item = orjson.loads(data)
            written(here / "folder", question, meta, item)
        except (ValueError, TypeError, KeyError, AttributeError):
            return "refused"  # no store can hold it
        verdict = through(*commands)(here)
        for step in steps:
            through(step)(here)
        return verdict

    yield check


def written(folder: Path, question: Any, meta: dict[str, Any], item: Any) -> None:
    """A run of one question with these events and this outcome, through the run store."""
    from branchwise.runs.store import RunSpec, RunStore, create_run

    kinds = [(str(kind), dict(data)) for kind, data in item["events"]]
    outcome = dict(item["outcome"])
    orjson.dumps([kinds, outcome])
    shutil.rmtree(folder, ignore_errors=True)
    system = meta["system"]
    spec = RunSpec(meta["task"], "q", "d", system, system, "s", 1, "0")
    create_run(folder, spec, [question])
    with RunStore(folder) as store:
        (pending,) = store.pending()
        journal = store.begin(pending)
        for kind, data in kinds:
            journal.event(kind, data)
        asyncio.run(journal.finish("failed" if outcome.get("error") else "done", outcome))


TARGETS = (
    Target("traces", forms.json_value, _traces, _looked_at, needs=("run",)),
    damaged("run-stores", "run", ["run.sqlite"], *_READ, ("score", "folder", "--json")),
    damaged(
        *("parts", "parts", ["1/run.sqlite"]),
        ("merge", "folder/1", "folder/2", "--out", "out"),
        ("merge", "folder/2", "folder/1", "--out", "out2"),
        ("report", "out", "--json"),
        ("export", "out", "--events"),
    ),
)
