"""First come, first served."""

import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """Things that threads take and give back; the longest waiting thread is served first.

    A lock or a queue may serve a thread that arrives just when something is given back, and let
    another starve.
    """

    def __init__(self, things: Iterable[T]) -> None:
        self._free = deque(things)
        self._waiting: deque[Future[T]] = deque()
        self._lock = threading.Lock()

    def take(self, seconds: float) -> T:
        """Raises TimeoutError if nothing was given back in time."""
        with self._lock:
            if self._free:
                return self._free.popleft()
            turn: Future[T] = Future()
            self._waiting.append(turn)
        try:
            return turn.result(seconds)
        except BaseException as error:
            if not self._withdraw(turn):
                if isinstance(error, TimeoutError):
                    return turn.result()
                self.give(turn.result())
            raise

    def give(self, thing: T) -> None:
        """Give back what was taken."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set_result(thing)
            else:
                self._free.append(thing)

    def _withdraw(self, turn: Future[T]) -> bool:
        """Stop waiting; False if it was served just then."""
        with self._lock:
            if turn.done():
                return False
            self._waiting.remove(turn)
            return True
