"""The batcher: one search for many callers, and no harm done by any of them."""

import asyncio
import threading

import pytest

from branchwise.tools.batcher import LARGEST_BATCH, Batcher


def ids(hits):
    return [hit.passage.id for hit in hits]


async def hold_first(batcher, echo):
    """A search under way, held inside the retriever."""
    echo.held = True
    first = asyncio.ensure_future(batcher.search("first", 1))
    await asyncio.to_thread(echo.entered.acquire, timeout=30)
    return first


async def queued(batcher, count):
    await asyncio.sleep(0)  # every task runs up to its wait
    assert len(batcher._queue) == count


async def test_a_query_goes_at_once_and_those_that_queue_meanwhile_go_together(echo):
    batcher = Batcher(echo)
    first = await hold_first(batcher, echo)
    rest = [asyncio.ensure_future(batcher.search(q, k)) for q, k in (("a", 1), ("b", 3), ("a", 2))]
    await queued(batcher, 3)
    echo.release.set()
    assert ids(await first) == ["first-1"]
    assert [ids(hits) for hits in await asyncio.gather(*rest)] == [
        ["a-1"],
        ["b-1", "b-2", "b-3"],
        ["a-1", "a-2"],
    ]
    assert echo.calls == [(["first"], 1), (["a", "b"], 3)]


async def test_a_flood_is_cut_into_bounded_batches(echo):
    batcher = Batcher(echo)
    first = await hold_first(batcher, echo)
    count = LARGEST_BATCH + 10
    rest = [asyncio.ensure_future(batcher.search(str(n), 1)) for n in range(count)]
    await queued(batcher, count)
    echo.release.set()
    found = await asyncio.gather(first, *rest)
    assert [ids(hits) for hits in found[1:]] == [[f"{n}-1"] for n in range(count)]
    assert [len(queries) for queries, _ in echo.calls] == [1, LARGEST_BATCH, 10]


async def test_an_error_reaches_everyone_who_waited_and_nobody_later(echo):
    batcher = Batcher(echo)
    first = await hold_first(batcher, echo)
    rest = [asyncio.ensure_future(batcher.search(q, 1)) for q in "ab"]
    await queued(batcher, 2)
    echo.fail = RuntimeError("index gone")
    echo.release.set()
    outcomes = await asyncio.gather(first, *rest, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["index gone"] * 3
    echo.fail = None
    assert ids(await batcher.search("c", 1)) == ["c-1"]


async def test_cancelling_one_waiter_harms_no_other(echo):
    batcher = Batcher(echo)
    first = await hold_first(batcher, echo)
    gone, stays = (asyncio.ensure_future(batcher.search(q, 1)) for q in ("gone", "stays"))
    await queued(batcher, 2)
    gone.cancel()
    first.cancel()
    await asyncio.gather(gone, first, return_exceptions=True)
    echo.release.set()
    assert ids(await stays) == ["stays-1"]
    assert gone.cancelled()
    assert first.cancelled()
    assert echo.calls[1] == (["stays"], 1)


def test_a_loop_that_closes_while_it_waits_leaves_the_batcher_working(echo):
    batcher = Batcher(echo)

    async def give_up():
        first = await hold_first(batcher, echo)
        first.cancel()

    asyncio.run(give_up())
    echo.release.set()
    assert ids(asyncio.run(batcher.search("next", 1))) == ["next-1"]


def test_threads_share_it(echo):
    batcher, found = Batcher(echo), {}

    def ask(query):
        found[query] = ids(batcher.search_blocking(query, 1))

    threads = [threading.Thread(target=ask, args=(str(n),)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert found == {str(n): [f"{n}-1"] for n in range(20)}


async def test_a_retriever_that_loses_a_query_is_an_error_and_not_a_hang(echo, monkeypatch):
    monkeypatch.setattr(echo, "search", lambda queries, k: [])
    with pytest.raises(ValueError, match="zip"):
        await Batcher(echo).search("a", 1)
