"""Where `--on` says that items are answered, and the connection to it."""

import asyncio
import logging
import os
import re
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from branchwise.base.errors import InputError, require
from branchwise.base.process import usable_cores

LOCAL, CLUSTER = "ray", "ray://"
OPTION = "--on"
_STORE_BYTES = 256 * 2**20
"""Ray's shared memory on this machine: messages only pass through it."""
_CONNECT_SECONDS = 5.0
_STARTS = 3
"""Ray gives its own processes half a minute, which a busy machine may not keep."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",
    "RAY_ENABLE_AUTO_CONNECT": "0",
}
"""Read when Ray is imported, which would report each start to its makers, write of dead workers
among a command's results, and start a Ray of its own where a cluster is lost."""


@dataclass(frozen=True)
class RayPlace:
    """A Ray of this machine (`address` None) or a cluster; `workers` None: one a core."""

    address: str | None = None
    workers: int | None = None

    @classmethod
    def parse(cls, text: str, workers: int | None = None) -> "RayPlace":
        """Read `ray` or `ray://HOST:PORT`. Raises InputError, also where Ray is not installed."""
        remedy = f"name {LOCAL} or {CLUSTER}HOST:PORT"
        if text != LOCAL and not text.startswith(CLUSTER):
            raise InputError(f"{text[:60]!r} is not a place to run", where=OPTION, remedy=remedy)
        try:
            parts = urlsplit(text)
            if text != LOCAL and not (parts.hostname and parts.port):
                raise ValueError
        except ValueError:
            raise InputError(
                f"{text[:60]!r} has no host and port", where=OPTION, remedy=remedy
            ) from None
        require("ray", text, where=OPTION)
        return cls(None if text == LOCAL else parts.netloc, workers)

    @property
    def words(self) -> str:
        return f"Ray at {self.address}" if self.address else "Ray on this machine"

    @contextmanager
    def connected(self) -> Iterator[int]:
        """Yields the number of workers to start; a process that has a connection keeps it."""
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        import ray

        if self.address is not None:
            # At once, where Ray's own client tries for half a minute.
            try:
                _reach(self.address)
            except OSError as error:
                problem = f"no Ray server answers at {self.address} ({error.strerror or error})"
                check = "check the address (the client's port is 10001 by default)"
                remedy = f"{check}, or start it: ray start --head"
                raise InputError(problem, where=OPTION, remedy=remedy) from None
        begun = ray.is_initialized()
        if not begun:
            self._connect()
        try:
            yield self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        finally:
            if not begun:
                ray.shutdown()

    def _connect(self) -> None:
        import ray

        tries = _STARTS if self.address is None else 1
        for left in reversed(range(tries)):
            try:
                with warnings.catch_warnings():
                    # What they say, the error says as well.
                    warnings.simplefilter("ignore")
                    ray.init(**self._settings, log_to_driver=False, logging_level=logging.CRITICAL)
                return
            except Exception as error:  # noqa: BLE001 - of gRPC, of versions, of Ray
                ray.shutdown()
                if not left:
                    raise self._no_connection(error) from None

    @property
    def _settings(self) -> dict[str, Any]:
        if self.address is not None:
            return {"address": CLUSTER + self.address}
        # Ray counts all cores of a machine, and knows how much of them a container is given.
        usable = usable_cores()
        fewer = usable if usable < (os.cpu_count() or 1) else None
        return {
            "address": "local",
            "num_cpus": self.workers or fewer,
            "include_dashboard": False,
            "object_store_memory": _STORE_BYTES,
        }

    def _no_connection(self, error: Exception) -> InputError:
        if self.address is None:
            problem = f"Ray did not start on this machine ({one_line_of(error)})"
            remedy = "try it again when the machine is less busy, or leave out --on"
            return InputError(problem, where=OPTION, remedy=remedy)
        problem = f"{self.words} refuses the connection ({one_line_of(error)})"
        nodes = "use the Python and Ray of the cluster's nodes"
        remedy = f"{nodes} and, if it asks for a token, its own (RAY_AUTH_MODE=token)"
        return InputError(problem, where=OPTION, remedy=remedy)


def one_line_of(error: BaseException) -> str:
    """What an error of Ray's, or of gRPC, says, in short."""
    text = str(error)
    if details := re.search(r'details = "([^"\n]+)', text):
        return details[1][:300]
    lines = [line.strip() for line in text.splitlines() if len(line.strip()) > 1]
    return (lines[-1] if lines else type(error).__name__)[:300]


_LOOKS = 4
"""Refusals in a row of a head that is gone: one that is made to come back may need a moment."""
_BETWEEN_LOOKS = 3.0


async def until_gone(address: str) -> None:
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
    try:
        _reach(address)
    except OSError as error:  # without a free port here, nothing is known of the head
        return isinstance(error, ConnectionRefusedError)
    return False


def _reach(address: str) -> None:
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
