"""`branchwise corpus eval`: how well retrievers rank the passages that questions need."""

from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.base.text import printable
from branchwise.commands.options import (
    QUESTIONS,
    AsJson,
    Field,
    Key,
    Separator,
    read_keys,
    read_questions,
)
from branchwise.commands.report_files import CsvFolder, write_folder
from branchwise.corpora.folder import Corpus
from branchwise.corpora.judgements import read_judgements
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.manifest import index_names
from branchwise.corpora.open import open_retriever
from branchwise.corpora.questions import Question
from branchwise.corpora.retrieval import RetrieverError
from branchwise.eval.retrieval_evaluation import (
    DEFAULT_MEASURES,
    RankingMeasure,
    RetrievalEvaluation,
    evaluate_retrievers,
    judged_queries,
)
from branchwise.report.exports import csv_files
from branchwise.report.terminal.console import echo
from branchwise.report.terminal.progress import ProgressBar
from branchwise.report.terminal.retrieval_tables import as_json, print_evaluation, tables

MeasureNames = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME@K",
        help="nDCG, MRR, recall, precision, MAP or success at K; repeatable. Default: nDCG@10, "
        "MRR@10, recall@3, recall@10 and recall@50.",
    ),
]


def evaluate(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Corpus folder.")],
    questions: Annotated[
        str | None,
        typer.Option(
            help=f"Questions whose gold support, or judged passages, are to be found: {QUESTIONS}, "
            "such as beir:DIR."
        ),
    ] = None,
    field: Field = None,
    separator: Separator = None,
    qrels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Relevance judgements, as BEIR's or TREC's, in place of the questions' own. "
            "Without --questions, a file of a BEIR folder.",
        ),
    ] = None,
    retriever: Annotated[
        list[str] | None,
        typer.Option(
            help="An index, hybrid, http:URL, flashrag:FILE or a plug-in; repeatable. Default: "
            "every index of the corpus."
        ),
    ] = None,
    measure: MeasureNames = None,
    limit: Annotated[int | None, typer.Option(help="Only the first questions.", min=1)] = None,
    key: Key = None,
    csv: CsvFolder = None,
    json_output: AsJson = False,
) -> None:
    """Score the rankings of retrievers against gold support or relevance judgements.

    Example: branchwise corpus eval C --questions q.jsonl --retriever bm25 --retriever flat
    """
    try:
        if questions is None and qrels is None:
            raise InputError("there is nothing to find", remedy="add --questions or --qrels")
        # A file of a BEIR folder alone stands for the questions that it judges.
        source = read_questions(questions or f"beir:{qrels}", field, separator)
        asked = load_questions(source, require_gold=False).questions[:limit]
        evaluation = _evaluated(path, asked, qrels, retriever, measure, key)
    except RetrieverError as error:
        typer.echo(f"branchwise: the retriever failed: {printable(str(error))}", err=True)
        raise typer.Exit(1) from None
    if csv:
        write_folder(csv, csv_files(tables(evaluation)))
    if json_output:
        echo(as_json(evaluation))
        return
    print_evaluation(evaluation, str(path))
    if csv:
        echo(f"written: {csv}")


def _evaluated(
    path: Path,
    questions: tuple[Question, ...],
    qrels: Path | None,
    retrievers: list[str] | None,
    measures: list[str] | None,
    key: list[str] | None,
) -> RetrievalEvaluation:
    chosen = [*dict.fromkeys(map(RankingMeasure.parse, measures or DEFAULT_MEASURES))]
    corpus, keys = Corpus.open(path), read_keys(key)
    queries = judged_queries(questions, read_judgements(qrels) if qrels else None)
    names: list[str | None] = [*(retrievers or index_names(path))] or [None]
    opened = [open_retriever(path, name, keys=keys) for name in dict.fromkeys(names)]
    with ProgressBar("searching", "queries") as progress:
        rest = len(questions) - len(queries)
        return evaluate_retrievers(
            corpus, opened, queries, chosen, unjudged=rest, progress=progress
        )
