"""Phrases as sentences: what documents ask for, and what people say of themselves."""

from collections.abc import Sequence
from typing import Literal

from branchwise.worlds.conditions.domain import YOUR

Voice = Literal["you", "must", "who"]
"""How a document speaks: "You are" / "Applicants must be" / "Only those who are ... can apply"."""
VOICES: tuple[Voice, ...] = ("you", "must", "who")
Shape = Literal["one", "both", "either", "either_both"]
"""What a sentence says of its conditions: a / a AND b / a OR b / a OR (b AND c)."""
SHAPES: dict[Shape, int] = {"one": 1, "both": 2, "either": 2, "either_both": 3}
"""How many conditions each has."""
_BE, _HAVE, _PERFECT = "be ", "have ", "have~ "
_YOUR = {"I": "my", "you": "your"}


def required(shape: Shape, phrases: Sequence[str], voice: Voice) -> str:
    """A sentence of a document, without its full stop's HTML."""
    said = _joined(shape, [_verb(phrase, voice) for phrase in phrases])
    if voice == "you":
        return f"You {said}."
    return f"Applicants must {said}." if voice == "must" else f"Only those who {said} can apply."


def told(phrase: str, *, value: bool) -> str:
    """A sentence that someone says of themselves."""
    return f"I {_verb(phrase, 'I') if value else _negated(phrase)}."


def _joined(shape: Shape, verbs: Sequence[str]) -> str:
    match shape:
        case "one":
            return verbs[0]
        case "both":
            return f"{verbs[0]} and {verbs[1]}"
        case "either":
            return f"either {verbs[0]} or {verbs[1]}"
        case "either_both":
            return f"either {verbs[0]} or both {verbs[1]} and {verbs[2]}"


def _verb(phrase: str, person: Literal["I", "you", "must", "who"]) -> str:
    phrase = phrase.replace(YOUR, _YOUR.get(person, "their"))
    if person != "must" and phrase.startswith(_BE):
        return f"{'am' if person == 'I' else 'are'} {phrase.removeprefix(_BE)}"
    return phrase.replace(_PERFECT, _HAVE, 1)


def _negated(phrase: str) -> str:
    phrase = phrase.replace(YOUR, _YOUR["I"])
    for start, negation in ((_BE, "am not"), (_PERFECT, "have not")):
        if phrase.startswith(start):
            return f"{negation} {phrase.removeprefix(start)}"
    return f"do not {phrase}"
