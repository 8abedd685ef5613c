"""Clarification questions: `[preposition] Which CATEGORY: OPTION, ..., or OPTION?` (CAmbigNQ).

Without a category they are `In terms of what: ...`, `As of when: ...`. Commas alone cannot hold
every option: "Paris, Texas" would be two. Where they do not suffice, semicolons separate the
options, and where these do not either, each option is in double quotation marks, which are doubled
within it. A text is written in the first of these three ways that reads back as the same question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.base.text import one_line

_BARE = ("what", "when", "where", "who", "whom")  # categories that stand alone after a preposition
_HEAD = re.compile(r"(?:(\S.{0,60}?) )?which (\S.*)", re.IGNORECASE)
_BARE_HEAD = re.compile(rf"(\S.{{0,60}}) ({'|'.join(_BARE)})", re.IGNORECASE)
_COMMA = r",(?!(?<=\d,)(?<!\d{4},)\d{3}(?!\d))"  # not the one of 1,000
_QUOTED = r'"((?:[^"]|"")+)"'
_ALL_QUOTED = re.compile(rf"{_QUOTED}(?:, (?:or )?{_QUOTED})*")
_MAX_SHOWN = 80


class ClarificationFormatError(ValueError):
    """A text is not of the form; the message says in one line what it lacks."""


@dataclass(frozen=True)
class ClarificationQuestion:
    """Which of the options is meant: `category` says what they are ("version", "one").

    `preposition` comes before "Which" ("in", for "In which context"), or before the category itself
    ("as of", for "As of when"). Texts are on one line and stripped; a category has no colon.
    """

    category: str
    options: tuple[str, ...]
    preposition: str = ""

    @property
    def head(self) -> str:
        """What stands before its colon."""
        if not self.preposition:
            return f"Which {self.category}"
        asked = self.category if self.category in _BARE else f"which {self.category}"
        return f"{self.preposition[:1].upper()}{self.preposition[1:]} {asked}"

    @property
    def text(self) -> str:
        """The question in its form; `parse_clarification` reads the same question out of it."""
        for separator in (",", ";"):
            written = _separated(self.options, separator)
            if _options(written) == self.options:
                return f"{self.head}: {written}?"
        quoted = [f'"{option.replace(chr(34), chr(34) * 2)}"' for option in self.options]
        return f"{self.head}: {_separated(quoted, ',')}?"

    def chosen(self, question: str, option: str) -> str:
        """The question that was asked first, with the option that is meant."""
        return f"{question.rstrip(' ?')}, {self.head}: {option}"


def parse_clarification(text: str) -> ClarificationQuestion:
    """The question that a text asks; the last question mark may be missing, and so may the space
    after a comma, unless it stands in a number ("1,000").

    Without a comma before it, "or" separates options where nothing else says what does: "A or B"
    has two, "A or B, or C" has two as well. The first letter of a preposition is a small one.

    Raises ClarificationFormatError for a text without category or options.
    """
    head, colon, tail = one_line(text).partition(":")
    match = _HEAD.fullmatch(head.strip()) or _BARE_HEAD.fullmatch(head.strip())
    shown = repr(one_line(text)[:_MAX_SHOWN])
    if not colon or not match:
        raise ClarificationFormatError(f'{shown} is not of the form "Which CATEGORY: OPTION, ..."')
    options = _options(tail.strip().removesuffix("?").strip())
    if not options:
        raise ClarificationFormatError(f"{shown} has no options")
    preposition = match[1] or ""
    category = match[2].lower() if match.re is _BARE_HEAD else match[2]
    return ClarificationQuestion(category, options, f"{preposition[:1].lower()}{preposition[1:]}")


def _options(written: str) -> tuple[str, ...]:
    if _ALL_QUOTED.fullmatch(written):
        return tuple(option.replace('""', '"') for option in re.findall(_QUOTED, written))
    for separator in (";", _COMMA):
        if last := re.fullmatch(rf"(.*){separator} ?or (.*)", written):
            return _bare([*re.split(separator, last[1]), last[2]])
    return _bare(re.split(rf"{_COMMA}| or ", written))


def _bare(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(bare for part in parts if (bare := part.strip(" ,;").removeprefix("or ").strip()))


def _separated(options: Sequence[str], separator: str) -> str:
    *first, last = options
    return f"{separator} ".join([*first, f"or {last}" if first else last])
