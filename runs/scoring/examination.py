"""Examining the items of a run, on several processors where there are many items.

The work is pure Python, so threads would take turns. Workers are programs of their own, not copies
of this process: that may hold threads, models and a notebook's main module.
"""

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from branchwise.base.cores import usable_cores
from branchwise.base.cycle_collector import without_cycle_search
from branchwise.eval.errors.attribution import Examined, examine
from branchwise.eval.errors.gold_evidence import EvidencePlace, GoldEvidence
from branchwise.eval.items import AnsweredItem
from branchwise.runs.store import RunReader, open_run

MODULE = "branchwise.runs.scoring.examination"
MANY = 400
"""Fewer items are examined faster than a worker starts."""
MAX_WORKERS = 16
_BATCH = 25


def examine_items(
    path: Path, items: Sequence[AnsweredItem], *, workers: int | None = None
) -> list[Examined]:
    """Examine each item of the run at `path`; the results are in the order of `items`.

    Of each item's evidence, the places that decide anything are kept (`brief`). `workers`:
    processes; by default one for each processor where there are `MANY` items, else none but this.
    """
    wanted = usable_cores() if workers is None and len(items) >= MANY else workers
    count = min(wanted or 1, MAX_WORKERS, -(-len(items) // _BATCH))
    if count < 2:
        reader = open_run(path)
        try:
            return _examined(reader, items)
        finally:
            reader.close()
    return _in_workers(path, items, count)


def brief(evidence: GoldEvidence) -> GoldEvidence:
    """The evidence with few places of each gold answer: the first, the first that extraction left,
    and the first that was shown. Nothing else of it is needed once an item is examined."""
    places = {pair: _deciding(evidence, found) for pair, found in evidence.places.items()}
    return replace(evidence, places=places, elsewhere={}, wrong_places={})


def _deciding(evidence: GoldEvidence, places: Sequence[EvidencePlace]) -> tuple[EvidencePlace, ...]:
    first = places[:1]
    left = next((place for place in places if not evidence.dropped(place)), None)
    shown = next((place for place in places if place.shown), None)
    return tuple(dict.fromkeys([*first, *filter(None, (left, shown))]))


@without_cycle_search()
def _examined(reader: RunReader, items: Sequence[AnsweredItem]) -> list[Examined]:
    found = []
    for item in items:
        assert item.item is not None, "an item of a run has its number"
        one = examine(item, reader.events(item.item, contents=False))
        found.append(replace(one, evidence=brief(one.evidence)))
    return found


def _in_workers(path: Path, items: Sequence[AnsweredItem], count: int) -> list[Examined]:
    idle: SimpleQueue[_Worker] = SimpleQueue()

    def examined(batch: Sequence[AnsweredItem]) -> list[Examined]:
        worker = idle.get()
        try:
            return worker.examine(batch)
        except _WorkerDied:
            return examine_items(path, batch, workers=1)
        finally:
            idle.put(worker)

    batches = [items[start : start + _BATCH] for start in range(0, len(items), _BATCH)]
    with ExitStack() as opened:
        for _ in range(count):
            idle.put(opened.enter_context(_Worker(path)))
        threads = opened.enter_context(ThreadPoolExecutor(count))
        # After an interrupt nothing is started: work that `map` has queued is cancelled.
        return [one for found in threads.map(examined, batches) for one in found]


class _Pickler(pickle.Pickler):
    """Marks each text, for `_Unpickler`."""

    def persistent_id(self, obj: Any) -> str | None:
        return obj if type(obj) is str else None


class _Unpickler(pickle.Unpickler):
    """Holds each text once: results name gold answers, passages and tools over and over."""

    def persistent_load(self, pid: Any) -> str:
        return sys.intern(pid)


class _WorkerDied(Exception):  # noqa: N818 - what happened to it
    """Its work is left to this process."""


class _Worker:
    """A process that examines items; it exchanges only our own objects, so pickling is safe."""

    def __init__(self, path: Path) -> None:
        self._command = [sys.executable, "-P", "-m", MODULE, str(path)]

    def __enter__(self) -> "_Worker":
        # In a session of its own: an interrupt at the terminal is this process's to answer. What a
        # worker dies of is met, and told, where its work is done again.
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.kill()
        self._process.communicate()

    def examine(self, items: Sequence[AnsweredItem]) -> list[Examined]:
        """The items examined. Raises _WorkerDied."""
        told, answers = self._process.stdin, self._process.stdout
        assert told is not None
        assert answers is not None
        try:
            pickle.dump(items, told, pickle.HIGHEST_PROTOCOL)
            told.flush()
            found: list[Examined] = _Unpickler(answers).load()  # our own worker's
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise _WorkerDied from error
        return found


def _batches(told: IO[bytes]) -> Iterator[Sequence[AnsweredItem]]:
    while True:
        try:
            yield pickle.load(told)  # noqa: S301 - the process that started this one
        except EOFError:
            return


def _work(path: Path) -> None:
    reader = open_run(path)
    for items in _batches(sys.stdin.buffer):
        _Pickler(sys.stdout.buffer, pickle.HIGHEST_PROTOCOL).dump(_examined(reader, items))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
