"""What a plug-in may know of the run that calls it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


async def _no_model(system: str, message: str) -> str:
    raise RuntimeError("there is no model to ask here")


def _no_wait() -> float:
    return 0.0


def _no_model_blocking(system: str, message: str) -> str:
    raise RuntimeError("there is no model to ask here")


@dataclass(frozen=True)
class RunContext:
    """The item that a plug-in is called for.

    `question`: on one line. `item`: the question's id, "" outside a run. `epoch`: the question's
    epoch. `waited`: seconds of the call in which the model's server was gone, which are not its
    own. A parameter annotated `RunContext` gets the one of its call.
    """

    question: str = ""
    item: str = ""
    epoch: int = 0
    time_left: Callable[[], float] = field(default=lambda: float("inf"), repr=False)
    model: Callable[[str, str], Awaitable[str]] = field(default=_no_model, repr=False)
    model_blocking: Callable[[str, str], str] = field(default=_no_model_blocking, repr=False)
    waited: Callable[[], float] = field(default=_no_wait, repr=False)

    @property
    def seconds_left(self) -> float:
        """Seconds of the item's budget that are left; negative once it is overdrawn."""
        return self.time_left()

    async def ask(self, system: str, message: str) -> str:
        """The reply of the agent's model to a system prompt and a message.

        Recorded like any model call: a resumed run does not repeat it; its tokens are counted under
        the plug-in's name. Raises RuntimeError if the model gives no text.
        """
        return await self.model(system, message)

    def ask_blocking(self, system: str, message: str) -> str:
        """`ask` for functions that are not async: it blocks their thread."""
        return self.model_blocking(system, message)


_CURRENT: ContextVar[RunContext | None] = ContextVar("branchwise_run_context", default=None)
_NOWHERE = RunContext()


def current_run() -> RunContext:
    """The context of the current call; an empty one outside any call."""
    return _CURRENT.get() or _NOWHERE


@contextmanager
def running(context: RunContext) -> Iterator[None]:
    """Make `context` visible to plug-ins called inside."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
