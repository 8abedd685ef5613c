"""Readings out of a list of namesakes: those whose kind goes with the words beside the name."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from branchwise.agents.offline.view import Seen
from branchwise.agents.offline.words import stem, words

MAX_BESIDE = 6
"""Words on each side of a name that say what it may be."""
_FOUND = re.compile(r"^Found for (?P<quote>['\"])(?P<name>.+)(?P=quote):$")
_ITEM = re.compile(r"^- (?P<title>.+?)(?: — (?P<about>.*))?$")
_QUESTION = "Question: "
_PERSONS = """
    film director, film score composer, football manager, business executive, footballer, actor,
    novelist, screenwriter, entrepreneur, scientist, musician, singer, composer, writer, player
"""
_PEOPLE = tuple(kind.strip() for kind in _PERSONS.split(","))
_PLACES = ("city", "country", "capital", "town")
_FIRMS = ("company", "film studio", "record label", "publisher", "football club", "newspaper")
_SAID_BESIDE: Mapping[str, Sequence[str]] = {
    "directed director": ("film", "film director", "television series", "play"),
    "starred starring stars cast": ("film", "actor", "television series"),
    "acted actors appeared": ("film", "television series", "play"),
    "featured": ("actor", "film"),
    "script scripts screenplay": ("film", "screenwriter"),
    "scored": ("film", "film score composer", "composer", "musician"),
    "composed composer music": ("song", "musician", "singer", "composer", "film", "opera"),
    "lyrics": ("song", "singer", "musician", "novelist"),
    "performed sang sung": ("song", "singer", "band"),
    "recorded": ("album", "singer", "band"),
    "label": ("album",),
    "song": ("singer", "musician", "band"),
    "signed": ("band", "record label"),
    "members musicians": ("band",),
    "released": ("album", "song", "film", "video game"),
    "wrote written author": ("novel", "book", "song", "novelist", "screenwriter", "writer"),
    "novels book": ("novelist", "novel", "book", "publisher"),
    "setting": ("novel", "film"),
    "literary nominees": ("novel", "book"),
    "published publisher": ("publisher", "novel", "book", "video game"),
    "produced": ("film studio", "film", "album"),
    "supervised": ("scientist",),
    "fielded employed": ("footballer", "player", "scientist"),
    "played plays": ("film", "band", "footballer", "football club", "play"),
    "manages managed coach": ("football club", "football manager"),
    "founded started": ("entrepreneur", *_FIRMS),
    "made": ("film",),
    "based home headquarters located formed": _PLACES,
    "born": _PLACES,
    "educated birthplace citizen": _PEOPLE,
}
_GOES_WITH = {
    stem(word): frozenset(of) for said, of in _SAID_BESIDE.items() for word in said.split()
}
_KINDS = sorted({kind for of in _SAID_BESIDE.values() for kind in of}, key=lambda k: -len(k))
_KIND = re.compile(rf"\b(?:{'|'.join(map(re.escape, _KINDS))})s?\b", re.IGNORECASE)


class Namesake(NamedTuple):
    """A title, and what is said of it."""

    title: str
    about: str

    @property
    def kind(self) -> str:
        """What it is: by its brackets, else by the first word for a kind that is said of it."""
        brackets = self.title[len(Seen("", self.title, self.about).base) :]
        found = _KIND.search(brackets) or _KIND.search(self.about)
        return found[0].lower() if found else ""


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
    """Those that go with the nearest word that goes with any of them, then with the next."""
    left = namesakes
    for word in _beside(question, name):
        kinds = _GOES_WITH.get(stem(word), frozenset())
        left = [one for one in left if one.kind in kinds] or left
    return left


def _beside(question: str, name: str) -> list[str]:
    """The words beside a name, the nearest first; those behind it belong to it less."""
    before, _, after = question.partition(name)
    left, right = words(before)[: -MAX_BESIDE - 1 : -1], words(after)[:MAX_BESIDE]
    places = [(float(n), word) for n, word in enumerate(left)]
    places += [(n + 0.5, word) for n, word in enumerate(right)]
    return [word for _, word in sorted(places)]
