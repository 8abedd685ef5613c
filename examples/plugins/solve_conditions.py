"""A tool that works out what can be had of several documents, and what else must be true.

    branchwise tools try solve_conditions.py:solve_conditions --args '{
      "question": "maximum number",
      "documents": {"B": "c3 AND c4", "C": "c5 AND c6"},
      "relations": [{"kind": "equivalent", "first": "B-c3", "second": "C-c5"},
                    {"kind": "inclusive", "first": "C-c6", "second": "B-c4"}],
      "values": {"B-c4": true}}'

The agent reads the documents; the tool does the logic, with the solver that makes gold answers.
"""

import json
import re
from typing import Any, Literal

from pydantic import BaseModel, Field

from branchwise import ToolError, tool
from branchwise.base.errors import InputError
from branchwise.corpora.conditions.conditions_file import parse_conditions
from branchwise.corpora.conditions.documents import (
    ExpressionError,
    QuestionKind,
    names,
    parse_expression,
)
from branchwise.corpora.conditions.minimal_groups import TooManyGroupsError
from branchwise.corpora.conditions.solver import Solution, solve
from branchwise.corpora.conditions.spreading import ContradictionError

SECTION = """Do not work out by yourself which documents can be had together. Read each document's \
requirements, find which conditions the scenario says to be true or false and how conditions of \
different documents are related, and give all this to the tool solve_conditions."""
KINDS: dict[str, QuestionKind] = {"at least one": "q1", "all": "q2", "maximum number": "q3"}
SENTENCE = re.compile(r"c\d{1,4}")


class Relation(BaseModel):
    """Two conditions, by ids such as doc2-c4.

    conflicting: not both true; equivalent: always the same; inclusive: where the first is true the
    second is, the first being the narrower one.
    """

    kind: Literal["conflicting", "equivalent", "inclusive"]
    first: str = Field(description="A condition, as doc2-c4.")
    second: str = Field(description="Another condition.")


@tool(section=SECTION, seconds=30)
def solve_conditions(
    question: Literal["at least one", "all", "maximum number"],
    documents: dict[str, str],
    values: dict[str, bool],
    relations: list[Relation] | None = None,
) -> str:
    """Work out whether at least one of several documents' requirements, or all of them, can be met,
    or the maximum number, and which conditions must be true besides those that the scenario tells.

    Args:
        question: what is asked.
        documents: what each document requires, as {"doc2": "c1 AND (c2 OR c4)"}: conditions are
            called like the sentences that state them, several in one sentence c4a, c4b.
        values: conditions that the scenario tells to be true or false, as {"doc2-c1": true}; leave
            out those that it does not mention.
        relations: between conditions of different documents; leave it out if there are none.
    """
    record = {
        "mdcr": 1,
        "documents": [_document(id, expression) for id, expression in documents.items()],
        "relations": [_related(relation) for relation in relations or []],
        "scenarios": [{"id": "stated", "documents": list(documents), "text": "", "values": values}],
    }
    try:
        found = parse_conditions(record, "arguments")
        solution = solve(found.problem(found.scenarios[0], KINDS[question]))
    except (InputError, ContradictionError, TooManyGroupsError) as error:
        raise ToolError(str(error)) from None
    return _said(solution)


def _document(id: str, expression: str) -> dict[str, Any]:
    """The document as a file has it, with a sentence for each condition."""
    try:
        stated = dict.fromkeys(names(parse_expression(expression)))
    except ExpressionError as error:
        raise ToolError(f"{id}: {error}; write it as c1 AND (c2 OR c4)") from None
    sentences = {}
    for name in stated:
        found = SENTENCE.match(name)
        if not found or name[found.end() :] not in ("", *"abcdefghijklmnopqrstuvwxyz"):
            raise ToolError(f"{id}: call {name} like its sentence: c4, or c4a and c4b")
        sentences[name] = found[0]
    ordered = sorted(set(sentences.values()), key=lambda sentence: int(sentence[1:]))
    ranked = sorted(stated, key=lambda name: (int(sentences[name][1:]), name))
    return {
        "id": id,
        "title": id,
        "domain": "documents",
        "sentences": dict.fromkeys(ordered, ""),
        "conditions": {name: sentences[name] for name in ranked},
        "expression": expression,
    }


def _related(relation: Relation) -> dict[str, Any]:
    if relation.kind == "inclusive":
        return {"kind": relation.kind, "narrower": relation.first, "wider": relation.second}
    return {"kind": relation.kind, "between": [relation.first, relation.second]}


def _said(solution: Solution) -> str:
    groups = [list(group) for group in solution.answer.groups]
    lines = [f"Answer: {solution.answer.short}"]
    if not solution.sets:
        return f"{lines[0]}\nNothing that the scenario leaves open can change this."
    together = "; ".join(" and ".join(documents) for documents in solution.sets)
    lines.append(f"What must also be true (one group is enough): {json.dumps(groups)}")
    if not groups:
        lines.append("Nothing more is needed.")
    lines.append(f"Documents: {together}")
    return "\n".join(lines)
