"""A plug-in's function is called so that nothing it does harms its caller."""
# ruff: noqa: T201 - plug-ins print

import asyncio
import contextlib
import functools
import io
import os
import sys
import threading
from pathlib import Path

import pytest

from branchwise.corpora.plugins import threads
from branchwise.corpora.plugins.isolator import Isolator, PluginFailure, any_hung
from branchwise.corpora.plugins.printed import MAX_PRINTED
from branchwise.corpora.plugins.threads import LoopThread


async def called(function, *, by=None, seconds=20.0, injected=None, **arguments):
    isolator = by or Isolator("it")
    return await isolator.call(function, arguments, seconds=seconds, injected=injected)


async def failure(function, **more):
    with pytest.raises(PluginFailure) as caught:
        await called(function, **more)
    return caught.value


async def test_a_function_of_either_kind_gives_its_value():
    async def waits(x):
        await asyncio.sleep(0)
        return x + 1

    def blocks(x):
        return x + 1

    assert (await called(waits, x=1)).value == 2
    assert (await called(blocks, x=1)).value == 2


async def test_a_function_that_is_not_async_runs_on_a_thread_of_its_own():
    def where():
        return threading.current_thread()

    first, second = (await called(where)).value, (await called(where)).value
    assert first is not second
    assert threading.main_thread() not in (first, second)
    assert first.daemon


async def test_what_turns_out_to_be_asynchronous_is_awaited():
    async def waits(x, y):
        return x * y

    class Callable:
        async def __call__(self, x):
            return x

    assert (await called(functools.partial(waits, y=3), x=2)).value == 6
    assert (await called(lambda x: waits(x, 5), x=2)).value == 10
    assert (await called(Callable(), x=4)).value == 4


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (ValueError("no such\nfilm"), "it: ValueError: no such film"),
        (KeyError("k"), "it: KeyError: 'k'"),
        (SystemExit(3), "it: SystemExit: 3"),
        (SystemExit(), "it: SystemExit"),
        (RecursionError("deep"), "it: RecursionError: deep"),
        (asyncio.CancelledError(), "it: CancelledError"),
        (BaseException("base"), "it: BaseException: base"),
        (TimeoutError("own"), "it: TimeoutError: own"),
        (ExceptionGroup("g", [OSError("first")]), "it: ExceptionGroup: OSError: first"),
        (BaseExceptionGroup("g", [SystemExit(1)]), "it: BaseExceptionGroup: SystemExit: 1"),
        (ValueError("half \ud800"), "it: ValueError: half ?"),
    ],
)
async def test_what_is_raised_is_one_line_with_the_name(raised, line):
    async def waits():
        raise raised

    def blocks():
        raise raised

    assert (await failure(waits)).line == line
    assert (await failure(blocks)).line == line


async def test_an_interrupt_is_the_plugins_own():
    async def waits():
        raise KeyboardInterrupt

    def blocks():
        raise KeyboardInterrupt

    # No signal ever reaches their threads.
    assert (await failure(waits)).line == "it: KeyboardInterrupt"
    assert (await failure(blocks)).line == "it: KeyboardInterrupt"


async def test_an_exit_in_a_task_that_the_plugin_began_ends_nothing_else():
    async def exits():
        await asyncio.sleep(0)
        sys.exit(4)

    async def gathers():
        await asyncio.gather(exits(), exits())

    async def begins():
        task = asyncio.create_task(asyncio.sleep(1000))
        await asyncio.sleep(0)
        task.cancel()
        return "begun"

    assert (await failure(gathers)).line == "it: SystemExit: 4"
    assert (await called(begins)).value == "begun"


async def test_an_exception_whose_own_text_fails_is_still_told():
    class Odd(Exception):  # noqa: N818
        def __str__(self):
            raise RuntimeError("no text")

    async def waits():
        raise Odd

    assert (await failure(waits)).line == "it: Odd"


