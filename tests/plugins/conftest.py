"""A corpus, and runs with nodes."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from support.chat_server import ChatServer
from support.plugins.node_cases import NodeRun, make_corpus, run_nodes
from support.plugins.tool_cases import write_tools


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A corpus of five passages."""
    return make_corpus(tmp_path_factory.mktemp("five"))


@pytest.fixture
def play(chat_server: ChatServer, tmp_path: Path, five: str) -> Callable[..., NodeRun]:
    """Runs one question with nodes: `play(code, "name", ..., script=...)`."""

    def started(code: str, *names: str, **more: object) -> NodeRun:
        return run_nodes(chat_server, tmp_path, five, code, *names, **more)  # type: ignore[arg-type]

    return started


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Puts a package with entry points where Python finds it, as pip would."""

    def installed(
        name: str,
        code: str,
        points: Mapping[str, str],
        version: str = "1.0",
        group: str = "branchwise.tools",
    ) -> Path:
        site = tmp_path / "site"
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        write_tools(site, code, f"{name}.py")
        info.joinpath("METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        lines = [f"{point} = {name}:{target}" for point, target in points.items()]
        info.joinpath("entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        info.joinpath("top_level.txt").write_text(name)
        if str(site) not in sys.path:
            monkeypatch.syspath_prepend(site)
        return info

    yield installed
    for name in [name for name in sys.modules if name.startswith("bw_plug")]:
        del sys.modules[name]
