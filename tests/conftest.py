"""Fixtures for all tests, the tests that `make check` runs, and what is said of those that skip."""

import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from branchwise.corpora.loaders.source import TOLD
from support import quick
from support.chat_server import ChatServer
from support.needs import DATA, HAS_DATA, needs_data

# Imports and the collecting of tests make millions of objects that stay.
gc.set_threshold(10_000)

# Deterministic, and without hypothesis's time limit: it fails on a busy machine.
settings.register_profile("branchwise", deadline=None, derandomize=True, database=None)
settings.load_profile("branchwise")
# Else examples hold constants of the modules that were loaded before: in another order, others.
providers.is_local_module_file = lambda _: False

# No test sends anything to the server of whoever runs them.
os.environ.pop("OPENAI_BASE_URL", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run the tests of `make check` only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    quick.mark(items)
    if config.getoption("--quick"):
        items[:], left_out = quick.split(items)
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    # What is there now stays: the collector need not look through it again and again.
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.config.getoption("--quick"):
        quick.forbid()


@pytest.fixture(autouse=True)
def _told_anew() -> None:
    TOLD.clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", ())]
    parts = Counter(re.sub(r"^Skipped: ", "", reason) for reason in reasons)
    if parts:
        said = ", ".join(f"{count} {reason}" for reason, count in sorted(parts.items()))
        terminalreporter.write_line(f"{parts.total()} skipped: {said}")


@pytest.fixture(scope="session")
def process() -> None:
    """For fixtures and tests that start a process, or kill one."""


@pytest.fixture(scope="session")
def terminal(process: None) -> None:
    """For those that drive the trace app, or start a program in a terminal."""


@pytest.fixture(scope="session")
def encoder() -> None:
    """For those that load an encoder's weights."""


@pytest.fixture(scope="session")
def condambigqa_dir() -> Path:
    """The folder of the published CondAmbigQA files."""
    if not HAS_DATA:
        pytest.skip(needs_data.kwargs["reason"])
    return DATA / "condambigqa"


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A scripted chat-completions server; see tests/support/chat_server.py."""
    from branchwise.agents.refusals import forget_refusals

    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    # A port may be one that another test's server refused something at.
    forget_refusals()
    server = ChatServer().start()
    yield server
    server.stop()


@pytest.fixture
def type_in(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command line; return its exit code, standard output and standard error."""
    from branchwise.__main__ import main
    from branchwise.report.terminal.console import console, error_console

    def call_main(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["branchwise", *map(str, arguments)])
        console.cache_clear()
        error_console.cache_clear()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capfd.readouterr()
        return code, said.out, said.err

    return call_main
