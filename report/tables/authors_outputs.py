"""What the authors' own outputs give, with the number that their paper prints beside each."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError
from branchwise.base.numbers import as_text, rounded
from branchwise.eval.tasks.condambigqa.authors_outputs import AuthorsOutput, Averages
from branchwise.report.published import PublishedTable, published
from branchwise.report.table import Table, TableColumn

_TABLES = {table.name: table for table in published("condambigqa").tables}
_Row = tuple[str, float | None, float | None, float | None, float | None]
"""What it is of, then two numbers, each with the published one."""
_COLUMNS = (
    TableColumn("score", "score", "text", is_key=True),
    TableColumn("mean", "mean", digits=4),
    TableColumn("published_mean", "published", digits=3),
    TableColumn("sd", "SD", "value", digits=4),
    TableColumn("published_sd", "published", "value", digits=3),
)


def output_table(output: AuthorsOutput, path: Path) -> Table:
    """A row a score of a model's predictions. Raises InputError for one not in the paper."""
    printed = _printed(_TABLES["models"], output.model, path)["conditions"]
    if output.experiment == "compare":
        printed = {}
    rows: list[_Row] = []
    for part, pooled in output.scores.items():
        beside = printed.get(part), printed.get(f"{part}_sd")
        rows.append((part, pooled.mean, beside[0], pooled.sd, beside[1]))
    answers = f"{output.predictions:,} answers to {len(output.rows):,} questions"
    each = rounded(output.predictions / len(output.rows), 2)
    notes = [
        f"{answers}, {each} to each. Mean and sample SD over all of them, as the authors' judge "
        "graded them."
    ]
    if printed:
        notes.append(f"Published: the paper's Table 2. {_agreement(rows)}")
    else:
        notes.append(
            "The paper prints nothing of this experiment: the bars of Figure 5 without conditions "
            "are of another program, which averages over gold properties."
        )
    title = f"The authors' outputs, {output.experiment} experiment: {output.model}"
    return Table(f"outputs-{output.experiment}", title, _COLUMNS, tuple(rows), tuple(notes))


def averages_table(averages: Mapping[str, Averages], path: Path) -> Table:
    """A row each model with its bars of Figure 5. Raises InputError for a model that is not in the
    figure, and where some models have counts and others not."""
    counted = {own.average_answer_count is not None for own in averages.values()}
    if len(counted) > 1:
        problem = "average_answer_count is given for some models alone"
        raise InputError(problem, where=str(path), remedy="compare with the published file")
    setting = "without" if counted.pop() else "gold"
    rows: list[_Row] = []
    for model, own in averages.items():
        printed = _printed(_TABLES["protocols"], model, path)[setting]
        answer, citation = own.average_answer_score, own.average_citation_score
        beside = printed["answer_score"], printed["citation_score"]
        rows.append((model, answer, beside[0], citation, beside[1]))
    columns = (
        TableColumn("model", "model", "text", is_key=True),
        TableColumn("answer", "answer", digits=4),
        TableColumn("published_answer", "published", digits=2),
        TableColumn("citation", "citation", digits=4),
        TableColumn("published_citation", "published", digits=2),
    )
    title = f"The authors' averages, {'with ' * (setting == 'gold')}{setting} conditions"
    notes = (f"Published: the bars of the paper's Figure 5. {_agreement(rows, 2)}",)
    return Table(f"averages-{setting}", title, columns, tuple(rows), notes)


def _printed(table: PublishedTable, model: str, path: Path) -> Mapping[str, Mapping[str, float]]:
    """A model's numbers by setting. Ollama's tag, as in `qwen2.5:7b`, is no part of its name."""
    name = model.partition(":")[0].casefold()
    for row, settings in table.rows.items():
        if row.casefold() == name:
            return {setting: by_subset["all"] for setting, by_subset in settings.items()}
        problem = f"the paper has no numbers of a model {model[:80]!r}"
    raise InputError(problem, where=str(path), remedy=f"its models: {', '.join(table.rows)}")


def _agreement(rows: Iterable[_Row], digits: int = 3) -> str:
    """How many of the numbers are as printed, to the printed digits."""
    pairs = [pair for _, *numbers in rows for pair in (numbers[:2], numbers[2:])]
    as_printed = [[as_text(mean, "share", digits) for mean in pair] for pair in pairs]
    same = sum(ours == theirs for ours, theirs in as_printed)
    return f"As printed: {same} of {len(pairs)} numbers."


def table_record(table: Table) -> dict[str, Any]:
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    return {"name": table.name, "title": table.title, "rows": rows, "notes": list(table.notes)}
