"""The options of `branchwise run` and `branchwise resume`."""

from pathlib import Path
from typing import Annotated

import typer

from branchwise.agents.headers import read_headers
from branchwise.commands.declared_options import (
    DryRun,
    EstimateFrom,
    check_forecast,
    is_given,
    with_options,
)
from branchwise.commands.options import (
    QUESTIONS,
    AsJson,
    Field,
    Header,
    Key,
    RetryFailed,
    Separator,
    read_keys,
)
from branchwise.graphs.system import System
from branchwise.runs.options import PaceOptions, RunOptions, ScoreOptions


@with_options
def run(
    *,
    questions: Annotated[
        list[str],
        typer.Option(help=f"Question set, repeatable, each a run of its own: {QUESTIONS}."),
    ],
    field: Field = None,
    separator: Separator = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Run folder to make, or a study's of several sets. Default: runs/TIME."),
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(help="File with question ids, one a line: run only these.")
    ] = None,
    options: RunOptions,
    dry_run: DryRun = False,
    estimate_from: EstimateFrom = None,
    json_output: AsJson = False,
    scoring: ScoreOptions,
    system: System,
) -> None:
    """Answer a question set with a system and score it; of several, each and all together.

    Example: branchwise run --questions q.jsonl --corpus C --model openai:gpt-6-luna --out R
    """
    check_forecast(options.pilot, estimate_from, dry_run=dry_run)
    from branchwise.commands.running import RunRequest  # help does not need it
    from branchwise.commands.studies import answer

    asked = RunRequest(
        ids,
        system,
        options,
        scoring,
        out=out,
        forecast_from=estimate_from,
        is_forecast=dry_run,
        names_model=is_given("model"),
        as_json=json_output,
    )
    answer(questions, field or (), separator, asked)


@with_options
def resume(
    *,
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run, or study, to continue.")],
    corpus: Annotated[
        Path | None, typer.Option(help="Where the run's corpus is now, if it has moved.")
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(help="The same retriever elsewhere: http:URL, flashrag:FILE or file.py:NAME."),
    ] = None,
    reranker: Annotated[
        Path | None, typer.Option(help="Where the run's cross-encoder is now, if it has moved.")
    ] = None,
    kg: Annotated[
        str | None, typer.Option(help="Where the run's graph is now, if it has moved.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The same model at another address: openai:NAME@URL.")
    ] = None,
    expander: Annotated[
        str | None, typer.Option(help="The same expander at another address.")
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="The same extractor at another address.")
    ] = None,
    checker: Annotated[
        str | None, typer.Option(help="The same checker at another address.")
    ] = None,
    key: Key = None,
    header: Header = None,
    retry_failed: RetryFailed = False,
    pace: PaceOptions,
    json_output: AsJson = False,
) -> None:
    """Continue a run or study that was killed or interrupted; nothing recorded is asked for again.

    Exits with 1 if items failed, of this pass or an earlier one.

    Example: branchwise resume runs/20260102-150405
    """
    from branchwise.commands.studies import proceed

    proceed(
        path,
        pace,
        read_keys(key),
        as_json=json_output,
        corpus=corpus,
        retriever=retriever,
        reranker=reranker,
        kg=kg,
        model=model,
        expander=expander,
        extractor=extractor,
        checker=checker,
        headers=read_headers(header or ()),
        retry_failed=retry_failed,
    )
