"""Slow work beside the app, on a thread that never holds up its end.

Textual's own thread workers do: the interpreter waits for an executor's threads.
"""

from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import TypeVar

from textual.app import App
from textual.events import Callback

T = TypeVar("T")


def run_aside(
    app: App[None],
    work: Callable[[], T],
    then: Callable[[T], None],
    failed: Callable[[Exception], None],
) -> None:
    """Call `work` on a thread, then `then` with its result, or `failed`, in the app.

    Nothing that `work` uses may be used by another thread: it opens its own runs. If the app has
    ended meanwhile, neither is called; the thread ends with the process.
    """

    def body() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - the app shows any error and goes on
            in_app(app, partial(failed, error))
        else:
            in_app(app, partial(then, result))

    Thread(target=body, daemon=True).start()


def in_app(app: App[None], callback: Callable[[], None]) -> None:
    """Have the app call this soon; may be called on any thread, also after the app has ended."""
    try:
        app.post_message(Callback(callback=callback))
    except RuntimeError:
        # The event loop is closed: the app has ended.
        return
