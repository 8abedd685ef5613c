"""Time that passes only where someone sleeps."""

import asyncio
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Both the clock and the sleep of what waits."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


async def settled() -> None:
    for _ in range(30):
        await asyncio.sleep(0)
