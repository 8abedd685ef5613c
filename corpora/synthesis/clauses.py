"""What is said of things: each part of a description as a clause, in the forms it may take."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, Protocol

from branchwise.corpora.errors import InputError
from branchwise.corpora.schema import Said, Schema
from branchwise.corpora.synthesis.descriptions import (
    Description,
    Either,
    Except,
    Meets,
    Mentioned,
    Named,
    Part,
    Related,
)
from branchwise.corpora.synthesis.nouns import Noun, of_kind
from branchwise.corpora.synthesis.phrases import (
    Verb,
    amount_in_words,
    listed,
    with_article,
    years_in_words,
)
from branchwise.corpora.synthesis.plans import Amount, Holds, Years

Name = Callable[[str], str]


@dataclass(frozen=True)
class Clause:
    """One thing that is said, with the other side in words.

    `denied` is the other side in a denial ("any film by ..."). `beside` is a phrase for beside a
    noun only. `swapped` is the same said of the other side, where that is one name: Mara Voss,
    directed. `long`: it holds a noun phrase, and nothing should follow it. `deniable`: "did not"
    says that it does not hold.
    """

    verb: Verb
    other: str
    denied: str = ""
    beside: Verb | None = None
    swapped: tuple[str, Verb] | None = None
    long: bool = False
    deniable: bool = False

    def finite(self, plural: bool = True) -> str:
        return self.verb.finite(self.other, plural)

    def negated(self, plural: bool = True) -> str:
        return self.verb.negated(self.denied or self.other, plural)

    def reduced(self, plural: bool = True) -> str:
        return (self.beside or self.verb).reduced(self.other, plural)

    def reduced_denial(self, plural: bool = True) -> str:
        return self.verb.reduced(self.denied or self.other, plural)


@dataclass(frozen=True)
class Choice:
    """One of several: each option is all of its clauses."""

    options: tuple[tuple[Clause, ...], ...]

    @property
    def long(self) -> bool:
        return any(clause.long for option in self.options for clause in option)

    def finite(self, plural: bool = True) -> str:
        """Long options come last, and "either" says where the first begins."""
        said = [listed([clause.finite(plural) for clause in option]) for option in self.options]
        if all(len(option) == 1 for option in self.options) and not self._long_before_last:
            return listed(said, "or")
        return f"either {', '.join(said[:-1])}, or {said[-1]}"

    @property
    def _long_before_last(self) -> bool:
        return any(clause.long for option in self.options[:-1] for clause in option)

    def reduced(self, plural: bool = True) -> str:
        said = [option[0].reduced(plural) for option in self.options if len(option) == 1]
        return listed(said, "or") if len(said) == len(self.options) and all(said) else ""


class Sayer(Protocol):
    """Puts sets into words."""

    def members(self, of: "Description | Mentioned", at_least: int, plural_only: bool) -> str:
        """Some of them: "films directed by X", "a film ...", "at least three films ..."."""
        ...

    def none_of(self, of: "Description | Mentioned") -> str:
        """After a denial: "any film directed by X"."""
        ...


class Clauses:
    """Makes clauses from parts, in phrases of the schema that `random` chooses."""

    def __init__(self, schema: Schema, name: Name, random: Random, sayer: Sayer) -> None:
        self._schema, self._name, self._random, self._sayer = schema, name, random, sayer

    def of(self, parts: Iterable[Part], noun: Noun) -> list[Clause | Choice]:
        """The clauses of all parts but exceptions, shortest first."""
        made: list[Clause | Choice] = []
        for group in self._grouped(parts):
            first = group[0]
            if isinstance(first, Related):
                made.append(
                    self._related([p for p in group if isinstance(p, Related)], "and", noun)
                )
            elif isinstance(first, Meets):
                made.append(self._meets([p for p in group if isinstance(p, Meets)], "and", noun))
            elif isinstance(first, Either):
                made.append(self._either(first, noun))
        return sorted(made, key=lambda clause: clause.long)

    def _grouped(self, parts: Iterable[Part]) -> list[list[Part]]:
        """Parts that are said with one verb, together."""
        groups: list[list[Part]] = []
        for part in parts:
            if isinstance(part, Except):
                continue
            found = next((g for g in groups if self._together(g[0], part)), None)
            if found is None:
                groups.append([part])
            else:
                found.append(part)
        return groups

    def _together(self, one: Part, other: Part) -> bool:
        if isinstance(one, Related) and isinstance(other, Related):
            return (one.relation, one.inverse) == (other.relation, other.inverse) and any(
                verb.base and not verb.after for verb in self._verbs(one.relation, one.inverse)
            )
        return (
            isinstance(one, Meets)
            and isinstance(other, Meets)
            and one.relation == other.relation
            and not isinstance(one.condition, Holds)
        )

    def _either(self, part: Either, noun: Noun) -> Clause | Choice:
        alone = [option[0] for option in part.options if len(option) == 1]
        if len(alone) == len(part.options) and all(self._together(alone[0], p) for p in alone):
            if related := [p for p in alone if isinstance(p, Related)]:
                return self._related(related, "or", noun)
            return self._meets([p for p in alone if isinstance(p, Meets)], "or", noun)
        options = []
        for option in part.options:
            clauses = [c for c in self.of(option, noun) if isinstance(c, Clause)]
            options.append(tuple(clauses))
        return Choice(tuple(sorted(options, key=lambda o: (any(c.long for c in o), len(o)))))

    def _related(
        self, parts: Sequence[Related], conjunction: Literal["and", "or"], noun: Noun
    ) -> Clause:
        parts = sorted(parts, key=lambda part: not isinstance(part.to, Named))
        first = parts[0]
        long = any(not isinstance(part.to, Named) for part in parts)
        heavy = any(isinstance(part.to, Description) for part in parts)
        verbs = self._verbs(first.relation, first.inverse)
        verb = self._choose(verbs, noun, end=heavy or len(parts) > 1)
        if len(parts) > 1:
            other = self._joined(parts, conjunction, verb)
            return Clause(replace(verb, preposition=""), other, long=long)
        return Clause(
            verb,
            self._other_side(first, verb),
            denied=self._denied(first),
            beside=self._beside(verbs),
            swapped=self._swapped(first),
            long=heavy,
            deniable=first.at_least == 1,
        )

    def without(self, part: Related, missing: Related, noun: Noun) -> Clause | None:
        """One related but not the other, with one verb: played for A but not for B.

        None where it would not be clear what is denied.
        """
        verb = self._choose(self._verbs(part.relation, part.inverse), noun, end=True)
        if verb.after or (isinstance(part.to, Description) and not verb.preposition):
            return None
        said = f"{self._other_side(part, verb)} but not"
        words = [verb.preposition, said, verb.preposition, self._denied(missing)]
        other = " ".join(word for word in words if word)
        return Clause(replace(verb, preposition=""), other, long=True)

    def _joined(self, parts: Sequence[Related], conjunction: str, verb: Verb) -> str:
        others = [self._other_side(part, verb) for part in parts]
        both = conjunction == "and" and len(parts) == 2
        if all(isinstance(part.to, Named) for part in parts):
            joined = f"{'both ' if both else ''}{listed(others, conjunction)}"
            return f"{verb.preposition} {joined}".strip()
        repeated = [f"{verb.preposition} {other}".strip() for other in others]
        return f"{'both ' if both else ''}{listed(repeated, conjunction)}"

    def _other_side(self, part: Related, verb: Verb) -> str:
        if isinstance(part.to, Named):
            return self.named(part)
        return self._sayer.members(part.to, part.at_least, "[" in verb.before + verb.after)

    def _denied(self, part: Related) -> str:
        return self.named(part) if isinstance(part.to, Named) else self._sayer.none_of(part.to)

    def named(self, part: Related) -> str:
        """The name of the other side, with "the" where all of its types are said so."""
        assert isinstance(part.to, Named)
        relation = self._schema.relations[part.relation]
        types = self._schema.objects(relation) if part.inverse else self._schema.subjects(relation)
        name = self._name(part.to.number)
        definite = all(self._schema.types[type].definite for type in types)
        return f"the {name}" if definite and not name.lower().startswith("the ") else name

    def _swapped(self, part: Related) -> tuple[str, Verb] | None:
        if not isinstance(part.to, Named):
            return None
        said = self._said(part.relation)
        phrases = said.object if part.inverse else said.subject
        verbs = [verb for verb in map(Verb.read, phrases) if verb.is_active and verb.is_bare]
        return (self.named(part), self._random.choice(verbs)) if verbs else None

    def _meets(self, parts: Sequence[Meets], conjunction: str, noun: Noun) -> Clause:
        said = self._said(parts[0].relation)
        values = []
        for part in parts:
            if isinstance(part.condition, Years):
                values.append(years_in_words(part.condition))
            elif isinstance(part.condition, Amount):
                values.append(amount_in_words(part.condition))
            else:
                values.append(self.item(part))
        if said.kind and isinstance(parts[0].condition, Holds):
            kind = of_kind(noun, said, values)
            return Clause(
                Verb("be", "are", f"[{kind.plural}|{with_article(kind.singular)}]", "", ""), ""
            )
        verb = self._choose(self._verbs(parts[0].relation, True), noun, end=False)
        return Clause(verb, listed(values, conjunction))

    def kind(self, part: Part) -> tuple[Said, list[str]] | None:
        """What makes a noun of its own, "horror films": how it is said, and the words; or None."""
        options = part.options if isinstance(part, Either) else ((part,),)
        alone = [option[0] for option in options if len(option) == 1]
        found = [p for p in alone if isinstance(p, Meets) and isinstance(p.condition, Holds)]
        if len(found) < len(options) or len({p.relation for p in found}) > 1:
            return None
        said = self._said(found[0].relation)
        return (said, [self.item(p) for p in found]) if said.kind else None

    def item(self, part: Meets) -> str:
        assert isinstance(part.condition, Holds)
        words = self._said(part.relation).words
        return words.get(part.condition.value) or self._name(part.condition.value)

    def _said(self, relation: str) -> Said:
        said = self._schema.relations[relation].said
        if said is None:
            raise InputError(
                f"the relation {relation!r} cannot be said in a question",
                remedy="declare it in the schema, under `said`",
            )
        return said

    def _verbs(self, relation: str, inverse: bool) -> list[Verb]:
        said = self._said(relation)
        verbs = [Verb.read(phrase) for phrase in (said.subject if inverse else said.object)]
        if not any(verb.base for verb in verbs):
            side = "subject" if inverse else "object"
            raise InputError(
                f"the relation {relation!r} cannot be said of its {side}s",
                remedy=f"declare a phrase with a verb in the schema, under `said: {side}`",
            )
        return verbs

    def _choose(self, verbs: Sequence[Verb], noun: Noun, end: bool) -> Verb:
        """A phrase with a verb that does not repeat the noun; `end`: nothing may follow {}."""
        fit = [verb for verb in verbs if verb.base]
        for wanted in (lambda v: not (end and v.after), lambda v: not stutters(noun.plural, v)):
            fit = [verb for verb in fit if wanted(verb)] or fit
        return fit[0] if self._random.random() < 0.5 else self._random.choice(fit)

    def _beside(self, verbs: Sequence[Verb]) -> Verb | None:
        bare = [verb for verb in verbs if not verb.base]
        return self._random.choice(bare) if bare and self._random.random() < 0.6 else None


def stutters(noun: str, verb: Verb) -> bool:
    """Whether a noun and what follows have a word's beginning in common: directors directed."""
    words = re.findall(r"\w+", f"{verb.base} {verb.form} {verb.before}".lower())
    return any(_alike(a, b) for a in noun.lower().split() for b in words)


def _alike(one: str, other: str) -> bool:
    return len(one) > 4 and len(other) > 4 and one[:5] == other[:5]
