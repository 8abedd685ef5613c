"""`branchwise verify`: whether runs are whole."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.text import printable
from branchwise.report.terminal.console import console, echo, harmless_json
from branchwise.runs.store.verifying import Verdict, verify_run
from branchwise.runs.studies.archive import folder_runs


def verify(
    paths: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of runs, studies or forks.")
    ],
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per run, one per line.")
    ] = False,
) -> None:
    """Say whether each run is whole. Writes nothing. Exits with 1 if one is damaged.

    Example: branchwise verify runs/base runs/other
    """
    found = []
    for path in paths:
        for run, expected in folder_runs(path):
            found.append(verify_run(run, system_digest=expected))
            _print(found[-1], as_json=json_output)
    sys.exit(int(not all(verdict.is_whole for verdict in found)))


def _print(verdict: Verdict, *, as_json: bool) -> None:
    import orjson

    if as_json:
        echo(harmless_json(orjson.dumps(verdict.to_json()).decode()))
        return
    line = f"{verdict.run}: {_words(verdict)}"
    console().print(printable(line), markup=False, soft_wrap=True)


def _words(verdict: Verdict) -> str:
    if verdict.is_whole:
        return f"whole, {verdict.ended} of {verdict.items} items have ended"
    problems = "; ".join(verdict.problems[:3])
    more = len(verdict.problems) - 3
    return f"damaged, {verdict.share}: {problems}{f'; and {more} more' if more > 0 else ''}"
