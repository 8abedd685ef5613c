"""`branchwise report`: one table for one run or several."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from branchwise.eval.scores import Scores


def report(
    paths: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run folders.")],
    json_output: Annotated[
        bool, typer.Option("--json", help="Print the aggregates as JSON, one entry a run.")
    ] = False,
) -> None:
    """Show the scores of one run, or of several beside each other.

    Example: branchwise report runs/base runs/expanded
    """
    runs = [(path, _read(path)) for path in paths]
    _warn_if_not_comparable([scores for _, scores in runs])
    if json_output:
        from branchwise.ui.console import printable_json

        typer.echo(printable_json([{"path": str(p), **_summary(scores)} for p, scores in runs]))
        return
    from branchwise.ui.console import console
    from branchwise.ui.report_table import report_tables

    for table in report_tables(list(zip(_labels(paths), [s for _, s in runs], strict=True))):
        console().print(table)


def warn_if_pending(path: Path) -> None:
    """Say on standard error that a run is not whole. Raises InputError where nothing has ended."""
    from branchwise.corpora.errors import InputError
    from branchwise.eval.store import open_run
    from branchwise.ui.console import error_console

    reader = open_run(path)
    try:
        counts = reader.progress()
    finally:
        reader.close()
    if counts["pending"] == counts["total"]:
        raise InputError(
            "no item has ended yet", where=str(path), remedy=f"go on: branchwise resume {path}"
        )
    if counts["pending"]:
        error_console().print(
            f"{path}: {counts['pending']} of {counts['total']} items have not ended and are not "
            f"counted; go on with: branchwise resume {path}",
            markup=False,
            soft_wrap=True,
        )


def _read(path: Path) -> "Scores":
    from branchwise.eval.scoring import read_scores

    warn_if_pending(path)
    return read_scores(path)


def _warn_if_not_comparable(runs: Sequence["Scores"]) -> None:
    from branchwise.ui.console import error_console

    if len({frozenset(item.id for item in scores.items) for scores in runs}) > 1:
        error_console().print(
            "The runs do not hold the same questions: their means are not comparable.",
            soft_wrap=True,
        )


def _summary(scores: "Scores") -> dict[str, object]:
    return {key: value for key, value in scores.to_json().items() if key != "items"}


def _labels(paths: list[Path]) -> list[str]:
    """Folder names, or whole paths where two folders have the same name."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]
