"""A clause: one thing that is said, in the forms that it takes in a sentence."""

from dataclasses import dataclass

from branchwise.corpora.synthesis.phrases import Verb


@dataclass(frozen=True)
class Clause:
    """A verb with the other side in words.

    `denied` is the other side in a denial ("any film by X"). `beside` is a phrase for beside a
    noun only. `swapped` is the same said of the other side, where that is one name: Mara Voss,
    directed. `long`: it holds a noun phrase, and nothing should follow it. `deniable`: "did not"
    says plainly that it does not hold. `alone`: nothing else may stand beside the noun, as it would
    be taken with a name ("based in X with ...").
    """

    verb: Verb
    other: str
    denied: str = ""
    beside: Verb | None = None
    swapped: tuple[str, Verb] | None = None
    long: bool = False
    deniable: bool = True
    alone: bool = False

    def finite(self, plural: bool = True) -> str:
        """ "were directed by X"."""
        return self.verb.finite(self.other, plural)

    def negated(self, plural: bool = True) -> str:
        """ "were not directed by X"."""
        return self.verb.negated(self.denied or self.other, plural)

    def reduced(self, plural: bool = True) -> str:
        """ "directed by X", or nothing where the verb cannot be left out."""
        return (self.beside or self.verb).reduced(self.other, plural)

    def reduced_denial(self, plural: bool = True) -> str:
        """ "not directed by X", or nothing."""
        words = self.verb.reduced(self.denied or self.other, plural)
        return f"not {words}" if words and self.verb.base == "be" else ""
