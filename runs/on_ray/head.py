"""Whether the head of a Ray is there, as a process that is part of that Ray sees it.

Ray ends such a process itself, with words of its own, when it has not reached the head for a
minute. A client of a cluster is told instead.
"""

import asyncio
import socket
from contextlib import suppress

_LOOKS = 4
"""Refusals in a row of a head that is gone: one that is made to come back may need a moment."""
_BETWEEN_LOOKS = 3.0
_CONNECT_SECONDS = 5.0


async def until_gone(address: str) -> None:
    """Returns when nothing listens at HOST:PORT any more."""
    refused = 0
    while refused < _LOOKS:
        await asyncio.sleep(_BETWEEN_LOOKS)
        refused = refused + 1 if await asyncio.to_thread(_is_refused, address) else 0


def address_of_head() -> str | None:
    """HOST:PORT. None for a client of a cluster, which may not be let through to it."""
    import ray
    from ray.util.client import ray as client

    return None if client.is_connected() else str(ray.get_runtime_context().gcs_address)


def _is_refused(address: str) -> bool:
    """What else may fail, a machine without a free port among it, says nothing of the head."""
    host, _, port = address.rpartition(":")
    with suppress(OSError):
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
        except ConnectionRefusedError:
            return True
    return False
