"""Commands as a user types them, run in this process."""

import functools
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    """How a command ended: its exit code and what it wrote."""

    code: int
    out: str
    err: str


def typed(*arguments: object) -> Ended:
    """Run `branchwise ARGUMENTS`. What it raises past `main` is raised here."""
    from branchwise.__main__ import main

    _build_once()
    code = 0
    with _streams(["branchwise", *map(str, arguments)]) as (out, err):
        try:
            main()
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else int(bool(exit.code))
        return Ended(code, _read(out), _read(err))


def typed_well(*arguments: object) -> Ended:
    """The same where it has to succeed: what inputs are made from."""
    ended = typed(*arguments)
    if ended.code:
        raise RuntimeError(f"{arguments} ended with {ended.code}: {ended.err[-2000:]}")
    return ended


@functools.cache
def _build_once() -> None:
    """Typer builds its commands anew for each call, which takes longer than most inputs."""
    import typer.main

    from branchwise import cli

    cli.app = typer.main.get_command(cli.app)  # type: ignore[assignment]


@contextmanager
def _streams(argv: list[str]) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Standard streams as a pipe has them: strict UTF-8 out, nothing to read."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(
        io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True
    )
    with Path("/dev/null").open() as nothing:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = argv, nothing, out, err
        try:
            yield out, err
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr = before


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")
