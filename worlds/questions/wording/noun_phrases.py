"""Descriptions in words: "horror films directed by Mara Voss that won an award".

What is short comes first, and a noun that more is said of comes last, so that sentences branch to
the right alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.drafts import Types
from branchwise.worlds.questions.wording.clauses import (
    About,
    Clause,
    ClumsyError,
    Open,
    Phrase,
    UnclearError,
    joining,
    light_first,
)
from branchwise.worlds.questions.wording.descriptions import (
    Constraint,
    Description,
    Either,
    Meets,
    Mentioned,
    NamedEntity,
    Related,
    covered,
    exceeds,
)
from branchwise.worlds.questions.wording.predicates import (
    MOST_CLAUSES,
    Choice,
    PredicateMaker,
    Predicates,
    is_one,
)
from branchwise.worlds.questions.wording.vocabulary import (
    NameOf,
    Noun,
    Verb,
    Vocabulary,
    count_in_words,
    in_number,
    listed,
    noun_of,
    now_and_then,
    of_kind,
    people_of,
    stutters,
)

_SINGULAR_OFTEN = 0.3
_OR_MORE_OFTEN = 0.3
_POSSESSIVE_OFTEN = 0.5
_MOST_BESIDE = 2
_MOST_TYPES = 2

OpenNouns = tuple[Open, ...]
"""What is open where a phrase begins: the nouns that it is part of."""


class NounPhrases:
    """Noun phrases in words that `random` chooses."""

    def __init__(self, schema: Schema, name: NameOf, random: Random) -> None:
        self.schema, self.random = schema, random
        self.words = Vocabulary(schema, name, random)
        self.predicates = PredicateMaker(schema, self.words)

    # Descriptions.

    def phrase(
        self,
        described: Description,
        number: str = "plural",
        within: Related | None = None,
        place: OpenNouns = (),
        called: Noun | None = None,
    ) -> Phrase:
        """The noun and all that is said of it. `number`: plural, one ("a film"), any, or the.
        `within`: the part that it is the other side of. `called`: the noun, if not the type's."""
        if not called and (by_role := self._by_role(described, number, within, place)):
            return by_role
        noun, rest = self.noun(described, within, called)
        about = About(noun, described.types, number == "plural", "relative")
        head = noun.in_number(number)
        return self._modified(head, about, self.predicates(rest, noun), place)

    def _by_role(
        self, described: Description, number: str, within: Related | None, place: OpenNouns
    ) -> Phrase | None:
        """ "the birthplace of X", "citizens of X born in 1990", where a part gives such a noun."""
        first = described.parts[0] if described.parts else None
        if not isinstance(first, Related) or first.at_least > 1 or isinstance(first.to, Mentioned):
            return None
        role = self.words.role(first.relation, first.inverse)
        rest = described.parts[1:]
        if role is None or (rest and not isinstance(first.to, NamedEntity)):
            return None
        noun = noun_of(described.types, self.schema)
        of_places = {"country", "city"} >= set(self.words.other_types(first))
        counted = within is not None and within.at_least > 1
        if (rest and not (noun.of_people and of_places)) or (counted and not noun.of_people):
            return None
        if any(map(self.words.kinds, rest)) or not (noun.of_people or is_one(first, self.schema)):
            return None  # "a setting of novels by X"
        plural = number == "plural"
        bare = in_number(role.before.removeprefix("the "), plural)
        clause = self.predicates.clause([first], "and", noun, role)
        inside = (*place, About(noun, described.types, plural, "reduced").opened(clause))
        try:
            other = replace(self._other(clause, inside, plural), edge=place)
        except UnclearError:
            return None
        if not rest and number == "the" and other.name and self._may_own(other):
            return replace(other, words=f"{other.words}'s {bare}", name=described.types)
        role_noun = Noun(f"{bare} of {other.words}", f"{bare} of {other.words}", noun.of_people)
        head = role_noun.in_number(number)
        if not rest:
            # The few founders of a company, some of the many citizens of a country.
            few = plural and not first.inverse and not counted and is_one(first, self.schema)
            types = (*described.types, *other.name)
            return replace(other, words=f"the {head}" if few else head, name=types)
        about = About(role_noun, described.types, plural, "relative")
        return self._modified(head, about, self.predicates(rest, role_noun), place)

    def _may_own(self, owner: Phrase) -> bool:
        name = owner.words
        plain = not name.endswith((")", "s", "x", "z")) and not name.startswith("the ")
        fits = plain and self._of_people(owner.name)
        return fits and now_and_then(_POSSESSIVE_OFTEN, self.random)

    def noun(
        self, described: Description, within: Related | None = None, called: Noun | None = None
    ) -> tuple[Noun, list[Constraint]]:
        """What the things are called, and what is left to say of them."""
        if called:
            return called, list(described.parts)
        if exceeds(described, self.schema):
            raise UnclearError
        noun, rest = noun_of(described.types, self.schema), list(described.parts)
        if self.words.aloud and not noun.of_people and len(described.types) > _MOST_TYPES:
            raise ClumsyError("a noun of many types")
        for part in described.parts:
            if kinds := self.words.kinds(part):
                noun, rest = of_kind(noun, *kinds), [p for p in rest if p is not part]
                break
        if others := covered(described, self.schema, within):
            if self.words.aloud:
                raise ClumsyError("a noun that covers other types")
            return noun.other_than([self.schema.types[name].plural for name in others]), rest
        options = [o for p in rest for o in (p.options if isinstance(p, Either) else ((p,),))]
        sides = [(p.relation, p.inverse) for o in options for p in o if isinstance(p, Related)]
        if within:
            sides.append((within.relation, within.inverse))
        verbs = (verb for side in sides for verb in self.words.verbs(*side))
        if noun.of_people and not noun.plain and any(stutters(noun, verb) for verb in verbs):
            return people_of(described.types, self.schema), rest
        return noun, rest

    # The other side of a clause.

    def _other(
        self, clause: Clause, place: OpenNouns, plural: bool, denied: bool = False
    ) -> Phrase:
        """The other side of a clause."""
        first = clause.parts[0]
        if isinstance(first, Meets):
            return Phrase(clause.value, place)
        if clause.named:
            named = [self.words.named(part) for part in clause.parts if isinstance(part, Related)]
            both = "both " if clause.word == "and" and len(named) == 2 else ""
            # "won by actors in X or Y": Y might have won.
            wide = any(set(clause.others) & set(open_.others) for open_ in place[:-1])
            both = "either " if clause.is_choice and wide else both
            return Phrase(f"{both}{listed(named, clause.word)}", place, clause.others)
        return self._members(first, clause.verb, place, denied)

    def _members(self, part: Related, verb: Verb, place: OpenNouns, denied: bool) -> Phrase:
        """Some of a set: "films by X", "a film by X", "at least three films by X"."""
        number = count_in_words(part.at_least)
        or_more = now_and_then(_OR_MORE_OFTEN, self.random) or verb.preposition == "at"
        count = f"{number} or more" if or_more else f"at least {number}"
        if isinstance(part.to, Mentioned):
            some = count if part.at_least > 1 else "any"
            return Phrase(f"{some} of {part.to.number}", place)
        assert isinstance(part.to, Description)
        called = Noun(verb.noun, verb.noun.removesuffix("s"), True) if verb.noun else None
        if is_one(part, self.schema) and not called:
            return self.phrase(part.to, "the", place=place)
        if part.at_least > 1:
            if denied:
                raise UnclearError
            return self.phrase(part.to, "plural", part, place, called).after(count)
        of_many = "[" in verb.before + verb.after or verb.noun
        # Who was born in a city in X: nobody was born in several.
        only = part.inverse and self.schema.relations[part.relation].count[1] == 1
        singular = now_and_then(_SINGULAR_OFTEN, self.random) and not of_many
        singular = singular or (only and not verb.noun)
        number = "any" if denied else "one" if singular else "plural"
        return self.phrase(part.to, number, part, place, called)

    def named_first(self, part: Related, own: Open) -> str:
        """The other side, where it comes before the verb: "were the founders of X born"."""
        if isinstance(part.to, NamedEntity):
            return self.words.named(part)
        assert isinstance(part.to, Description)
        if is_one(part, self.schema):
            return self.phrase(part.to, "the", place=(own,)).words
        return self.phrase(part.to, "plural", part, (own,)).words

    # Clauses around a noun.

    def _modified(self, head: str, about: About, said: Predicates, place: OpenNouns) -> Phrase:
        """The noun with all its clauses: short ones beside it, the rest after its pronoun."""
        if said.denial:
            raise ClumsyError("a denial inside a description")
        if self.words.aloud and len(said.clauses) > MOST_CLAUSES:
            raise ClumsyError("three clauses about a noun")
        beside, rest = self.split(said)
        items = len(rest) + bool(said.choice)
        only = (*rest, said.choice)
        alone = any(clause.alone for clause in (*beside, *rest)) and beside
        short = items == 1 and not alone and all(item is None or item.reducible for item in only)
        if short and (made := self._reduced(head, beside, rest, said, about, place)) is not None:
            return made
        try:
            phrase = self.beside(head, beside, about, place)
            if not items:
                return phrase
            first = replace(said, clauses=tuple(rest)).first
            assert first is not None
            people = about.noun.of_people and self._of_people(phrase.name)
            if phrase.name and (people or first.may_be_said_of(phrase.name, self.schema)):
                # "supervised by Mara Voss who ..." would speak of Mara Voss.
                raise UnclearError
        except UnclearError:
            phrase, rest = Phrase(head, place), light_first([*beside, *rest])
        first = replace(said, clauses=tuple(rest)).first
        if first:  # "students of scientists who ...": students or scientists?
            reduced = [o for o in place if o.form == "reduced"]
            self._check_around(first, [o for o in reduced if o.pronoun == about.noun.pronoun])
        verbs = self.verb_phrase(rest, said.choice, None, about, place)
        return verbs.after(f"{phrase.words} {about.noun.pronoun}")

    def check_denial(self, said: Predicates) -> None:
        """Raises ClumsyError for a denial after more than one short clause."""
        if said.denial and (said.choice or any(not clause.light for clause in said.clauses)):
            raise ClumsyError("a denial after a long clause")

    def _check_around(self, clause: Clause, nouns: Sequence[Open]) -> None:
        if any(clause.may_be_said_of(noun.types, self.schema) for noun in nouns):
            raise UnclearError

    def _of_people(self, types: Types) -> bool:
        return any(noun_of((name,), self.schema).of_people for name in types)

    def split(
        self, said: Predicates, most: int = _MOST_BESIDE
    ) -> tuple[list[Clause], list[Clause]]:
        """Clauses that may stand beside the noun, all together, and the others."""
        fit = [c for c in said.clauses if c.light and c.reducible]
        fit = [c for c in fit if not c.alone] or fit[:1]
        # A choice of names comes last: what follows might belong to one of them.
        fit = sorted(fit, key=lambda c: (c.beside is None, c.is_choice, c.ended))
        bare = fit[:1] if fit and fit[0].beside else []
        fit = (bare + [c for c in fit if c not in bare and c.is_participle])[:most] or fit[:1]
        if said.denial and (same := next((c for c in fit if c.verb == said.denial.verb), None)):
            fit = [*(c for c in fit if c is not same), same]
        return fit, [c for c in said.clauses if c not in fit]

    def beside(
        self, head: str, clauses: Sequence[Clause], about: About, place: OpenNouns
    ) -> Phrase:
        """ "films directed by X and released in 1990"."""
        made = Phrase(head, place)
        about = replace(about, form="reduced")
        last: Clause | None = None
        for clause in clauses:
            connector = "and" if last and not last.beside else ""
            made, last = self._next(made, last, clause, about, connector, place), clause
        return made

    def _reduced(
        self,
        head: str,
        beside: Sequence[Clause],
        rest: Sequence[Clause],
        said: Predicates,
        about: About,
        place: OpenNouns,
    ) -> Phrase | None:
        """All beside the noun, without a pronoun; None where it would not be clear."""
        about = replace(about, form="reduced")
        if len([clause for clause in (*beside, *rest) if not clause.beside]) > _MOST_BESIDE:
            return None
        try:
            made = self.beside(head, beside, about, place)
            last = beside[-1] if beside else None
            if said.choice:
                return None  # "that either won X or featured Y"
            connector = "and" if last and not last.beside else ""
            return self._next(made, last, rest[0], about, connector, place)
        except UnclearError:
            return None

    def verb_phrase(
        self,
        clauses: Sequence[Clause],
        choice: Choice | None,
        denial: Clause | None,
        about: About,
        place: OpenNouns,
    ) -> Phrase:
        """ "won X, were born in Y but did not appear in films by Z"."""
        made, last = Phrase("", place), None
        for number, clause in enumerate(clauses):
            more = number + 1 < len(clauses)
            listed_on = number and more and len(clauses) > 2 and choice is None
            connector = ("," if listed_on else "and") if last else ""
            made, last = self._next(made, last, clause, about, connector, place), clause
        if choice:
            connector = "" if last is None else "and"
            made = self._chosen(choice, about, place, made, connector)
        if denial:
            connector = "but" if last else ""
            made = self._next(made, last, denial, about, connector, place, denied=True)
        return made

    def _next(
        self,
        made: Phrase,
        last: Clause | None,
        clause: Clause,
        about: About,
        connector: str,
        place: OpenNouns,
        denied: bool = False,
    ) -> Phrase:
        """The words so far and one more clause. Raises UnclearError."""
        own = about.opened(clause)
        inside = (*place, own)
        if last is not None and last.is_choice and about.form == "reduced":
            raise UnclearError  # "by X or Y and released in 1990": both, or those by Y?
        how = "participle" if about.form == "reduced" else "finite"
        if last is None and about.form == "reduced":
            # "actors in a film nominated for X": the film, or they? A pronoun tells.
            self._check_around(clause, [o for o in place if o.form == "reduced"])
        if last is not None:
            before = next((o for o in made.edge[len(place) :]), None)
            assert before is not None
            how = joining(last, clause, made, before, self.schema, denied)
            if (
                denied
                and how != "other side"
                and clause.verb.is_active
                and last.verb == clause.verb
            ):
                raise ClumsyError("repeats a verb")  # "founded X or Y but did not found Z"
        other = self._other(clause, inside, about.plural, denied)
        verb, plural = clause.verb, about.plural
        if verb.is_active:  # the script of a film, scripts for films
            verb = replace(verb, before=in_number(verb.before, clause.is_of_many and not denied))
        if clause.years and clause.named:
            other = Phrase(f"{other.words} {clause.years}", other.edge)
        elif clause.years:  # born after 1989 in the home city of X
            verb = replace(verb, before=f"{verb.before} {clause.years}")
        if clause.single:  # the birthplace of X, not birthplaces
            verb = replace(verb, before=verb.before.replace("[s]", ""))
        if how == "other side":
            no = "not" if denied else ""
            words = " ".join(w for w in (no, verb.preposition, other.words) if w)
        elif how == "participle":
            beside = clause.beside if clause.beside and last is None else verb
            words = (beside if beside.base or last is None else verb).reduced(other.words, plural)
            words = f"not {words}" if denied else words
        elif denied:
            words = verb.negated(other.words, plural)
        else:
            words = verb.finite(other.words, plural)
        if how == "pronoun" and connector == ",":
            raise UnclearError  # "that ..., that ... and ..." is clear to parsers alone
        if how == "pronoun":
            words = f"{about.noun.pronoun} {words}"
        joined = f"{made.words}," if connector == "," else f"{made.words} {connector}".strip()
        return replace(other, words=f"{joined} {words}".strip())

    def _chosen(
        self,
        choice: Choice,
        about: About,
        place: OpenNouns,
        made: Phrase | None = None,
        connector: str = "",
    ) -> Phrase:
        """ "either won X or played for Y"."""
        verbs = [clause.verb for clause in choice.options]
        alike = len({verb.form for verb in verbs}) == 1 and verbs[0].base == "be"
        start = verbs[0].finite("", about.plural).split()[0] if alike else ""
        phrase, options = Phrase("", place), []
        for clause in choice.options:
            phrase = self._next(Phrase("", place), None, clause, about, "", place)
            options.append(phrase.words.removeprefix(f"{start} ") if start else phrase.words)
        either = f"either {', '.join(options[:-1])} or {options[-1]}"
        if made and made.words:
            start = f"{made.words} {connector} {start}".strip()
        return replace(phrase, words=f"{start} {either}".strip())
