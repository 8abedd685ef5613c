"""How long to wait before a server is asked again."""

import random


def backoff(attempt: int, asked: float | None, *, first: float, longest: float) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 1).

    What the server asked for and up to a tenth (at most a second) more, so that calls that were
    refused together do not return together; else between half and all of `first`, twice, four
    times that, ... up to `longest` seconds.
    """
    if asked is not None:
        return asked + random.uniform(0, min(1.0, asked / 10))
    most = min(longest, first * 2.0 ** min(attempt - 1, 30))
    return random.uniform(most / 2, most)
