"""Shapes of plans: which operations on which sets, before relations and entities are chosen.

A shape is written as its operations in order, one letter each: A(tomic), J(oin), F(ilter),
G(roup by), U(nion), I(ntersection), D(ifference). As in reverse Polish notation an operation takes
the latest sets: "AJAFD" are the relatives of what an entity is related to, but those that are in a
filtered second set. The first A is the focus.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

SET_OPERATIONS = "UID"

_SHAPES = (
    "AJ AF AG",
    "AJJ AJF AFJ AFF AGF AFG AJG AGJ AAI AAD AAU",
    "AJJF AJFF AJFJ AFJF AFFJ AJJG AJFG AFGF AJGF AGJF AAIJ AADJ AAUJ AAIF AAUF AADF AAUG AAIG "
    "AJAI AJAD AJAU AFAI AFAD AFAU AAFD AAFU AGAI AGAD AGAU",
    "AJAJI AJAJD AJAJU AJAFD AJAFI AFAFI AFAFD AFAFU AJAIF AJADF AJAUF AGADF AGAIF AAIJF AADJF "
    "AAUJF AAUGF AADGF AAUFJ AADFJ AAUFG AFAIJ AFADG AGAGD AGAJI AAUAD AAUAI AAIAD AFFAD AJFAD "
    "AJFAI AFJAD AFJAI AFGAD AFFJF AJJFF",
    "AJAJIF AJAJDF AJAJUF AJFAJD AJFAJI AFJAJD AFJAJI AFGAJD AJAFDF AFAFUG AFAFDJ AAUADF AAUAIF "
    "AAIADF AAUADJ AAUADG AAUJAD AAUGAD AADJAI AFAUJF AFADJF AJJAJI AJJFAD AFAFIF",
)
_SHARES = (8, 18, 32, 26, 16)  # of shapes of two steps, three, and so on


@dataclass(frozen=True)
class Template:
    """A shape; `weight` is how often it is wanted beside the others."""

    letters: str
    weight: float

    def parts(self) -> Iterator[tuple[str, str]]:
        """Its operations in order: one that takes a single set with "", one that takes two with
        the letters that its second set is made by."""
        operand = ""
        for letter in self.letters[1:]:
            if letter in SET_OPERATIONS:
                yield letter, operand
                operand = ""
            elif operand or letter == "A":
                operand += letter
            else:
                yield letter, ""


def templates() -> tuple[Template, ...]:
    """All shapes. None has the same set operation twice."""
    rows = [(row.split(), share) for row, share in zip(_SHAPES, _SHARES, strict=True)]
    return tuple(Template(letters, share / len(row)) for row, share in rows for letters in row)


class TemplateDraw:
    """Draws templates by weight; those that were often accepted already are drawn less often."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._all = templates()
        self._accepted: Counter[str] = Counter()

    def draw(self) -> Template:
        """The next template to try."""
        weights = [t.weight / (1 + self._accepted[t.letters] / t.weight) for t in self._all]
        return self._rng.choices(self._all, weights)[0]

    def accept(self, template: Template) -> None:
        """Note that a question came of it."""
        self._accepted[template.letters] += 1
