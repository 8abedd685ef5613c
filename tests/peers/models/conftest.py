"""A model server as others wrote it, a counting proxy before it, and a small corpus to search."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from branchwise.agents import refusals, restraints
from branchwise.agents.decoding import Decoding
from branchwise.graphs.budget import Budget
from branchwise.graphs.system import System
from support.corpora.small import FILMS, bm25_corpus
from support.peers.counting_proxy import CountingProxy
from support.peers.servers import PEERS, Peer, Served, running


@pytest.fixture(scope="module", params=PEERS, ids=lambda peer: peer.name)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """Each server that is installed, once a module."""
    peer: Peer = request.param
    if not peer.is_installed:
        pytest.skip(f"{peer.name} is not installed: tests/peers/models/install.sh {peer.name}")
    folder = tmp_path_factory.mktemp(peer.name)
    with running(peer, folder) as address:
        yield Served(peer, address, folder)


@pytest.fixture
def proxy(served: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingProxy]:
    """A counting proxy before the server, of which nothing is known yet; retries do not wait."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
    refusals.forget_refusals()
    made = CountingProxy(served.address).start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bm25_corpus(tmp_path_factory.mktemp("corpus"), FILMS)


@pytest.fixture
def questions(tmp_path: Path) -> Callable[..., str]:
    """Writes as many questions, each with some words behind it."""

    def write(count: int, behind: str = "") -> str:
        path = tmp_path / "questions.jsonl"
        lines = [
            {
                "id": f"q{n}",
                "question": f"{n}: who directed Heat? {behind}",
                "answers": {"Heat (1995 film)": ["Michael Mann"], "Heat (1986 film)": ["Reynolds"]},
            }
            for n in range(count)
        ]
        path.write_text("\n".join(map(json.dumps, lines)))
        return str(path)

    return write


@pytest.fixture
def system(served: Served, proxy: CountingProxy, corpus: Path) -> Callable[..., System]:
    """Makes a system on the server's usual model, or another; keywords are decoding settings."""

    def make(model: str | None = None, *, modules: bool = False, **decoding: Any) -> System:
        name = (model or served.peer.model).format(folder=served.folder)
        patience = {"attempts": 2, "timeout": 300.0, "max_tokens": 24}
        return System(
            model=f"openai:{name}@{proxy.url}",
            tools=("local_retriever",),
            corpus=str(corpus),
            k=2,
            expand=modules,
            extract=modules,
            decoding=Decoding(**{**patience, **decoding}),
            budget=Budget(turns=3),
        )

    return make
