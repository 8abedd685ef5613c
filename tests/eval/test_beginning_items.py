"""How many items begin at once: as many as are asked for, where this process keeps up with them."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from branchwise.runs import runner

LONGER_THAN_A_STEP = 0.02


class Items:
    """Items that a fake engine answers, and a clock that only their work moves."""

    def __init__(self, count: int, work: float, together: int = 1) -> None:
        self.now, self.begun, self.begun_at_first_end = 0.0, 0, 0
        self._work, self._together = work, together
        its_pass = SimpleNamespace(number=0, ended=lambda *_: None)
        self.all = iter([(its_pass, number) for number in range(count)])

    def clock(self) -> float:
        return self.now

    async def answer(self, _part: int, _item: Any) -> dict[str, Any]:
        """Rounds of the event loop for a while, each with so much work, and until so many items are
        answered together."""
        self.begun += 1
        ended = time.monotonic() + LONGER_THAN_A_STEP
        while time.monotonic() < ended or self.begun < self._together:
            self.now += self._work
            await asyncio.sleep(0)
        self.begun_at_first_end = self.begun_at_first_end or self.begun
        return {}


async def run(items: Items, concurrency: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = runner.Gate
    monkeypatch.setattr(runner, "Gate", lambda: gate(items.clock))
    await runner._answer_all(items.all, items.answer, concurrency)


@pytest.mark.slow
async def test_where_items_keep_the_process_busy_few_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    items = Items(count=20, work=1.0)
    await run(items, 1000, monkeypatch)
    assert items.begun_at_first_end <= 2
    assert items.begun == 20


@pytest.mark.slow
async def test_where_it_keeps_up_all_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    items = Items(count=200, work=0.0, together=50)
    await asyncio.wait_for(run(items, 50, monkeypatch), 60)
    assert items.begun_at_first_end == 50
    assert items.begun == 200


async def test_who_waits_to_begin_ends_with_the_last_item(monkeypatch: pytest.MonkeyPatch) -> None:
    items = Items(count=1, work=1.0)
    await asyncio.wait_for(run(items, 1000, monkeypatch), 60)
    assert items.begun == 1
