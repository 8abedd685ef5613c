"""`branchwise recover`: save what is intact in a damaged run."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.text import counted, printable
from branchwise.commands.options import Field, Separator, read_questions
from branchwise.corpora.loaders import load_questions
from branchwise.report.terminal.console import console, echo, harmless_json
from branchwise.runs.store.salvage import Recovery
from branchwise.runs.studies.archive import recover_folder

_MAX_NAMED = 10
_KINDS = ("question", "response", "event", "passage", "judgement")


def recover(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run or study; it is only read.")],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    questions: Annotated[
        str | None, typer.Option(help="The run's own question set, for questions that are lost.")
    ] = None,
    field: Field = None,
    separator: Separator = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per run, one per line.")
    ] = False,
) -> None:
    """Save every whole item of a damaged run, with its trace and responses, into a new run, and the
    intact responses of the other items. `branchwise resume` then asks only for what is lost. A
    study's folder is saved run by run.

    Example: branchwise recover runs/base --out runs/saved
    """
    given = None
    if questions:
        named = read_questions(questions, field, separator)
        given = load_questions(named, require_gold=False)
    for recovery in recover_folder(path, out, given):
        _print(recovery, as_json=json_output)


def _print(recovery: Recovery, *, as_json: bool) -> None:
    import orjson

    if as_json:
        echo(harmless_json(orjson.dumps(recovery.to_json()).decode()))
        return
    for line in _lines(recovery):
        console().print(printable(line), markup=False, soft_wrap=True)


def _lines(recovery: Recovery) -> Iterator[str]:
    saved, again = recovery.saved, recovery.begun_again
    yield f"{recovery.run}: {saved['items']} of {counted(recovery.items, 'item')} saved whole"
    yield f"  saved: {', '.join(counted(saved[f'{kind}s'], kind) for kind in _KINDS)}"
    if given := recovery.questions_given:
        yield f"  questions given again: {len(given)} ({_named(given)})"
    if again:
        ids = [f"{id} (epoch {epoch})" if epoch else id for id, epoch in again]
        yield f"  items that begin again: {len(again)} ({_named(ids)})"
        if recovery.responses_lost:
            yield f"  lost responses of theirs: {recovery.responses_lost}"
    for table, count in recovery.damaged.items():
        yield f"  damaged rows of {table}: {count}"
    if saved["items"] < recovery.items:
        yield f"continue with: branchwise resume {shlex.quote(str(recovery.run))}"
    else:
        yield f"continue with: branchwise score {shlex.quote(str(recovery.run))}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"
