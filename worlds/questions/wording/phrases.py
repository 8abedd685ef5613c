"""The smallest pieces of a question: verbs in their forms, years, amounts, lists, articles."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from branchwise.worlds.questions.plans import Amount, Years

_BE = {"are": "is", "were": "was"}
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PREPOSITIONS = frozenset(["at", "by", "for", "from", "in", "of", "on", "to", "under", "with"])
_BY_NUMBER = re.compile(r"\[([^\]|]*)(?:\|([^\]]*))?\]")
_SILENT_H = re.compile(r"(hour|heir|honest|honou?r)", re.IGNORECASE)
_SOUNDS_LIKE_A_CONSONANT = re.compile(r"(uni|use|euro|one\b|once\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Verb:
    """A phrase of a schema's `said`, taken apart: a verb and the words around the other side.

    `form` is the plural ("were", "directed"), `base` the infinitive; both are empty for a phrase
    without a verb ("by {}"). `preposition` is the word right before {} if it is one.
    """

    base: str
    form: str
    before: str
    preposition: str
    after: str

    @classmethod
    def read(cls, phrase: str) -> "Verb":
        """The phrase as a schema declares it ("were directed by {}", "win/won {}")."""
        before, _, after = phrase.partition("{}")
        words = before.split()
        base = form = ""
        if words and (words[0] in (*_BE, "have") or "/" in words[0]):
            verb = words.pop(0)
            base, _, form = verb.rpartition("/")
            base = base or ("be" if form in _BE else "have")
        glued = before[-1:].strip() != ""
        preposition = words.pop() if words and words[-1] in _PREPOSITIONS and not glued else ""
        return cls(base, form, " ".join(words), preposition, after.strip())

    @property
    def is_active(self) -> bool:
        """Whether it says what one does, not what one is or has."""
        return self.base not in ("", "be", "have")

    @property
    def is_present(self) -> bool:
        return self.form in ("are", "have") or self.base == self.form

    @property
    def is_bare(self) -> bool:
        """Whether nothing but a preposition stands around the other side: played for it."""
        return not self.before and not self.after

    def of_one(self) -> "Verb":
        """The phrase for one name on the other side: the birthplace of X, not birthplaces."""
        return replace(self, before=self.before.replace("[s]", ""))

    def finite(self, other: str, plural: bool = True) -> str:
        """What they did: "were directed by Mara Voss"."""
        return self._around(self.form if plural else self._singular(), other, plural)

    def negated(self, other: str, plural: bool = True) -> str:
        """What they did not do: "did not win the award"."""
        if self.base == "be":
            return self._around(f"{self.form if plural else self._singular()} not", other, plural)
        return self._around(f"{self.auxiliary(plural)} not {self.base}", other, plural)

    def reduced(self, other: str, plural: bool = True) -> str:
        """Beside a noun, without "that were": "directed by Mara Voss". Empty where it cannot be."""
        if not self.base or (self.base == "be" and not re.match(r"the\b|\[", self.before)):
            return self._around("", other, plural)
        return self._around("with", other, plural) if self.base == "have" else ""

    def auxiliary(self, plural: bool) -> str:
        if not self.is_present:
            return "did"
        return "do" if plural else "does"

    def _singular(self) -> str:
        if self.form in _BE:
            return _BE[self.form]
        if self.form == "have":
            return "has"
        return third_person(self.form) if self.is_present else self.form

    def _around(self, verb: str, other: str, plural: bool) -> str:
        before, after = (_numbered(words, plural) for words in (self.before, self.after))
        return " ".join(word for word in (verb, before, self.preposition, other, after) if word)


def _numbered(words: str, plural: bool) -> str:
    """The plural or singular of what a phrase has in brackets: [s], [their|its]."""
    return _BY_NUMBER.sub(lambda match: match[1] if plural else match[2] or "", words)


def third_person(verb: str) -> str:
    """What he, she or it does: runs, teaches, carries."""
    if re.search(r"(s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return re.sub(r"(?<![aeiou])y$", "ie", verb) + "s"


def years_in_words(years: Years) -> str:
    """ "after 1990", "before 1980", "in 1985", "between 1980 and 1989": both included."""
    first, last = years.first, years.last
    if first is None:
        return f"before {(last or 0) + 1}"
    if last is None:
        return f"after {first - 1}"
    return f"in {first}" if first == last else f"between {first} and {last}"


def amount_in_words(amount: Amount) -> str:
    """ "at least 300", "at most 90", "between 90 and 120": both included."""
    least, most = amount.least, amount.most
    if least is None or most is None:
        return f"at least {_digits(least)}" if most is None else f"at most {_digits(most)}"
    if least == most:
        return f"exactly {_digits(least)}"
    return f"between {_digits(least)} and {_digits(most)}"


def _digits(number: float | None) -> str:
    value = number or 0.0
    return f"{int(value):,}" if value == int(value) else f"{value:,}"


def count_in_words(count: int) -> str:
    """Numbers up to ten are words."""
    return _COUNTS[count] if count < len(_COUNTS) else f"{count:,}"


def with_article(words: str) -> str:
    """ "a film", "an album", "a university"."""
    begins = words[:1].lower() in "aeiou" and not _SOUNDS_LIKE_A_CONSONANT.match(words)
    vowel = begins or _SILENT_H.match(words)
    return f"{'an' if vowel else 'a'} {words}"


def listed(parts: Sequence[str], conjunction: str = "and") -> str:
    """ "A", "A and B", "A, B and C"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"
