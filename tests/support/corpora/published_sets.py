"""Questions in every published form of question sets: the exact fields, made-up contents."""

import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
SAMPLES: dict[str, Rows] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_OWN: Rows = [
    {"id": "q1", "question": "Who made Heat?", "answers": {"1986": ["Richards"], "1995": ["Mann"]}}
]
_LINES = ("flashrag", "mdcr", "musique", "")


def sample(folder: Path, form: str) -> Path:
    """A file of that form, "" for our own, as it is published: lines, or an array."""
    rows = SAMPLES.get(form, _OWN)
    path = folder / f"{form or 'own'}.json"
    text = "\n".join(map(json.dumps, rows)) if form in _LINES else json.dumps(rows)
    path.write_text(text)
    return path
