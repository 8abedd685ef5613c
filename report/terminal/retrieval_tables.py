"""What retrievers scored: as tables for a terminal and CSV files, and as JSON."""

from collections.abc import Iterator

from branchwise.base.text import counted, printable
from branchwise.eval.retrieval_evaluation import RetrievalEvaluation
from branchwise.report.table import CellValue, Table, TableColumn
from branchwise.report.terminal.console import console, printable_json
from branchwise.report.terminal.report_table import TableBody


def tables(evaluation: RetrievalEvaluation) -> tuple[Table, ...]:
    measures = [
        TableColumn(str(measure), str(measure), digits=3) for measure in evaluation.measures
    ]
    retriever = TableColumn("retriever", "retriever", "text", is_key=True)
    n, question = TableColumn("n", "n", "count"), TableColumn("question", "question", "text")
    means: list[tuple[CellValue, ...]] = []
    values: list[tuple[CellValue, ...]] = []
    for score in evaluation.scores:
        means.append((score.retriever, len(evaluation.queries), *score.means().values()))
        for query, *own in zip(evaluation.queries, *score.values.values(), strict=True):
            values.append((score.retriever, query.id, *own))
    columns, title, lines = (retriever, n, *measures), "Rankings of retrievers", notes(evaluation)
    whole = Table("retrievers", title, columns, tuple(means), tuple(lines))
    columns, title = (retriever, question, *measures), "Rankings by question"
    return whole, Table("rankings", title, columns, tuple(values), printed=False)


def notes(evaluation: RetrievalEvaluation) -> Iterator[str]:
    """What the numbers are about, and what is not in them."""
    yield (
        "Means over questions with 95% bootstrap intervals. A question whose ranking has none of "
        "its passages counts 0."
    )
    if several := sum(bool(query.alternatives) for query in evaluation.queries):
        has = "question has" if several == 1 else "questions have"
        yield f"{several:,} {has} alternative gold answers: each value is the best over them."
    if evaluation.unjudged:
        are = "question is" if evaluation.unjudged == 1 else "questions are"
        yield f"{evaluation.unjudged:,} {are} left out: no passage is known to be relevant."
    if evaluation.missing:
        are = "is" if evaluation.missing == 1 else "are"
        of = f"{evaluation.missing:,} of the {evaluation.judged:,} passages to be found"
        yield f"{of} {are} not in the corpus, and cannot be evaluation."


def print_evaluation(evaluation: RetrievalEvaluation, corpus: str) -> None:
    means, _ = tables(evaluation)
    asked = counted(len(evaluation.queries), "question")
    console().print(f"{printable(corpus)}: {asked}", markup=False, soft_wrap=True)
    console().print(TableBody(means))
    for note in means.notes:
        console().print(note, markup=False)


def as_json(evaluation: RetrievalEvaluation) -> str:
    return printable_json(
        {
            "questions": len(evaluation.queries),
            "unjudged": evaluation.unjudged,
            "judged_passages": evaluation.judged,
            "missing_passages": evaluation.missing,
            "retrievers": [
                {
                    "retriever": score.retriever,
                    "means": {str(m): mean.to_json() for m, mean in score.means().items()},
                    "by_question": {
                        query.id: {str(m): values[number] for m, values in score.values.items()}
                        for number, query in enumerate(evaluation.queries)
                    },
                }
                for score in evaluation.scores
            ],
        }
    )
