"""What retrievers scored: as tables for a terminal and CSV files, and as JSON."""

from collections.abc import Iterator

from branchwise.base.text import counted, printable
from branchwise.eval.retrieval_evaluation import RetrievalEvaluation
from branchwise.report.table import CellValue, Table, TableColumn
from branchwise.report.terminal.console import console, printable_json
from branchwise.report.terminal.report_table import body

_IN_A_TABLE = 5
"""Measures that fit a terminal of 80 columns beside each other."""


def tables(found: RetrievalEvaluation) -> tuple[Table, ...]:
    """The means of each retriever, and the values of each query."""
    measures = tuple(TableColumn(str(one), str(one), digits=3) for one in found.measures)
    retriever = TableColumn("retriever", "retriever", "text", is_key=True)
    means: list[tuple[CellValue, ...]] = [
        (one.retriever, len(found.queries), *one.means().values()) for one in found.scores
    ]
    values: list[tuple[CellValue, ...]] = [
        (one.retriever, query.id, *numbers)
        for one in found.scores
        for query, *numbers in zip(found.queries, *one.values.values(), strict=True)
    ]
    return (
        Table(
            "retrievers",
            "Rankings of retrievers",
            (retriever, TableColumn("n", "n", "count"), *measures),
            tuple(means),
            (*notes(found),),
        ),
        Table(
            "rankings",
            "Rankings by question",
            (retriever, TableColumn("question", "question", "text"), *measures),
            tuple(values),
            printed=False,
        ),
    )


def notes(found: RetrievalEvaluation) -> Iterator[str]:
    """What the numbers are about, and what is not in them."""
    yield (
        "Means over questions with 95% bootstrap intervals. A question whose ranking has none of "
        "its passages counts 0."
    )
    if several := sum(bool(query.alternatives) for query in found.queries):
        has = "question has" if several == 1 else "questions have"
        yield f"{several:,} {has} alternative gold answers: each value is the best over them."
    if found.unjudged:
        are = "question is" if found.unjudged == 1 else "questions are"
        yield f"{found.unjudged:,} {are} left out: no passage is known to be relevant."
    if found.missing:
        are = "is" if found.missing == 1 else "are"
        of = f"{found.missing:,} of the {found.judged:,} passages to be found"
        yield f"{of} {are} not in the corpus, and cannot be found."


def print_evaluation(found: RetrievalEvaluation, corpus: str) -> None:
    """The means, and their notes."""
    means, _ = tables(found)
    asked = counted(len(found.queries), "question")
    console().print(f"{printable(corpus)}: {asked}", markup=False, soft_wrap=True)
    keys = [str(one) for one in found.measures]
    for start in range(0, len(keys), _IN_A_TABLE):
        console().print(body(means.with_columns(["retriever", "n", *keys[start:][:_IN_A_TABLE]])))
    for note in means.notes:
        console().print(note, markup=False)


def as_json(found: RetrievalEvaluation) -> str:
    """Means and the values of each question, by retriever."""
    return printable_json(
        {
            "questions": len(found.queries),
            "unjudged": found.unjudged,
            "judged_passages": found.judged,
            "missing_passages": found.missing,
            "retrievers": [
                {
                    "retriever": one.retriever,
                    "means": {str(m): mean.to_json() for m, mean in one.means().items()},
                    "by_question": {
                        query.id: {str(m): values[number] for m, values in one.values.items()}
                        for number, query in enumerate(found.queries)
                    },
                }
                for one in found.scores
            ],
        }
    )
