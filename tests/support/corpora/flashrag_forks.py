"""FlashRAG's processes as forks of one that has imported it, which takes five seconds."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PLACE = "FLASHRAG_FORKS"
"""The variable that holds the path of the socket on which forks are asked for."""
_END = b"end"
_SERVE = """
import sys
import torch
import flashrag.config, flashrag.utils
import flashrag.retriever.index_builder
from support.corpora.flashrag_forks import fork_for_each
fork_for_each(int(sys.argv[1]))
"""


@contextlib.contextmanager
def forks(path: Path) -> Iterator[None]:
    """Import FlashRAG in a process that forks for each that asks at the socket `path`."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        command = [sys.executable, "-P", "-c", _SERVE, str(listening.fileno())]
        server = subprocess.Popen(command, pass_fds=[listening.fileno()], stderr=subprocess.DEVNULL)
    yield
    with contextlib.suppress(ConnectionError), socket.socket(socket.AF_UNIX) as last:
        last.connect(str(path))
        last.send(_END)
    server.wait()


def fork_for_each(number: int) -> None:
    """Fork for each that asks, until one asks for the end and all forks have ended."""
    with socket.socket(fileno=number) as listening:
        while True:
            asking, _ = listening.accept()
            words, streams, _, _ = socket.recv_fds(asking, 65536, 3)
            if words == _END:
                break
            # One that was killed before it asked sends nothing.
            if words and os.fork() == 0:
                listening.close()
                _become(asking, words, streams)
            for one in (asking.detach(), *streams):
                os.close(one)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _become(asking: socket.socket, words: bytes, streams: Sequence[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    try:
        _work(*json.loads(words))
        asking.send(b"done")
    finally:
        os._exit(0)


def _work(*build: str) -> None:
    if not build:
        from branchwise.corpora.flashrag_worker import main

        return main()
    from flashrag.retriever.index_builder import Index_Builder

    method, model, corpus, out = build
    settings = {"faiss_type": "Flat", "bm25_backend": "bm25s"}
    Index_Builder(method, model or None, corpus, out, 180, 512, False, **settings).build_index()
    return None


if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(os.environ[PLACE])
        socket.send_fds(server, [json.dumps(sys.argv[1:]).encode()], [0, 1, 2])
        sys.exit(server.recv(4) != b"done")
