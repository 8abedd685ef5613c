"""Short answers with groups of conditions: what can be had of several documents.

A sentence is a condition if it has a word of demands, or if all that is shown are conditions. The
situation speaks of one if it has half of its words, against it where there is a "not". All
conditions of a document are taken to be needed. Hints stand for what they say.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from branchwise.agents.offline.words import sentences, stems

FORM = "<ans>"
"""What a prompt that asks for such an answer shows."""
_DOCUMENT = re.compile(r"Document (\S+): ")
_SENTENCE = re.compile(r"(\S+-c\d+): (.*)")
_VALUE = re.compile(r"\S+?(?: \(in (\S+)\))?: (true|false)")
_CONDITION = r"(\S+)(?: \(in (\S+)\))?"
_RELATION = re.compile(
    rf"{_CONDITION} (conflicts with|is equivalent to|is narrower than) {_CONDITION}"
)
_SECTION = re.compile(r"(Situation|Question): (.*)")
_TAG = re.compile(r"<[^<>]{0,200}>")
_DEMANDS = re.compile(
    r"\b(?:must|needs?|needed|requires?|required|only|have to|has to|should|eligible|provided|"
    r"at least|at most|open to|who|if|unless|applicants?|candidates?)\b|^<li>",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|no|never|nor|without)\b|n['’]t\b", re.IGNORECASE)
_SHARE = 0.5
_MAX_SENTENCES = 5_000


@dataclass(frozen=True)
class _Asked:
    """A message: sentences by document, situation, question, and what hints tell by sentence."""

    documents: Mapping[str, Mapping[str, str]]
    situation: str
    question: str
    values: Mapping[str, bool] | None
    relations: Sequence[tuple[str, str, str]]

    @classmethod
    def of(cls, message: str) -> "_Asked":
        documents: dict[str, dict[str, str]] = {}
        said: dict[str, str] = {}
        values: dict[str, bool] | None = None
        relations: list[tuple[str, str, str]] = []
        for line in message.splitlines()[:_MAX_SENTENCES]:
            if found := _DOCUMENT.match(line):
                documents[found[1]] = {}
            elif found := _SECTION.match(line):
                said[found[1]] = found[2]
            elif line.startswith("Conditions that"):
                values = {}
            elif values is not None and (found := _VALUE.fullmatch(line)):
                values[found[1] or line.partition(":")[0]] = found[2] == "true"
            elif found := _RELATION.fullmatch(line):
                relations.append((found[3], found[2] or found[1], found[5] or found[4]))
            elif documents and (found := _SENTENCE.match(line)):
                documents[list(documents)[-1]][found[1]] = found[2]
        return cls(
            documents, said.get("Situation", ""), said.get("Question", ""), values, relations
        )


def read_conditional(message: str, *, in_steps: bool = False) -> str:
    """The reply to a user's message; with `in_steps` it says first what it found."""
    asked = _Asked.of(message)
    conditions = {id: list(_conditions(shown)) for id, shown in asked.documents.items()}
    values = asked.values
    if values is None:
        values = {
            id: value
            for id, shown in asked.documents.items()
            for sentence in conditions[id]
            if (value := _value(shown[sentence], asked.situation)) is not None
        }
    open = {id: _open(own, values) for id, own in conditions.items()}
    possible = [id for id, left in open.items() if left is not None]
    together = _compatible(possible, open, asked.relations)
    groups = _groups(asked, possible, together, open)
    short = _short(asked, possible, together)
    answer = f"<ans>{short}</ans> <cond>{json.dumps(groups)}</cond>"
    found = f"Possible by themselves: {', '.join(possible) or 'none'} (without a language model)."
    return f"{found}\n{answer}" if in_steps else answer


def _conditions(shown: Mapping[str, str]) -> Iterator[str]:
    """The sentences of a document that state conditions; all where it has no heading."""
    only = not any(text.startswith(("<h", "<title")) for text in shown.values())
    for id, text in shown.items():
        if only or (_DEMANDS.search(text) and not text.startswith("<h")):
            yield id


def _value(sentence: str, situation: str) -> bool | None:
    """What the situation says of a condition; None: nothing."""
    asked = stems(_TAG.sub(" ", sentence))
    best = max(sentences(situation), key=lambda one: len(stems(one) & asked), default="")
    if not asked or len(stems(best) & asked) < _SHARE * len(asked):
        return None
    return bool(_NOT.search(best)) == bool(_NOT.search(sentence))


def _open(conditions: Sequence[str], values: Mapping[str, bool]) -> list[str] | None:
    """The conditions of which nothing is known; None where one does not hold."""
    if any(values.get(id) is False for id in conditions):
        return None
    return [id for id in conditions if id not in values]


def _compatible(
    possible: Sequence[str],
    open: Mapping[str, list[str] | None],
    relations: Sequence[tuple[str, str, str]],
) -> list[str]:
    """Documents that can be had together, taken in their order."""
    conflicts = [{a, b} for kind, a, b in relations if kind == "conflicts with"]
    taken: list[str] = []
    for id in possible:
        own = {*(open[id] or ()), *(one for other in taken for one in open[other] or ())}
        if not any(pair <= own for pair in conflicts):
            taken.append(id)
    return taken


def _short(asked: _Asked, possible: Sequence[str], together: Sequence[str]) -> str:
    question = asked.question.lower()
    if "maximum" in question:
        return str(len(together))
    wanted = bool(possible)
    if "at least one" not in question:
        wanted = len(together) == len(asked.documents)
    return "yes" if wanted else "no"


def _groups(
    asked: _Asked,
    possible: Sequence[str],
    together: Sequence[str],
    open: Mapping[str, list[str] | None],
) -> list[list[str]]:
    """Each document's conditions by themselves, or those of all together."""
    if "at least one" in asked.question.lower():
        groups = [open[id] or [] for id in possible]
        return [] if [] in groups else groups
    group = [one for id in together for one in open[id] or ()]
    implied = {b for kind, a, b in asked.relations if kind == "is narrower than" and a in group}
    implied |= {a for kind, a, b in asked.relations if kind == "is equivalent to" and b in group}
    left = [one for one in group if one not in implied]
    return [left] if left else []
