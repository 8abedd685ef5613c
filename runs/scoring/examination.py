"""Where each answer of a run was lost, by its traces; on several processors where items are many.

The work is pure Python, so threads would take turns; a process pool would run the main module again
in each, which may be a script that asks models. So workers are programs of their own."""

import pickle
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from branchwise.base.process import usable_cores, without_cycle_search
from branchwise.eval.branch_scores import GoldPair
from branchwise.eval.ceilings import TracedItem, found_in_any_epoch
from branchwise.eval.errors.attribution import Examined, examine, with_reach
from branchwise.eval.errors.gold_evidence import GoldEvidence
from branchwise.eval.errors.module_work import total_work
from branchwise.eval.items import AnsweredItem
from branchwise.eval.reach import Reach
from branchwise.eval.scores import Scores
from branchwise.eval.tasks import get_task
from branchwise.runs.scoring.scored import Analysis, TracedRun
from branchwise.runs.store import RunReader, open_run

MODULE = "branchwise.runs.scoring.examination"
MANY = 400
"""Fewer items are examined faster than a worker starts."""
MAX_WORKERS = 16
_BATCH = 25


def analyse(
    path: Path, items: Iterable[AnsweredItem], scores: Scores, reach: Reach | None = None
) -> Analysis:
    """Read the traces of all items of the run at `path`, as it was scored; a few at a time."""
    metrics: Mapping[Any, Any] = {(row.id, row.epoch): row.metrics for row in scores.items}
    listed = list(items)
    examined = examine_items(path, listed)
    traced = tuple(
        TracedItem(item, of.matches, of.evidence, metrics=metrics[item.question.id, item.epoch])
        for item, of in zip(listed, examined, strict=True)
    )
    errors = tuple(result.errors for result in examined)
    if reach and reach.of_corpus:
        brought, has = found_in_any_epoch(traced), reach.of

        def absent(item: TracedItem) -> set[GoldPair]:
            """The missing pairs that nothing searched has, and that no epoch brought."""
            key = item.item.gold_key
            missing = {*item.matches.missing} - brought[key]
            return {pair for pair in missing if has(key, pair) is False}

        errors = tuple(
            with_reach(result, absent(item), reach.passages.get(item.item.gold_key, {}))
            for result, item in zip(examined, traced, strict=True)
        )
    run = TracedRun(traced, errors)
    modules = total_work(result.modules for result in examined)
    return Analysis(lambda: run, get_task(scores.scorer.task), scores.items, reach, modules)


def examine_items(
    path: Path, items: Sequence[AnsweredItem], *, workers: int | None = None
) -> list[Examined]:
    """Examine a run's items; `workers` None: one a core for `MANY` items, else no other."""
    wanted = usable_cores() if workers is None and len(items) >= MANY else workers
    count = min(wanted or 1, MAX_WORKERS, -(-len(items) // _BATCH))
    with closing(open_run(path)) as reader:
        return _examined(reader, items) if count < 2 else _in_workers(reader, items, count)


def brief(evidence: GoldEvidence) -> GoldEvidence:
    """The evidence with the places that decide: first, first left, first shown."""
    deciding = {}
    for pair, places in evidence.places.items():
        left = next((place for place in places if not evidence.dropped(place)), None)
        shown = next((place for place in places if place.shown), None)
        deciding[pair] = tuple(dict.fromkeys([*places[:1], *filter(None, (left, shown))]))
    return replace(evidence, places=deciding, elsewhere={}, wrong_places={})


@without_cycle_search()
def _examined(reader: RunReader, items: Sequence[AnsweredItem]) -> list[Examined]:
    examined = []
    for item in items:
        assert item.item is not None, "an item of a run has its number"
        result = examine(item, reader.events(item.item, contents=False))
        examined.append(replace(result, evidence=brief(result.evidence)))
    return examined


def _in_workers(reader: RunReader, items: Sequence[AnsweredItem], count: int) -> list[Examined]:
    """Each worker gets every `count`-th batch; this process does what one that dies has left."""
    batches = _batches(items)
    examined: list[Examined] = []
    with ExitStack() as opened:
        workers = [_worker(opened, reader.path) for _ in range(count)]
        for n, worker in enumerate(workers):
            assert worker.stdin is not None
            with suppress(OSError), worker.stdin as stream:
                pickle.dump([item for batch in batches[n::count] for item in batch], stream, -1)
        for n, batch in enumerate(batches):
            answers = workers[n % count].stdout
            assert answers is not None
            try:
                examined += _Unpickler(answers).load()  # our own objects, so pickling is safe
            except (OSError, EOFError, ValueError, pickle.UnpicklingError):
                answers.close()  # what else may come is not in step with the batches
                examined += _examined(reader, batch)
    return examined


def _worker(opened: ExitStack, path: Path) -> "subprocess.Popen[bytes]":
    """A process that ends with the stack, in a session of its own: interrupts are for this one."""
    worker = subprocess.Popen(
        [sys.executable, "-P", "-m", MODULE, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    opened.enter_context(worker)
    opened.callback(worker.kill)
    return worker


def _batches(items: Sequence[AnsweredItem]) -> list[Sequence[AnsweredItem]]:
    return [items[start : start + _BATCH] for start in range(0, len(items), _BATCH)]


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> str | None:
        return obj if type(obj) is str else None


class _Unpickler(pickle.Unpickler):
    """Holds each text once: results name gold answers, passages and tools over and over."""

    def persistent_load(self, pid: Any) -> str:
        return sys.intern(pid)


def _work(path: Path) -> None:
    with closing(open_run(path)) as reader:
        for batch in _batches(pickle.load(sys.stdin.buffer)):  # noqa: S301 - what started this
            _Pickler(sys.stdout.buffer, pickle.HIGHEST_PROTOCOL).dump(_examined(reader, batch))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
