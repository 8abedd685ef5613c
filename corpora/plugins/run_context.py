"""What a plug-in may know of the run that calls it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


async def _nobody(system: str, message: str) -> str:
    raise RuntimeError("there is no model to ask here")


def _nobody_blocking(system: str, message: str) -> str:
    raise RuntimeError("there is no model to ask here")


@dataclass(frozen=True)
class RunContext:
    """The item that a plug-in is called for.

    `question`: on one line. `item`: the question's id, "" outside a run. `epoch`: which of the
    question's epochs. A parameter annotated `RunContext` gets the one of its call.
    """

    question: str = ""
    item: str = ""
    epoch: int = 0
    time_left: Callable[[], float] = field(default=lambda: float("inf"), repr=False)
    model: Callable[[str, str], Awaitable[str]] = field(default=_nobody, repr=False)
    model_blocking: Callable[[str, str], str] = field(default=_nobody_blocking, repr=False)

    @property
    def seconds_left(self) -> float:
        """Seconds of the item's budget that are left; negative once it is overdrawn."""
        return self.time_left()

    async def ask(self, system: str, message: str) -> str:
        """What the agent's model says to a system prompt and a message.

        Recorded like any model call: a resumed run does not ask again; its tokens are counted
        under the plug-in's name. Raises RuntimeError where the model gives no text.
        """
        return await self.model(system, message)

    def ask_blocking(self, system: str, message: str) -> str:
        """`ask` for functions that are not async: it blocks their thread."""
        return self.model_blocking(system, message)


_CURRENT: ContextVar[RunContext | None] = ContextVar("branchwise_run_context", default=None)
_NOWHERE = RunContext()


def current_run() -> RunContext:
    """The context of the call that this code runs in; an empty one outside of any."""
    return _CURRENT.get() or _NOWHERE


@contextmanager
def running(context: RunContext) -> Iterator[None]:
    """Let plug-ins that are called inside see `context`."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
