"""What two passes over the same questions agree in: everything but time."""

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from branchwise import score
from branchwise.commands.folders import export_lines
from branchwise.runs.store import open_run

_OF_THE_MOMENT = frozenset({"seconds", "at", "replayed"})


def lasting(value: Any) -> Any:
    """The record without what is of the moment."""
    if isinstance(value, Mapping):
        return {k: lasting(v) for k, v in value.items() if k not in _OF_THE_MOMENT}
    return [lasting(one) for one in value] if isinstance(value, list | tuple) else value


def exported(run: Path) -> list[str]:
    with closing(open_run(run)) as reader:
        return [
            json.dumps(lasting(json.loads(line))) for line in export_lines(reader, with_events=True)
        ]


def scored(run: Path) -> str:
    return json.dumps(lasting(score(run).to_json()))
