"""A Virtuoso server of its own, in a folder of its own, on ports that were free."""

import ctypes
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Self

INSTALL = "apt-get install --no-install-recommends virtuoso-opensource-7"
KG = "http://world.example/"
MOST_ROWS = 900
_TRIES = 5
_PR_SET_PDEATHSIG = 1
_SETTINGS = """\
[Database]
DatabaseFile = v.db
ErrorLogFile = v.log
LockFile = v.lck
TransactionFile = v.trx
xa_persistent_file = v.pxa
FileExtend = 200
[TempDatabase]
DatabaseFile = t.db
TransactionFile = t.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
DisableUnixSocket = 1
ServerThreads = 10
CheckpointInterval = 0
NumberOfBuffers = 10000
MaxDirtyBuffers = 6000
DirsAllowed = .
[HTTPServer]
ServerPort = 127.0.0.1:{http}
ServerThreads = 5
[SPARQL]
ResultSetMaxRows = {rows}
MaxQueryCostEstimationTime = 400
MaxQueryExecutionTime = 40
"""


def missing() -> str:
    """Why there is no server here; "" where there is."""
    if shutil.which("virtuoso-t") and shutil.which("isql-vt"):
        return ""
    return f"Virtuoso is not installed: {INSTALL}"


class Virtuoso:
    """Holds the triples of one file, in the graph `GRAPH`. Ends with this process."""

    def __init__(self, folder: Path, nt_gz: Path) -> None:
        self._folder, self._triples = folder, nt_gz

    @property
    def address(self) -> str:
        """Of the endpoint, asked for the one graph only; the others are the server's own."""
        return f"http://127.0.0.1:{self._http}/sparql?default-graph-uri={KG}"

    @property
    def version(self) -> str:
        found = re.search(r"Version ([\d.]+)", (self._folder / "v.log").read_text())
        return found[1] if found else "?"

    def __enter__(self) -> Self:
        self._process = next(filter(None, (self._start() for _ in range(_TRIES))))
        shutil.copyfile(self._triples, self._folder / "g.nt.gz")
        loaded = self._sql(
            f"ld_dir('.', 'g.nt.gz', '{KG}'); rdf_loader_run(); "
            "SELECT 'ended', ll_state, ll_error FROM load_list;"
        )
        assert re.search(r"ended\s+2\s+NULL", loaded), loaded
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def _start(self) -> subprocess.Popen[str] | None:
        """The server, answering; None where somebody took one of its ports meanwhile."""
        self._sql_port, self._http = _free_ports(2)
        settings = _SETTINGS.format(sql=self._sql_port, http=self._http, rows=MOST_ROWS)
        (self._folder / "v.ini").write_text(settings)
        process = subprocess.Popen(
            ["virtuoso-t", "+configfile", "v.ini", "+foreground"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_ends_with(ctypes.CDLL(None)),
        )
        assert process.stderr is not None
        for line in process.stderr:
            if "Server online at" in line:
                return process
        process.communicate()
        return None

    def _sql(self, statements: str) -> str:
        command = ["isql-vt", f"127.0.0.1:{self._sql_port}", "dba", "dba", f"exec={statements}"]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=True)
        return done.stdout


def _ends_with(library: ctypes.CDLL) -> Callable[[], None]:
    return lambda: library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports
