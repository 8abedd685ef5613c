"""Which options of a clarification question a person means, by what they say."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from typing_extensions import TypedDict

from branchwise.base.normalise import normalise
from branchwise.base.text import cut, one_line, printable, whole_characters

ALL = "all"
"""Says that every option is meant."""
MAX_OWN_WORDS = 1_000
"""Characters of a choice in one's own words."""
_NUMBER = re.compile(r"#?\s*(\d{1,9})\s*[.)]?")


class PersonAsked(TypedDict):
    """What a person is asked; plain JSON.

    `question`: the one that was put. `clarification_question` and its `options`, each once, in
    order: what is asked back. `problem`: why what was said before is no choice; empty at first.
    """

    question: str
    clarification_question: str
    options: list[str]
    problem: str


class Person(Protocol):
    """Who is asked back, or a program in their place. What is returned is read by `read_choice`; if
    it is no choice, they are asked again, with the problem."""

    async def __call__(self, asked: PersonAsked) -> Any: ...


class ChoiceError(ValueError):
    """What was said is no choice; the message says in one line what is possible."""


def read_choice(said: Any, options: Sequence[str]) -> tuple[str, ...]:
    """The options that are meant, or a reading in the person's own words.

    A text that is an option's but for case, punctuation and articles is that option, "all" are all
    of them, a number is an option's place from 1; any other text that has a letter is a reading of
    its own. Raises ChoiceError.
    """
    if isinstance(said, bool) or not isinstance(said, str | int):
        raise ChoiceError(f"that is neither a number nor a text; {_possible(options)}")
    text = one_line(printable(whole_characters(str(said)), " "))
    if text in options:
        return (text,)
    if len(text) > MAX_OWN_WORDS:
        raise ChoiceError(f"that has {len(text)} characters; use at most {MAX_OWN_WORDS}")
    if same := [option for option in options if normalise(option) == normalise(text)]:
        return (same[0],)
    if text.casefold() == ALL:
        return tuple(options)
    if number := _NUMBER.fullmatch(text):
        return (_numbered(int(number[1]), options),)
    return (_own_words(text, options),)


def _numbered(number: int, options: Sequence[str]) -> str:
    if not 1 <= number <= len(options):
        raise ChoiceError(f"unknown option {number}; {_possible(options)}")
    return options[number - 1]


def _own_words(text: str, options: Sequence[str]) -> str:
    if not text:
        raise ChoiceError(f"nothing was said; {_possible(options)}")
    if not any(map(str.isalpha, text)):
        raise ChoiceError(f"{cut(text, 40)!r} names no option; {_possible(options)}")
    return text


def _possible(options: Sequence[str]) -> str:
    return f'say a number from 1 to {len(options)}, "{ALL}", or what you mean in your own words'
