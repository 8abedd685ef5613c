"""A run as JSON lines, for analysis with other tools."""

from collections.abc import Iterator
from typing import Any

import orjson

from branchwise.runs.store import ItemRow, RunReader


def export_lines(reader: RunReader, *, with_events: bool = False) -> Iterator[bytes]:
    """One line an item that has ended, in order.

    `id`, `answers` and, where there is one, `task_output` are where `branchwise score
    --predictions` looks for them.
    """
    for row in reader.items():
        if row.outcome is None:
            continue
        record = _record(row)
        if with_events:
            record["events"] = [event.record() for event in reader.events(row.item)]
        yield orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def _record(row: ItemRow) -> dict[str, Any]:
    outcome = dict(row.outcome or {})
    prediction = outcome.pop("prediction", {})
    output = prediction.get("task_output")
    gold = row.question.model_dump(mode="json", include={"ambiguous", "branches", "alternatives"})
    return {
        "id": row.question.id,
        "question": row.question.question,
        "epoch": row.epoch,
        "status": row.status,
        "reasoning": prediction.get("reasoning", ""),
        "answers": prediction.get("answers", {}),
        "citations": prediction.get("citations", {}),
        **({"task_output": output} if output is not None else {}),
        "gold": gold,
        **outcome,
    }
