"""Short ways to write questions about documents with conditions, and answers to them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.agents.prediction import Prediction
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem

WORKED = {"A": "c1 OR c2", "B": "c3 AND c4", "C": "c5 AND c6"}
"""The worked example of MDCR's paper: expressions by document ..."""
WORKED_RELATIONS = (
    *(("conflicting", f"A-{a}", b) for a in ("c1", "c2") for b in ("B-c3", "C-c5")),
    ("equivalent", "B-c3", "C-c5"),
    ("inclusive", "C-c6", "B-c4"),
)
"""... and relations (of an inclusive one the narrower first)."""


def conditions_file(
    path: Path,
    documents: Mapping[str, str],
    relations: Sequence[tuple[str, str, str]] = (),
    values: Mapping[str, bool] | None = None,
    *,
    more: int = 1,
    text: str = "I am new here.",
) -> Path:
    """A file of documents by their expressions."""
    record = {
        "mdcr": 1,
        "documents": [_document(id, expression, more) for id, expression in documents.items()],
        "relations": [_relation(*one) for one in relations],
        "scenarios": [
            {"id": "s", "documents": list(documents), "text": text, "values": dict(values or {})}
        ],
    }
    path.write_text(json.dumps(record))
    return path


def conditional_question(
    path: Path,
    kind: str,
    documents: Mapping[str, str],
    relations: Sequence[tuple[str, str, str]] = (),
    values: Mapping[str, bool] | None = None,
) -> Question:
    """One question (`q1`, `q2`, `q3`) of such a file, which is written to `path`."""
    file = conditions_file(path, documents, relations, values)
    found = load_questions(f"mdcr:{file}")
    return next(one for one in found.questions if one.id == f"s-{kind}")


def conditional_item(
    question: Question,
    answer: str | None,
    groups: Sequence[Sequence[str]] = (),
    *,
    error: str | None = None,
) -> AnsweredItem:
    """An item with that answer; None: one that could not be read."""
    if answer is None:
        return AnsweredItem(question, Prediction(), how="failed", error=error)
    output = {"answer": answer, "groups": [list(group) for group in groups]}
    return AnsweredItem(question, Prediction(task_output=output), error=error)


def _document(id: str, expression: str, more: int) -> dict[str, Any]:
    names = dict.fromkeys(
        word for word in expression.replace("(", " ").replace(")", " ").split() if word[0] == "c"
    )
    numbers = sorted({*range(more), *(int(name[1:]) for name in names)})
    return {
        "id": id,
        "title": f"Offer {id}",
        "domain": "offers",
        "sentences": {f"c{n}": f"<p>Sentence {n} of {id}.</p>" for n in numbers},
        "conditions": {name: name for name in names},
        "expression": expression,
    }


def _relation(kind: str, first: str, second: str) -> dict[str, Any]:
    if kind == "inclusive":
        return {"kind": kind, "narrower": first, "wider": second}
    return {"kind": kind, "between": [first, second]}
