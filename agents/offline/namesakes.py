"""Readings out of a list of namesakes: those of a kind that the words around the name expect."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from branchwise.agents.offline.expected_kinds import (
    KINDS,
    PERSON,
    TRADES,
    LikelyKinds,
    expected_kinds,
)
from branchwise.agents.offline.words import base_name

_FOUND = re.compile(r"^Found for (?P<quote>['\"])(?P<name>.+)(?P=quote):$")
_ITEM = re.compile(r"^- (?P<title>.+?)(?: — (?P<about>.*))?$")
_QUESTION = "Question: "
_KIND = "|".join(re.escape(kind) for kind in sorted(KINDS, key=len, reverse=True))
_KINDS_SAID = re.compile(rf"\b({_KIND})s?\b(?: and (?:an? )?({_KIND})\b)?", re.IGNORECASE)
_BORN = re.compile(r"\bborn\b")


class Namesake(NamedTuple):
    """A title, and what is said of it."""

    title: str
    about: str

    @property
    def kinds(self) -> frozenset[str]:
        """What it is: by its brackets, else by the first words for a kind that are said of it."""
        brackets = self.title[len(base_name(self.title)) :]
        found = _KINDS_SAID.search(brackets) or _KINDS_SAID.search(self.about)
        kinds = {kind.lower() for kind in found.groups() if kind} if found else set()
        is_person = _BORN.search(brackets) or not kinds.isdisjoint(TRADES)
        return frozenset({*kinds, PERSON} if is_person else kinds)


class ListedNames(NamedTuple):
    """A question with the namesakes that were found for its names."""

    question: str
    of_name: Mapping[str, Sequence[Namesake]]

    @classmethod
    def read(cls, message: str) -> "ListedNames | None":
        """What an expander is asked; None where the message lists nothing."""
        first, *lines = message.splitlines() or [""]
        of_name: dict[str, list[Namesake]] = {}
        known: list[Namesake] = []
        for line in lines:
            if heading := _FOUND.match(line):
                known = of_name.setdefault(heading["name"], [])
            elif item := _ITEM.match(line):
                known.append(Namesake(item["title"], item["about"] or ""))
        listed = first.startswith(_QUESTION) and any(of_name.values())
        return cls(first.removeprefix(_QUESTION).strip(), of_name) if listed else None


def listed_readings(listed: ListedNames) -> list[str]:
    """The question with each namesake that fits in the place of its name; alone, if there are not
    two for any name."""
    question = listed.question
    chosen = {name: _fitting(question, name, of) for name, of in listed.of_name.items()}
    readings = [
        question.replace(name, one.title, 1)
        for name, fitting in chosen.items()
        if len(fitting) > 1
        for one in fitting
    ]
    return readings or [question]


def _fitting(question: str, name: str, namesakes: Sequence[Namesake]) -> Sequence[Namesake]:
    """Those of a kind that the words around the name expect; all, where none of them is."""
    left = namesakes
    for levels in expected_kinds(question, name):
        left = _likeliest(levels, left) or left
    return left


def _likeliest(levels: LikelyKinds, namesakes: Sequence[Namesake]) -> Sequence[Namesake]:
    """Those of the likeliest kinds; while it is not two of them, those of the next kinds too."""
    for n in range(1, len(levels) + 1):
        kinds = frozenset[str]().union(*levels[:n])
        found = [one for one in namesakes if one.kinds & kinds]
        if len(found) > 1:
            break
    return found