async def test_the_models_key_is_struck_out_of_what_is_raised(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-somebody")

    def leaks():
        raise RuntimeError(f"401 for {os.environ['OPENAI_API_KEY']}")

    assert (await failure(leaks)).line == "it: RuntimeError: 401 for ***"


async def test_a_long_message_is_bounded():
    async def waits():
        raise ValueError("x" * 10_000_000)

    assert len((await failure(waits)).line) < 600


async def test_arguments_that_do_not_fit_are_a_failure():
    assert "unexpected keyword argument" in (await failure(lambda x: x, y=1)).line


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


@pytest.fixture
def over():
    """Set behind the test, so that what hangs in it ends."""
    event = threading.Event()
    yield event
    event.set()


async def given_up(function, by):
    """Cancel a call of `function(begun)` behind its beginning."""
    begun = threading.Event()
    task = asyncio.ensure_future(called(functools.partial(function, begun), by=by, seconds=600))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def all_ended(isolator):
    """Returns when no call is counted any more."""
    while isolator.hung:
        threading.Event().wait(0.001)


async def test_a_hang_that_swallows_its_cancellation_is_counted_until_it_ends(monkeypatch, over):
    monkeypatch.setattr(threads, "GRACE", 0.01)

    async def stubborn(begun):
        begun.set()
        while not over.is_set():
            with contextlib.suppress(BaseException):
                await asyncio.sleep(0.001)

    counts = Isolator("counted")
    await given_up(stubborn, counts)
    assert counts.hung == 1
    assert any_hung()
    over.set()
    await asyncio.to_thread(all_ended, counts)


async def test_a_loop_is_left_where_it_is_blocked_alone(over):
    swallowed, begun, loop = threading.Event(), threading.Event(), LoopThread()

    async def stubborn():
        begun.set()
        while not over.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                swallowed.set()

    async def blocks():
        begun.set()
        over.wait()

    for function, left in ((stubborn, False), (blocks, True)):
        begun.clear()
        running = loop.run(function)
        await asyncio.to_thread(begun.wait)
        running.stop()
        if not left:
            await asyncio.to_thread(swallowed.wait)
        running.leave()
        assert loop.left is left
    over.set()
    await asyncio.to_thread(loop.thread.join)


async def test_a_coroutine_that_blocks_its_loop_keeps_it_and_others_get_another(monkeypatch, over):
    monkeypatch.setattr(threads, "GRACE", 0.01)
    # Coroutines that other tests left behind never end, nor does a loop that still has them.
    monkeypatch.setattr(threads, "_LOOP", None)
    left = []

    async def blocks(begun):
        left.append(threading.current_thread())
        begun.set()
        over.wait()

    async def where():
        return threading.current_thread()

    counts = Isolator("blocks")
    await given_up(blocks, counts)
    assert counts.hung == 1
    assert (await called(where)).value not in left
    over.set()
    await asyncio.to_thread(left[0].join)
    assert counts.hung == 0


async def test_coroutines_share_a_loop_that_is_not_their_callers():
    async def where():
        return asyncio.get_running_loop()

    first, second = (await called(where)).value, (await called(where)).value
    assert first is second
    assert first is not asyncio.get_running_loop()


async def test_a_plugin_that_stops_the_loop_stops_nothing():
    async def stops():
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return "on it goes"

    assert (await called(stops)).value == "on it goes"


async def test_a_hang_on_a_thread_is_abandoned_and_counted_until_it_ends():
    end, ended = threading.Event(), threading.Event()

    def hangs():
        end.wait()
        ended.set()

    counts = Isolator("counted on a thread")
    told = await failure(hangs, by=counts, seconds=0.05)
    assert told.line == "counted on a thread: no result within 0.05 seconds (abandoned)"
    assert counts.hung == 1
    end.set()
    await asyncio.to_thread(ended.wait)
    for thread in threading.enumerate():
        if thread.name == "plug-in counted on a thread":
            thread.join()
    assert counts.hung == 0


async def test_a_plugin_with_too_many_abandoned_calls_is_called_no_more(over):
    begun, counts = [], Isolator("often", most=3)

    def hangs():
        begun.append(True)
        over.wait()

    for _ in range(3):
        await failure(hangs, by=counts, seconds=0.01)
    told = await failure(hangs, by=counts, seconds=0.01)
    assert told.line == "often: not called: 3 earlier calls have never ended"
    assert len(begun) == 3


async def test_the_callers_cancellation_ends_the_call_as_cancellation():
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    cancelled = []

    async def waits():
        loop.call_soon_threadsafe(begun.set)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    task = asyncio.ensure_future(called(waits))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled == [True]


async def test_the_callers_cancellation_abandons_a_thread():
    end, loop, begun = threading.Event(), asyncio.get_running_loop(), asyncio.Event()

    def blocks():
        loop.call_soon_threadsafe(begun.set)
        end.wait()

    counts = Isolator("left")
    task = asyncio.ensure_future(called(blocks, by=counts))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert counts.hung == 1
    end.set()


async def test_arguments_are_copies_and_what_is_injected_is_not():
    given, shared = {"names": ["a"]}, ["x"]

    async def mutates(names, box):
        names.append("b")
        box.append("y")
        return names

    result = await Isolator("it").call(mutates, given, seconds=9, injected={"box": shared})
    assert result.value == ["a", "b"]
    assert given == {"names": ["a"]}
    assert shared == ["x", "y"]


async def test_arguments_that_cannot_be_copied_are_a_failure():
    class Uncopied:
        def __deepcopy__(self, memo):
            raise TypeError("not me")

    assert "cannot be copied: TypeError: not me" in (await failure(lambda x: x, x=Uncopied())).line


async def test_prints_are_caught_call_by_call_and_never_reach_standard_output(capfd):
    async def says(word):
        for _ in range(3):
            print(word, end="")
            await asyncio.sleep(0)

    def shouts(word):
        sys.stdout.write(word)
        sys.stdout.buffer.write(word.encode())
        print("kept apart", file=sys.stderr)

    quiet, loud = await asyncio.gather(called(says, word="a"), called(shouts, word="B"))
    assert (quiet.printed, loud.printed) == ("aaa", "BB")
    assert capfd.readouterr().out == ""


async def test_what_a_plugins_own_thread_prints_stays_off_standard_output(capfd):
    def begins():
        thread = threading.Thread(target=print, args=("from below",))
        thread.start()
        thread.join()

    await called(begins)
    assert capfd.readouterr() == ("", "from below\n")


async def test_standard_output_is_ours_again_after_a_call(capfd):
    await called(lambda: print("theirs"))
    print("ours")
    assert capfd.readouterr().out == "ours\n"


async def test_prints_are_bounded_and_the_cut_says_so():
    said = (await called(lambda: print("x" * 10_000_000))).printed
    assert said.startswith("x" * MAX_PRINTED + "\n[cut: 10000001")
    assert len(said) < MAX_PRINTED + 100


async def test_a_failed_call_keeps_what_it_printed():
    def fails():
        print("so far")
        raise ValueError

    assert (await failure(fails)).printed == "so far\n"


async def test_prints_after_the_end_are_dropped(capfd):
    end, ended = threading.Event(), threading.Event()

    def hangs():
        end.wait()
        print("too late")
        ended.set()

    await failure(hangs, seconds=0.01)
    end.set()
    await asyncio.to_thread(ended.wait)
    assert capfd.readouterr().out == ""


async def test_many_calls_at_once_are_apart():
    def blocks(n):
        print(n)
        if n % 3 == 0:
            raise ValueError(n)
        return n

    async def one(n):
        try:
            result = await called(blocks, n=n)
        except PluginFailure as told:
            return told.line, told.printed
        return result.value, result.printed

    results = await asyncio.gather(*map(one, range(64)))
    for n, (value, printed) in enumerate(results):
        assert value == (f"it: ValueError: {n}" if n % 3 == 0 else n)
        assert printed == f"{n}\n"


async def test_endless_recursion_is_a_failure():
    def deeper(n):
        return deeper(n + 1)

    assert (await failure(deeper, n=0)).line.startswith("it: RecursionError")


def test_nothing_that_was_given_up_holds_the_end_of_a_loop(monkeypatch, over):
    monkeypatch.setattr(threads, "GRACE", 0.01)

    async def stubborn():
        while not over.is_set():
            with contextlib.suppress(BaseException):
                await asyncio.Event().wait()

    async def gathers():
        await asyncio.gather(stubborn(), asyncio.wait_for(stubborn(), 1000))

    def hangs():
        over.wait()

    async def both():
        for function in (stubborn, gathers, hangs):
            await failure(function, seconds=0.01)
        return "ended"

    assert asyncio.run(both()) == "ended"


async def test_output_and_folder_are_as_they_were_whatever_calls_at_once_leave(tmp_path, capfd):
    inside, go_on = [threading.Event(), threading.Event()], threading.Event()

    def redirects(number):
        # The first to come is the first to go: the second puts back what the first had put there.
        with contextlib.redirect_stdout(io.StringIO()):
            os.chdir(tmp_path)
            inside[number].set()
            (inside[1] if number == 0 else go_on).wait(20)
        return number

    before = Path.cwd()
    first = asyncio.create_task(called(redirects, number=0))
    await asyncio.to_thread(inside[0].wait, 20)
    second = asyncio.create_task(called(redirects, number=1))
    await first
    go_on.set()
    await second
    print("seen")
    assert "seen" in capfd.readouterr().out
    assert Path.cwd() == before
