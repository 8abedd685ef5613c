"""`branchwise verify`, `recover`, `merge` and `export`: run folders as a whole."""

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from branchwise.base.atomic import new_file
from branchwise.base.errors import InputError
from branchwise.base.text import counted, printable
from branchwise.commands.options import Field, Separator, read_questions
from branchwise.commands.question_files import check_place
from branchwise.corpora.loaders import load_questions
from branchwise.report.terminal.console import console, echo, harmless_json, output
from branchwise.runs.store import RunReader, open_run
from branchwise.runs.store.merging import Recovery, merge_runs
from branchwise.runs.store.verifying import verify_run
from branchwise.runs.studies.folder import folder_runs, recover_folder

_MAX_NAMED = 10
_ROWS = ("question", "response", "event", "passage", "judgement")

JsonPerRun = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per run, one per line.")
]


def verify(
    paths: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of runs, studies or forks.")
    ],
    json_output: JsonPerRun = False,
) -> None:
    """Say whether each run is whole. Writes nothing. Exits with 1 if one is damaged.

    Example: branchwise verify runs/base runs/other
    """
    are_whole = True
    for path in paths:
        for run, expected in folder_runs(path):
            verdict = verify_run(run, system_digest=expected)
            are_whole = are_whole and verdict.is_whole
            words = f"whole, {verdict.ended} of {verdict.items} items have ended"
            if not verdict.is_whole:
                more = len(verdict.problems) - 3
                problems = "; ".join(verdict.problems[:3]) + f"; and {more} more" * (more > 0)
                words = f"damaged, {verdict.share}: {problems}"
            _print(verdict.to_json() if json_output else [f"{run}: {words}"])
    sys.exit(int(not are_whole))


def recover(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run or study; it is only read.")],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    questions: Annotated[
        str | None, typer.Option(help="The run's own question set, for questions that are lost.")
    ] = None,
    field: Field = None,
    separator: Separator = None,
    json_output: JsonPerRun = False,
) -> None:
    """Save every whole item of a damaged run, with its trace and responses, into a new run, and the
    intact responses of the other items. `branchwise resume` then asks only for what is lost. A
    study's folder is saved run by run.

    Example: branchwise recover runs/base --out runs/saved
    """
    given = None
    if questions:
        given = load_questions(read_questions(questions, field, separator), require_gold=False)
    for recovery in recover_folder(path, out, given):
        _print(recovery.to_json() if json_output else _recovery_lines(recovery))


def _recovery_lines(recovery: Recovery) -> Iterator[str]:
    saved, again = recovery.saved, recovery.begun_again
    yield f"{recovery.run}: {saved['items']} of {counted(recovery.items, 'item')} saved whole"
    yield f"  saved: {', '.join(counted(saved[f'{row}s'], row) for row in _ROWS)}"
    if given := recovery.questions_given:
        yield f"  questions given again: {len(given)} ({_listed(given)})"
    if again:
        ids = [f"{id} (epoch {epoch})" if epoch else id for id, epoch in again]
        yield f"  items that begin again: {len(again)} ({_listed(ids)})"
        if recovery.responses_lost:
            yield f"  lost responses of theirs: {recovery.responses_lost}"
    for table, count in recovery.damaged.items():
        yield f"  damaged rows of {table}: {count}"
    command = "resume" if saved["items"] < recovery.items else "score"
    yield f"continue with: branchwise {command} {shlex.quote(str(recovery.run))}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"


def _print(output: dict[str, Any] | Iterable[str]) -> None:
    if isinstance(output, dict):
        echo(harmless_json(orjson.dumps(output).decode()))
        return
    for line in output:
        console().print(printable(line), markup=False, soft_wrap=True)


def merge(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs of one system over different questions."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
) -> None:
    """Join runs, such as those of `run --shard I/N`, into one new run; they are only read.

    Example: branchwise merge S1 S2 S3 S4 --out S
    """
    merge_runs(paths, out)
    with closing(open_run(out)) as reader:
        counts = reader.progress()
    ended = counts["done"] + counts["failed"]
    command = "resume" if counts["pending"] else "report"
    items = counted(counts["total"], "item")
    next_line = f"  branchwise {command} {shlex.quote(str(out))}"
    _print([f"{out}: {ended} of {items} have ended", "Next:", next_line])


def export(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")],
    out: Annotated[
        Path | None, typer.Option(help="File to write. Default: standard output.")
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Include every step of the traces.")
    ] = False,
) -> None:
    """Write one JSON line per item: question, gold, prediction, evidence, error, usage.

    The lines hold "id" and "answers", so `branchwise score --predictions` reads them back.

    Example: branchwise export runs/first --out items.jsonl
    """
    if out is not None:
        check_place(out)
    with closing(open_run(path)) as reader:
        reader.check_file()
        lines = export_lines(reader, with_events=events)
        if out is None:
            for line in lines:
                output().buffer.write(harmless_json(line.decode()).encode())
            # Here, because a full disk could no longer be reported at the very end.
            output().buffer.flush()
            return
        try:
            with new_file(out) as file:
                file.writelines(lines)
        except OSError as error:
            problem = f"cannot be written ({error.strerror})"
            raise InputError(problem, where=str(out), remedy="choose another --out") from error
        echo(f"{out}: {counted(reader.progress()['total'], 'item')}")


def export_lines(reader: RunReader, *, with_events: bool = False) -> Iterator[bytes]:
    """A JSON line for each item that has ended, in order, as `score --predictions` reads them."""
    for row in reader.items():
        if row.outcome is None:
            continue
        outcome, question = dict(row.outcome), row.question
        prediction = outcome.pop("prediction", {})
        output = prediction.get("task_output")
        gold = question.model_dump(mode="json", include={"ambiguous", "branches", "alternatives"})
        record = {
            "id": question.id,
            "question": question.question,
            "epoch": row.epoch,
            "status": row.status,
            "reasoning": prediction.get("reasoning", ""),
            "answers": prediction.get("answers", {}),
            "citations": prediction.get("citations", {}),
            **({"task_output": output} if output is not None else {}),
            "gold": gold,
            **outcome,
        }
        if with_events:
            record["events"] = [event.record() for event in reader.events(row.item)]
        yield orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
