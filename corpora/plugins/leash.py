"""A coroutine that can be let go of, whatever it does about being cancelled."""

import contextlib
from collections.abc import Coroutine, Generator
from typing import Any


class Leash:
    """Awaits a coroutine. Once `dropped`, the next step closes it instead of going on.

    A task that swallows its cancellation would run for ever, and hold the end of the event loop;
    this one steps the coroutine itself, and so can stop to.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self.dropped = False

    def __await__(self) -> Generator[Any, Any, Any]:
        advance, value = self._coroutine.send, None
        while True:
            try:
                awaited = advance(value)
            except StopIteration as ended:
                return ended.value
            try:
                value = yield awaited
                advance = self._coroutine.send
            except BaseException as error:
                if self.dropped:
                    self.close()
                    raise
                advance, value = self._coroutine.throw, error

    def close(self) -> None:
        """End the coroutine where it stands; what it raises at that, too, is dropped."""
        with contextlib.suppress(BaseException):
            self._coroutine.close()
