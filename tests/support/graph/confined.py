"""What a query process can still do: `python confined.py FOLDER LAYERS ADDRESS`.

Seals itself as query processes do, with the layers that the kernel is said to have, opens the graph
in the folder, and tries. A line of JSON: for each attempt whether it went well.
"""

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyoxigraph import Store

from branchwise.corpora.graph.processes import confinement

_GROUPS = "SELECT ?kind (COUNT(*) AS ?n) { ?thing ?kind ?next } GROUP BY ?kind"
_JOINS = "SELECT ?c { ?a <urn:kind:0> ?b . ?b <urn:kind:1> ?c }"


def attempts(store: Store, address: str) -> dict[str, Callable[[], Any]]:
    host, port = "127.0.0.1", int(address.rpartition(":")[2].strip("/"))
    return {
        "group": lambda: len(list(store.query(_GROUPS))) == 3 or _fail(),
        "join": lambda: len(list(store.query(_JOINS))) == 5 or _fail(),
        "service": lambda: list(store.query(f"SELECT * {{ SERVICE <{address}> {{ ?a ?b ?c }} }}")),
        "load": lambda: Store().update(f"LOAD <{address}>"),
        "connect": lambda: socket.socket().connect((host, port)),
        "datagram": lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", (host, port)),
        "local socket": lambda: socket.socket(socket.AF_UNIX),
        "read another file": lambda: Path("/etc/passwd").read_text(),
        "list another folder": lambda: list(Path("..").iterdir()),
        "write in the graph": lambda: Path("graph.json").open("r+").write("{}"),
        "make a file": lambda: Path("made").write_text(""),
        "delete": lambda: Path("graph.json").unlink(),
        "start a process": _start,
        "signal another": lambda: os.kill(os.getppid(), 0),
        "io_uring": lambda: (
            ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(200)) >= 0 or _fail()
        ),
    }


def _start() -> None:
    if os.fork() == 0:
        os._exit(0)


def _fail() -> None:
    raise OSError("no answer")


def _goes_well(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def main(folder: str, layers: str, address: str) -> None:
    if "landlock" not in layers:
        confinement.leave_only = lambda _: False
    if "seccomp" not in layers:
        confinement.refuse_calls = lambda: False
    confinement.allow_all_files()
    os.chdir(folder)
    limit = confinement.seal(Path(), in_memory=False)
    store = Store.read_only("store")
    limit(2**28)
    tried = {name: _goes_well(attempt) for name, attempt in attempts(store, address).items()}
    if "seccomp" in layers:  # else this process would be that program
        tried["run a program"] = _goes_well(lambda: os.execv("/bin/sh", ["sh", "-c", "exit 9"]))
    json.dump(tried, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
