"""A plug-in's function is called within its time, and what it raises is one line."""

import asyncio
import os
import threading

import pytest

from branchwise.base.plugins import call as calling
from branchwise.base.plugins.call import PluginFailure, RunContext, call, call_blocking, running


async def called(function, *, seconds=20.0, **arguments):
    return await call("it", function, arguments, seconds=seconds)


async def failure(function, **more):
    with pytest.raises(PluginFailure) as caught:
        await called(function, **more)
    return caught.value


@pytest.fixture
def over():
    """Set after the test, so that what hangs in it ends."""
    event = threading.Event()
    yield event
    event.set()


async def test_an_async_function_runs_in_the_runs_loop_and_any_other_on_its_own_daemon_thread():
    async def waits(x):
        await asyncio.sleep(0)
        return x + 1, asyncio.get_running_loop()

    def blocks(x):
        return x + 1, threading.current_thread()

    assert await called(waits, x=1) == (2, asyncio.get_running_loop())
    (value, thread), (_, other) = await called(blocks, x=1), await called(blocks, x=1)
    assert value == 2
    assert thread.daemon
    assert len({thread, other, threading.main_thread()}) == 3


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (ValueError("no such\nfilm"), "it: ValueError: no such film"),
        (StopIteration("3"), "it: StopIteration: 3"),
        (SystemExit(3), "it: SystemExit: 3"),
        (TimeoutError("own"), "it: TimeoutError: own"),
        (ExceptionGroup("g", [OSError("half \ud800")]), "it: ExceptionGroup: OSError: half ?"),
    ],
)
async def test_what_is_raised_is_one_line_with_the_name(raised, line):
    def blocks():
        raise raised

    async def waits():
        raise raised

    assert (await failure(blocks)).line == line
    if not isinstance(raised, StopIteration):  # which no coroutine can raise
        assert (await failure(waits)).line == line
    with pytest.raises(PluginFailure, match=r"^it: "):
        call_blocking("it", blocks, {}, seconds=20)


async def test_a_line_has_no_key_and_is_bounded(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-somebody")

    def leaks():
        raise RuntimeError(f"401 for {os.environ['OPENAI_API_KEY']} " + "x" * 10_000)

    line = (await failure(leaks)).line
    assert line.startswith("it: RuntimeError: 401 for *** xxx")
    assert len(line) < 600


async def test_a_hang_is_cancelled_at_its_limit_and_may_clean_up():
    begun, cleaned = [], []

    async def hangs():
        begun.append(True)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    told = await failure(hangs, seconds=0.05)
    assert told.line == "it: no result within 0.05 seconds (cancelled)"
    assert cleaned == begun


async def test_a_hang_on_a_thread_is_abandoned(over):
    told = await failure(over.wait, seconds=0.05)
    assert told.line == "it: no result within 0.05 seconds (abandoned)"
    with pytest.raises(PluginFailure, match=r"^it: no result within 0.05 seconds \(abandoned\)$"):
        call_blocking("it", over.wait, {}, seconds=0.05)


async def test_one_that_blocks_the_loop_is_named_after_its_limit(monkeypatch):
    told = threading.Event()
    lines = []
    monkeypatch.setattr(calling, "GRACE", 0.01)
    monkeypatch.setattr(calling, "warn", lambda line: (lines.append(line), told.set()))

    async def blocks():
        assert told.wait(60)  # the warning comes while the loop is blocked
        return "done"

    async def waits():
        await asyncio.sleep(1000)

    other = asyncio.ensure_future(failure(waits, seconds=0.02))
    assert await called(blocks, seconds=0.02) == "done"
    await other
    assert lines == [
        "it blocks the run, past its limit of 0.02 seconds: leave out `async`, or await what takes "
        "long"
    ]


async def test_seconds_in_which_the_models_server_was_gone_do_not_count():
    asked, is_over = [], asyncio.Event()

    def waited():
        """Nothing at first; once the limit is over, a minute."""
        asked.append(True)
        if len(asked) == 1:
            return 0.0
        is_over.set()
        return 60.0

    async def asks():
        await is_over.wait()
        return "answered"

    with running(RunContext(waited=waited)):
        assert await called(asks, seconds=0.01) == "answered"


async def test_a_task_of_its_own_that_it_cancelled_cancels_nothing_else():
    async def cancels():
        task = asyncio.ensure_future(asyncio.Event().wait())
        task.cancel()
        await task

    assert (await failure(cancels)).line == "it: CancelledError"


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_callers_cancellation_ends_the_call(is_async, over):
    loop, begun, cancelled = asyncio.get_running_loop(), asyncio.Event(), []

    async def waits():
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    def blocks():
        loop.call_soon_threadsafe(begun.set)
        over.wait()

    task = asyncio.ensure_future(called(waits if is_async else blocks))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled == [True] * is_async


async def test_arguments_are_copies_and_what_is_injected_is_not():
    given, shared = {"names": ["a"]}, ["x"]

    async def mutates(names, box):
        names.append("b")
        box.append("y")
        return names

    assert await call("it", mutates, given, seconds=9, injected={"box": shared}) == ["a", "b"]
    assert (given, shared) == ({"names": ["a"]}, ["x", "y"])
