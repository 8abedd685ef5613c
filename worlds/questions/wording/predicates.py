"""What is said of a noun, as clauses in words that a vocabulary chooses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.plans import Amount, Holds, Years
from branchwise.worlds.questions.wording.clauses import (
    Clause,
    ClumsyError,
    UnclearError,
    light_first,
)
from branchwise.worlds.questions.wording.descriptions import (
    Constraint,
    Description,
    Either,
    Except,
    Meets,
    Mentioned,
    NamedEntity,
    Related,
    is_single,
)
from branchwise.worlds.questions.wording.vocabulary import (
    Noun,
    Verb,
    Vocabulary,
    of_kind,
    stutters,
    with_article,
)

MOST_CLAUSES = 2  # in a row


@dataclass(frozen=True)
class Choice:
    """ "either ... or ...": the options, the lighter first."""

    options: tuple[Clause, ...]

    @property
    def reducible(self) -> bool:
        return all(clause.reducible for clause in self.options)


@dataclass(frozen=True)
class Predicates:
    """All that is said of a noun: clauses, a choice, and what is denied."""

    clauses: tuple[Clause, ...]
    choice: Choice | None
    denial: Clause | None

    @property
    def first(self) -> Clause | None:
        """One of those that can come first in a row."""
        return (*self.clauses, self.choice.options[0] if self.choice else self.denial)[0]


class PredicateMaker:
    """Makes predicates, with one verb for one relation as far as it fits."""

    def __init__(self, schema: Schema, words: Vocabulary) -> None:
        self._schema, self._words = schema, words
        self._verbs: dict[tuple[str, bool], Verb] = {}
        self._people = {schema.types[name].plural for name in schema.concrete}

    def __call__(self, parts: Iterable[Constraint], noun: Noun) -> Predicates:
        """Raises UnclearError for more than one choice, and for things denied by several verbs."""
        positive, choices, denied = [], [], []
        for part in parts:
            if isinstance(part, Except) and part.is_plain:
                denied.append(part.parts[0])
            elif isinstance(part, Except):
                raise ClumsyError("an exclusion")
            elif isinstance(part, Either):
                choices.append(part)
            else:
                positive.append(part)
        clauses = self._with_years([self.clause(g, "and", noun) for g in self._grouped(positive)])
        choice = None
        for either in choices:
            made = self._choice(either, noun)
            if isinstance(made, Clause):
                clauses.append(made)
            elif choice is None:
                choice = made
            else:
                raise UnclearError
        denials = [self.clause(group, "or", noun) for group in self._grouped(denied)]
        if len(denials) > 1:
            raise UnclearError
        if self._words.aloud:
            self._check_many(clauses, bool(choice) + len(denials))
        related = [c.parts[0] for c in clauses if isinstance(c.parts[0], Related)]
        if len({(part.relation, part.inverse) for part in related}) < len(related):
            raise ClumsyError("a description beside another of the same verb")
        return Predicates(tuple(light_first(clauses)), choice, (*denials, None)[0])

    @staticmethod
    def _check_many(clauses: Sequence[Clause], others: int) -> None:
        """Raises ClumsyError for too many clauses: three, if not all are short and positive."""
        short = not others and all(clause.light for clause in clauses)
        if len(clauses) + others > MOST_CLAUSES + short:
            raise ClumsyError("three clauses about a noun")

    def _choice(self, either: Either, noun: Noun) -> Choice | Clause:
        """Names that one verb joins are one clause: directed by X or Y."""
        singles = [option[0] for option in either.options if len(option) == 1]
        merged = [self.clause(group, "or", noun) for group in self._grouped(singles)]
        if len(singles) == len(either.options) and len(merged) == 1 and merged[0].light:
            return merged[0]
        for option in either.options:
            if len(option) > 1:
                grouped = [self.clause(g, "and", noun) for g in self._grouped(option)]
                made = self._with_years(grouped)
                if len(made) > 1 or len(made[0].parts) > 1:
                    raise ClumsyError("an alternative of two clauses")
                merged.extend(made)
        if len(merged) > 2 or not all(clause.light for clause in merged):
            raise ClumsyError("a long alternative")
        if len({clause.ended for clause in merged}) > 1:
            raise ClumsyError("what is so or was so before")
        if not all(c.verb.is_active for c in merged) and {c.verb.form for c in merged} != {"were"}:
            raise ClumsyError("alternatives of unlike predicates")
        return Choice(tuple(sorted(merged, key=lambda clause: (not clause.light, clause.weight))))

    @staticmethod
    def _same(first: Constraint, second: Constraint) -> bool:
        if isinstance(first, Related) and isinstance(second, Related):
            return (first.relation, first.inverse) == (second.relation, second.inverse)
        return False

    def _grouped(self, parts: Iterable[Constraint]) -> list[list[Related | Meets]]:
        """Parts that one verb joins: names of one relation."""
        groups: list[list[Related | Meets]] = []
        for part in parts:
            if isinstance(part, Either | Except):
                raise UnclearError
            fit = (g for g in groups if self._same(g[0], part) and self._names((*g, part)))
            if (group := next(fit, None)) is not None:
                group.append(part)
            else:
                groups.append([part])
        return groups

    def _names(self, parts: Iterable[Constraint]) -> bool:
        return all(isinstance(p, Related) and isinstance(p.to, NamedEntity) for p in parts)

    def clause(
        self,
        parts: Sequence[Related | Meets],
        word: Literal["and", "or"],
        noun: Noun,
        verb: Verb | None = None,
    ) -> Clause:
        first = parts[0]
        if isinstance(first, Meets):
            return self._meeting(first, noun)
        named = self._names(parts)
        if self._words.aloud and not verb and not self._words.said(first.relation).subject:
            raise ClumsyError("a role outside of a noun phrase")
        verb = verb or self._verb(first, noun, not named)
        beside = self._words.beside(first.relation, first.inverse)
        if noun.of_people and noun.plural not in self._people:
            beside = None  # actors in a film, but no citizens in it
        others = self._words.others_alike(first)
        return Clause(
            tuple(parts),
            word,
            verb,
            named=named,
            light=named or (self._names_one(first) and not verb.noun),
            alone=verb.base == "have",
            others=others,
            beside=beside if len(parts) == 1 else None,
            single=is_one(first, self._schema),
            weight=0 if named else _weight(first.to),
            ended=self._schema.relations[first.relation].ended,
        )

    def _verb(self, part: Related, noun: Noun, to_set: bool) -> Verb:
        """The same verb for the same relation, as far as it fits."""
        key = (part.relation, part.inverse)
        known = self._verbs.get(key)
        if known and not (known.noun or known.after or stutters(noun, known)):
            return known
        self._verbs[key] = self._words.verb(*key, noun, to_set)
        return self._verbs[key]

    def _with_years(self, clauses: Sequence[Clause]) -> list[Clause]:
        """Years go with a short clause that has their verb: founded by X in 1990."""
        made = list(clauses)
        for years in clauses:
            meets = years.parts[0]
            if not isinstance(meets, Meets) or not isinstance(meets.condition, Years):
                continue
            forms = [(v.form, v.before) for v in self._words.verbs(meets.relation, True)]
            for clause in made:
                verb = clause.verb
                fit = clause.light and verb.preposition and not verb.after and not clause.is_choice
                if fit and verb.base == "be" and (verb.form, verb.before) in forms:
                    taken = replace(clause, years=years.value, beside=None)
                    made = [taken if c is clause else c for c in made if c is not years]
                    break
        return made

    def _names_one(self, part: Related) -> bool:
        """Whether the other side is a role of one name: the birthplace of X."""
        if not isinstance(part.to, Description) or part.at_least > 1 or len(part.to.parts) > 1:
            return False
        inner = part.to.parts[0] if part.to.parts else None
        role = isinstance(inner, Related) and self._words.role(inner.relation, inner.inverse)
        return bool(role) and isinstance(inner, Related) and isinstance(inner.to, NamedEntity)

    def _meeting(self, part: Meets, noun: Noun) -> Clause:
        value, said = self._words.value(part), self._words.said(part.relation)
        if statement := self._words.statement(part):
            if self._words.aloud:
                raise ClumsyError("an occupation that must be stated")
            return Clause((part,), "and", statement, alone=statement.base == "have")
        if said.kind and isinstance(part.condition, Holds):
            kind = of_kind(noun, said, [value])
            either = f"[{kind.plural}|{with_article(kind.singular)}]"
            return Clause((part,), "and", Verb("be", "are", either, "", ""))
        verb = self._words.verb(part.relation, True, noun)
        alone = isinstance(part.condition, Amount) or verb.base == "have"
        if isinstance(part.condition, Amount) and verb.measures and self._words.aloud:
            others = [
                v for v in self._words.verbs(part.relation, True) if v.base and not v.measures
            ]
            if part.condition.least is None:  # no longer than 90 minutes
                verb, value = verb.compared(), value.removeprefix("at most ")
            elif others:
                verb = others[0]
            else:
                raise ClumsyError("an amount before an adjective")
        return Clause((part,), "and", verb, alone=alone, value=value)


def is_one(part: Related, schema: Schema) -> bool:
    """Whether a part relates to one thing at most: by its name, or to the city of a birth."""
    if isinstance(part.to, Description):
        return is_single(part.to, schema)
    return isinstance(part.to, NamedEntity)


def _weight(of: Constraint | Description | NamedEntity | Mentioned) -> int:
    if isinstance(of, Meets | NamedEntity | Mentioned):
        return 1
    if isinstance(of, Related):
        return 1 + _weight(of.to)
    if isinstance(of, Either):
        return sum(_weight(part) for option in of.options for part in option)
    return sum(map(_weight, of.parts))
