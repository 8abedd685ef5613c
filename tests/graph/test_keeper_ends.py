"""The keeper of query processes ends with its host, also while it loads a graph."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("process")

LOADS_FOR_EVER = """
import sys
from branchwise.corpora.graph.processes import worker

worker.open_holdings = lambda *_: open(sys.argv[1]).read()
worker.main(["-", "0", "0", ""])
"""


def test_a_keeper_that_loads_a_graph_ends_with_its_host(tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    os.mkfifo(graph)
    host, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-c", LOADS_FOR_EVER, str(graph)]
        keeper = subprocess.Popen(command, stdin=theirs.fileno())
    with keeper, graph.open("wb"):  # opens when it is read: nothing will ever come
        host.close()
        assert keeper.wait() == -signal.SIGIO
