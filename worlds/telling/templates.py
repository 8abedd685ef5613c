"""The template language of the prose files: text, [alternatives|...] and {slots}.

docs/worlds.md explains it to those who write prose.
"""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from branchwise.base.errors import InputError

MAX_VARIANTS = 64
_MARKS = "[]{}|"


class Placeholder(NamedTuple):
    """`{name}`, `{name.form}`, `{name:1}` or `{name#one|many}`."""

    name: str
    form: str = ""


@dataclass(frozen=True)
class Alternatives:
    """Alternatives, one of which is chosen at random."""

    options: tuple["Sequence", ...]


TemplatePart = str | Placeholder | Alternatives
Sequence = tuple[TemplatePart, ...]


def parse(template: str) -> Sequence:
    """The parts of a template. Raises InputError if brackets do not match."""
    parts, end = _sequence(template, 0, inside=False)
    if end != len(template):
        raise InputError(f"unexpected {template[end]!r}", where=template)
    return parts


def _sequence(text: str, at: int, inside: bool) -> tuple[Sequence, int]:
    parts: list[TemplatePart] = []
    while at < len(text):
        character = text[at]
        if character == "[":
            choice, at = _choice(text, at + 1)
            parts.append(choice)
        elif character == "{":
            end = text.find("}", at)
            if end < 0:
                raise InputError("a { is not closed", where=text)
            parts.append(_slot(text[at + 1 : end]))
            at = end + 1
        elif character in _MARKS:
            if inside and character in "]|":
                return tuple(parts), at
            raise InputError(f"unexpected {character!r} at column {at + 1}", where=text)
        else:
            end = min((n for mark in _MARKS if (n := text.find(mark, at)) >= 0), default=len(text))
            parts.append(text[at:end])
            at = end
    if inside:
        raise InputError("a [ is not closed", where=text)
    return tuple(parts), at


def _choice(text: str, at: int) -> tuple[Alternatives, int]:
    options: list[Sequence] = []
    while True:
        option, at = _sequence(text, at, inside=True)
        options.append(option)
        if text[at] == "]":
            return Alternatives(tuple(options)), at + 1
        at += 1


def _slot(body: str) -> Placeholder:
    for mark in ".:#":
        name, found, form = body.partition(mark)
        if found:
            return Placeholder(name, mark + form)
    return Placeholder(body)


def variants(sequence: Sequence, facts: frozenset[str]) -> list[Sequence]:
    """The template once for each way in which it names facts.

    Alternatives without facts stay choices, so that they cost nothing.
    Raises InputError for more than `MAX_VARIANTS`.
    """
    expanded = _expanded(sequence, facts)
    if len(expanded) > MAX_VARIANTS:
        raise InputError(f"has {len(expanded)} variants, at most {MAX_VARIANTS} are kept")
    return expanded


def _expanded(sequence: Sequence, facts: frozenset[str]) -> list[Sequence]:
    choices: list[list[Sequence]] = []
    for part in sequence:
        if isinstance(part, Alternatives) and names_fact(part, facts):
            choices.append([v for option in part.options for v in _expanded(option, facts)])
        else:
            choices.append([(part,)])
    return [tuple(part for chosen in row for part in chosen) for row in product(*choices)]


def names_fact(part: TemplatePart, facts: frozenset[str]) -> bool:
    """Whether a part has a slot for one of the facts."""
    if isinstance(part, Alternatives):
        return any(names_fact(inner, facts) for option in part.options for inner in option)
    return isinstance(part, Placeholder) and part.name in facts
