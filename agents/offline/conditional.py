"""Short answers with groups of conditions: what can be had of several documents.

A sentence is a condition if it has a word of demands. Below "one of these" conditions are
alternatives, else all are needed. The situation speaks of one if it has half of its words, against
it where there is a "not". Hints stand for what they say.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from branchwise.agents.offline.words import sentences, stems

FORM = "<ans>"
"""What a prompt that asks for such an answer shows."""
_DOCUMENT = re.compile(r"Document (\S+): ")
_SENTENCE = re.compile(r"(\S+-c\d+): (.*)")
_CONDITION = r"(\S+)(?: \(condition \d+\))?"
_VALUE = re.compile(rf"{_CONDITION}: (true|false)")
_RELATED = r"(conflicts with|is equivalent to|is narrower than)"
_RELATION = re.compile(f"{_CONDITION} {_RELATED} {_CONDITION}")
_SECTION = re.compile(r"(Situation|Question): (.*)")
_TAG = re.compile(r"<[^<>]{0,200}>")
_DEMANDS = re.compile(
    r"\b(?:must|needs?|needed|requires?|required|only|have to|has to|should|eligible|provided|"
    r"at least|at most|open to|who|if|unless|applicants?|candidates?)\b|^<li>",
    re.IGNORECASE,
)
_NO_WORDS_OF_ITS_OWN = stems(
    "applicants candidates must only those who apply need needed require required requirement "
    "requirements conditions met following addition moreover eligible least enough"
)
_ALTERNATIVES = re.compile(r"\b(?:one|any|either) of\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:not|no|never|nor|without)\b|n['’]t\b", re.IGNORECASE)
_SHARE = 0.5
_MAX_LINES, _MAX_GROUPS = 5_000, 50

_Group = frozenset[str]


@dataclass(frozen=True)
class _Asked:
    """A message: sentences by document, situation, question, whether all sentences that are shown
    state conditions, and what hints tell by sentence."""

    documents: Mapping[str, Mapping[str, str]]
    situation: str
    question: str
    states_all: bool
    values: Mapping[str, bool | None] | None
    relations: Sequence[tuple[str, str, str]]

    @classmethod
    def of(cls, message: str) -> "_Asked":
        documents: dict[str, dict[str, str]] = {}
        sections: dict[str, str] = {}
        states_all = False
        values: dict[str, bool | None] | None = None
        relations: list[tuple[str, str, str]] = []
        for line in message.splitlines()[:_MAX_LINES]:
            if match := _DOCUMENT.match(line):
                documents[match[1]] = {}
            elif match := _SECTION.match(line):
                sections[match[1]] = match[2]
            elif line.startswith("Of each document only the sentences that state"):
                states_all = True
            elif line.startswith("Conditions that"):
                values = {}
            elif values is not None and (match := _VALUE.fullmatch(line)):
                # A sentence with several conditions holds if all do.
                values[match[1]] = match[2] == "true" and values.get(match[1], True)
            elif match := _RELATION.fullmatch(line):
                relations.append((match[2], match[1], match[3]))
            elif documents and (match := _SENTENCE.match(line)):
                documents[list(documents)[-1]][match[1]] = match[2]
        situation, question = sections.get("Situation", ""), sections.get("Question", "").lower()
        return cls(documents, situation, question, states_all, values, relations)


def read_conditional(message: str, *, in_steps: bool = False) -> str:
    """The reply to a user's message; with `in_steps` it says first what it found."""
    asked = _Asked.of(message)
    all_ways = {id: _ways(shown, asked) for id, shown in asked.documents.items()}
    possible = {id: ways for id, ways in all_ways.items() if ways}
    together = _together(possible, asked)
    if "maximum" in asked.question:
        short = str(len(together))
    elif "at least one" in asked.question:
        short = "yes" if possible else "no"
    else:
        short = "yes" if together and len(together) == len(asked.documents) else "no"
    groups = json.dumps([sorted(group) for group in _groups(asked, possible, together)])
    reply = f"<ans>{short}</ans> <cond>{groups}</cond>"
    if not in_steps:
        return reply
    listed = ", ".join(possible) or "none"
    return f"Possible by itself: {listed} (without a language model).\n{reply}"


def _ways(shown: Mapping[str, str], asked: _Asked) -> list[_Group]:
    """The groups of open conditions under which a document can be had; none where it cannot."""
    open: list[list[_Group]] = []
    for clause in _clauses(shown, states_all=asked.states_all):
        values = {id: _value(id, shown[id], asked) for id in clause}
        if not any(values.values()):
            open.append([frozenset({id}) for id in clause if values[id] is None])
    ways = (frozenset[str]().union(*chosen) for chosen in product(*open))
    return list(islice(ways, _MAX_GROUPS))


def _clauses(shown: Mapping[str, str], *, states_all: bool) -> Iterator[list[str]]:
    """Conditions of which one must be true, for each such demand of a document."""
    alternatives: list[str] | None = None
    for id, text in shown.items():
        is_one = states_all or (_DEMANDS.search(text) and _words(text))
        if text.startswith("<h") or _TAG.sub("", text).rstrip().endswith(":"):
            if alternatives:
                yield alternatives
            alternatives = [] if _ALTERNATIVES.search(text) else None
        elif is_one:
            if alternatives is None:
                yield [id]
            else:
                alternatives.append(id)
    if alternatives:
        yield alternatives


def _words(text: str) -> frozenset[str]:
    return stems(_TAG.sub(" ", text)) - _NO_WORDS_OF_ITS_OWN


def _value(id: str, sentence: str, asked: _Asked) -> bool | None:
    """Whether a condition holds; None: nothing is said of it."""
    if asked.values is not None:
        return asked.values.get(id)
    wanted = _words(sentence)
    best = max(sentences(asked.situation), key=lambda text: len(stems(text) & wanted), default="")
    if len(stems(best) & wanted) < _SHARE * len(wanted):
        return None
    return bool(_NOT.search(best)) == bool(_NOT.search(sentence))


def _together(possible: Mapping[str, list[_Group]], asked: _Asked) -> dict[str, list[_Group]]:
    """Documents that can be had together, taken in their order, each with ways that are left."""
    conflicts = [{a, b} for how, a, b in asked.relations if how == "conflicts with"]
    taken: dict[str, list[_Group]] = {}
    for id, ways in possible.items():
        others = frozenset[str]().union(*(group for groups in taken.values() for group in groups))
        left = [way for way in ways if not any(pair <= way | others for pair in conflicts)]
        if left:
            taken[id] = left
    return taken


def _groups(
    asked: _Asked, possible: Mapping[str, list[_Group]], together: Mapping[str, list[_Group]]
) -> list[_Group]:
    """Each document's ways by itself, or those of all together; none where one needs nothing."""
    if "at least one" in asked.question:
        groups = [way for ways in possible.values() for way in ways]
    else:
        chosen = islice(product(*together.values()), _MAX_GROUPS)
        groups = []
        for group in (frozenset[str]().union(*ways) for ways in chosen):
            # Without wider conditions, and with the later one of those that are equivalent.
            wider = {b for how, a, b in asked.relations if how == "is narrower than" and a in group}
            same = {a for how, a, b in asked.relations if how == "is equivalent to" and b in group}
            groups.append(group - wider - same)
    least = [group for group in dict.fromkeys(groups) if not any(other < group for other in groups)]
    return [] if frozenset() in least else least[:_MAX_GROUPS]
