"""The words of a question: verbs, years, amounts, lists, and a schema's nouns and phrases."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from branchwise.base.errors import InputError
from branchwise.kg.schema import Relation, Said, Schema
from branchwise.worlds.questions.drafts import Types
from branchwise.worlds.questions.plans import Amount, Holds, Years
from branchwise.worlds.questions.wording.descriptions import (
    Constraint,
    Either,
    Meets,
    NamedEntity,
    Related,
)

_BE = {"are": "is", "were": "was"}
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_PREPOSITIONS = frozenset(["at", "by", "for", "from", "in", "of", "on", "to", "under", "with"])
_OTHER_SIDE = re.compile(r"\{(\w*)\}")
_BY_NUMBER = re.compile(r"\[([^\]|]*)(?:\|([^\]]*))?\]")
_SILENT_H = re.compile(r"(hour|heir|honest|honou?r)", re.IGNORECASE)
_SOUNDS_LIKE_A_CONSONANT = re.compile(r"(uni|use|euro|one\b|once\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Verb:
    """A phrase of a schema's `said`, taken apart: a verb and the words around the other side.
    `form` is the plural ("were", "directed"), `base` the infinitive; both are empty for a phrase
    without a verb ("by {}", "the author[s] of {}"). `preposition` is the word right before {} if it
    is one. `noun`: what members of the other side are called, as in "have {citizens}"."""

    base: str
    form: str
    before: str
    preposition: str
    after: str
    noun: str = ""

    @classmethod
    def read(cls, phrase: str) -> "Verb":
        """The phrase as a schema declares it ("were directed by {}", "win/won {}")."""
        before, noun, after = (*_OTHER_SIDE.split(phrase, maxsplit=1), "", "")[:3]
        words = before.split()
        base = form = ""
        if words and (words[0] in (*_BE, "have") or "/" in words[0]):
            verb = words.pop(0)
            base, _, form = verb.rpartition("/")
            base = base or ("be" if form in _BE else "have")
        glued = before[-1:].strip() != ""
        preposition = words.pop() if words and words[-1] in _PREPOSITIONS and not glued else ""
        return cls(base, form, " ".join(words), preposition, after.strip(), noun)

    @property
    def is_active(self) -> bool:
        """Whether it says what one does, not what one is or has."""
        return self.base not in ("", "be", "have")

    @property
    def is_role(self) -> bool:
        """Whether it is a noun in place of the type's: the author of something."""
        return not self.base and self.before.startswith("the ") and self.preposition == "of"

    @property
    def is_noun(self) -> bool:
        """Whether it says what one is: "are the birthplaces of"."""
        return self.base == "be" and self.before.startswith("the ")

    @property
    def measures(self) -> bool:
        """Whether an adjective follows an amount: "are {} minutes long"."""
        return self.base == "be" and " " in self.after

    def compared(self) -> "Verb":
        """ "are no longer than {} minutes", of "are {} minutes long"."""
        unit, _, adjective = self.after.rpartition(" ")
        return replace(self, before=f"no {adjective}er than", after=unit)

    @property
    def is_present(self) -> bool:
        return self.form in ("are", "have") or self.base == self.form

    def finite(self, other: str, plural: bool = True) -> str:
        return self._around(self.form if plural else self._singular(), other, plural)

    def negated(self, other: str, plural: bool = True) -> str:
        if self.base == "be":
            return self._around(f"{self.form if plural else self._singular()} not", other, plural)
        return self._around(f"{self.auxiliary(plural)} not {self.base}", other, plural)

    def reduced(self, other: str, plural: bool = True) -> str:
        """Beside a noun, without "that were": "directed by Mara Voss". Empty where it cannot be."""
        if not self.base or (
            self.base == "be" and not re.match(r"(formerly )?the\b|\[", self.before)
        ):
            return self._around("", other, plural)
        return self._around("with", other, plural) if self.base == "have" else ""

    def auxiliary(self, plural: bool) -> str:
        if not self.is_present:
            return "did"
        return "do" if plural else "does"

    def _singular(self) -> str:
        if self.form in _BE or self.form == "have":
            return _BE.get(self.form, "has")
        if not self.is_present:
            return self.form
        if re.search(r"(s|x|z|ch|sh|o)$", self.form):
            return f"{self.form}es"
        return re.sub(r"(?<![aeiou])y$", "ie", self.form) + "s"

    def _around(self, verb: str, other: str, plural: bool) -> str:
        before, after = in_number(self.before, plural), in_number(self.after, plural)
        return " ".join(word for word in (verb, before, self.preposition, other, after) if word)


def in_number(words: str, plural: bool) -> str:
    """Words with the plural or singular in brackets: citizen[s], cit[ies|y], [their|its]."""
    return _BY_NUMBER.sub(lambda match: match[1] if plural else match[2] or "", words)


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
    bounds = (amount.least or 0.0, amount.most or 0.0)
    least, most = (f"{int(n):,}" if n == int(n) else f"{n:,}" for n in bounds)
    if amount.most is None:
        return f"at least {least}"
    if amount.least is None:
        return f"at most {most}"
    return f"exactly {least}" if least == most else f"between {least} and {most}"


def count_in_words(count: int) -> str:
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


class Plainest(Random):
    """A draw that always takes the first and the plainest."""

    def random(self) -> float:
        return 0.0


def now_and_then(often: float, random: Random) -> bool:
    """Whether to say it another way this time; never for `Plainest`."""
    return random.random() >= 1 - often


_HUMAN = "Q5"


@dataclass(frozen=True)
class Noun:
    """A noun in both numbers. `general`: it says nothing of the type, as "people". `plain`: the
    plural without kinds of it."""

    plural: str
    singular: str
    of_people: bool = False
    general: bool = False
    plain: str = ""

    @property
    def pronoun(self) -> str:
        return "who" if self.of_people else "that"

    def other_than(self, plurals: Sequence[str]) -> "Noun":
        """Without things that it could mean, too: companies (other than film studios)."""
        apart = f"(other than {listed(plurals)})"
        forms = f"{self.plural} {apart}", f"{self.singular} {apart}"
        return Noun(*forms, self.of_people, self.general, self.plain or self.plural)

    def in_number(self, number: str) -> str:
        """ "plural", "one" ("a film"), "any" or "the" of them."""
        match number:
            case "plural":
                return self.plural
            case "one":
                return "someone" if self.general else with_article(self.singular)
            case "any":
                return "anyone" if self.general else f"any {self.singular}"
            case _:
                return f"the {self.singular}"


def noun_of(types: Types, schema: Schema) -> Noun:
    """The noun of things of any of these types; people of several are called people."""
    people = all(schema.resolved(name).class_id == _HUMAN for name in types)
    if people and len(types) > 1:
        return people_of(types, schema)
    kinds = [schema.types[name] for name in types]
    plural = listed([kind.plural for kind in kinds], "or")
    return Noun(plural, listed([kind.noun for kind in kinds], "or"), people)


def people_of(types: Types, schema: Schema) -> Noun:
    """The noun of what the types have in common, for people of any occupation."""
    parents = {schema.types[name].parent for name in types}
    if len(parents) == 1 and (parent := parents.pop()):
        return Noun(schema.types[parent].plural, schema.types[parent].noun, True, True)
    return Noun("people", "person", True, True)


def of_kind(noun: Noun, wording: Said, values: Sequence[str]) -> Noun:
    """The noun with kinds of it: horror films, horror or drama films, goalkeepers."""
    if "*" not in wording.kind:
        plural = listed([wording.kind.format(value) for value in values], "or")
        plain = noun.plain or noun.plural
        return Noun(plural, listed(values, "or"), noun.of_people, plain=plain)
    kinds = [value.removesuffix(f" {noun.singular}") for value in values]
    pattern = wording.kind.format(listed(kinds, "or"))
    plural, singular = (pattern.replace("*", form) for form in (noun.plural, noun.singular))
    return Noun(plural, singular, noun.of_people, plain=noun.plain or noun.plural)


_ANOTHER_OFTEN = 0.5
_BESIDE_OFTEN = 0.6
_BEGINNING = 5  # letters that two words have in common where one repeats the other

NameOf = Callable[[str], str]
"""Gives the name of an entity, by its number or IRI."""


class Vocabulary:
    """Words for relations and values; `random` chooses where a schema has several. `aloud`: for
    questions, not for the steps of a plan, which are exact rather than fluent."""

    def __init__(self, schema: Schema, name: NameOf, random: Random) -> None:
        self._schema, self._name, self._random = schema, name, random
        self.aloud = not isinstance(random, Plainest)

    def said(self, relation: str) -> Said:
        """How a relation is said. Raises InputError where the schema does not tell."""
        declared = self._schema.relations[relation].said
        if declared is None:
            problem = f"the relation {relation!r} cannot be said in a question"
            raise InputError(problem, remedy="declare it in the schema, under `said`")
        return declared

    def verbs(self, relation: str, of_subject: bool) -> list[Verb]:
        """The phrases of one side. Raises InputError where none of them has a verb."""
        declared = self.said(relation)
        phrases = declared.subject if of_subject else declared.object
        verbs = [Verb.read(phrase) for phrase in phrases]
        if not any(verb.base for verb in verbs):
            side = "subject" if of_subject else "object"
            remedy = f"declare a phrase with a verb in the schema, under `said: {side}`"
            raise InputError(
                f"the relation {relation!r} cannot be said of its {side}s", remedy=remedy
            )
        return verbs

    def verb(self, relation: str, of_subject: bool, noun: Noun, to_set: bool = False) -> Verb:
        """A phrase with a verb that does not repeat the noun. `to_set`: the other side is long, so
        that nothing should come after it."""
        fit = [verb for verb in self.verbs(relation, of_subject) if verb.base]
        if to_set:
            fit = [v for v in fit if v.noun] or [v for v in fit if not v.after] or fit
        else:
            fit = [verb for verb in fit if not verb.noun] or fit
        fit = [verb for verb in fit if not stutters(noun, verb)] or fit
        return self._random.choice(fit) if now_and_then(_ANOTHER_OFTEN, self._random) else fit[0]

    def beside(self, relation: str, of_subject: bool) -> Verb | None:
        """Now and then a phrase without a verb: "by {}"."""
        verbs = self.verbs(relation, of_subject)
        bare = [verb for verb in verbs if not verb.base and not verb.is_role]
        often = now_and_then(_BESIDE_OFTEN, self._random)
        return self._random.choice(bare) if bare and often else None

    def role(self, relation: str, of_subject: bool) -> Verb | None:
        """The noun that a relation gives its subjects or objects: "the author[s] of {}", also from
        "are the birthplace[s] of {}"."""
        verbs = self.verbs(relation, of_subject)
        bare = (replace(v, base="", form="") for v in verbs if v.base in ("", "be"))
        return next((verb for verb in bare if verb.is_role), None)

    def did(self, part: Related) -> Verb | None:
        """What the other side, one name, did: directed."""
        declared = self.said(part.relation)
        phrases = map(Verb.read, declared.object if part.inverse else declared.subject)
        fit = [v for v in phrases if v.is_active and not (v.before or v.after or v.noun)]
        return self._random.choice(fit) if fit else None

    def fronted(self, part: Related) -> Verb | None:
        """What is said of the other side with a preposition that a question may begin with."""
        verbs = [] if part.inverse else self.verbs(part.relation, True)
        fit = (v for v in verbs if v.base == "be" and not (v.after or v.is_noun))
        return next((v for v in fit if v.preposition in ("in", "of")), None)

    def other_types(self, part: Related) -> Types:
        """What may be at the other side of a relation."""
        relation = self._schema.relations[part.relation]
        return self._schema.objects(relation) if part.inverse else self._schema.subjects(relation)

    def others_alike(self, part: Related) -> Types:
        """The same, for all relations that readers would not tell apart: films win awards, too, and
        cities are home to stadiums as to clubs."""
        schema = self._schema
        declared = schema.relations[part.relation]

        def phrases(relation: Relation) -> tuple[str, ...]:
            said = relation.said
            return () if said is None else said.subject if part.inverse else said.object

        own = set(phrases(declared))
        ends = schema.objects if part.inverse else schema.subjects
        alike = (
            relation
            for relation in schema.relations.values()
            if relation.property == declared.property or not own.isdisjoint(phrases(relation))
        )
        return tuple(dict.fromkeys(name for relation in alike for name in ends(relation)))

    def named(self, part: Related) -> str:
        """The name of the other side, with "the" where all of its types are said so."""
        assert isinstance(part.to, NamedEntity)
        name = self._name(part.to.number)
        definite = all(self._schema.types[kind].definite for kind in self.other_types(part))
        return f"the {name}" if definite and not name.lower().startswith("the ") else name

    def value(self, part: Meets) -> str:
        """ "after 1990", "at least 300", or an item's words."""
        if isinstance(part.condition, Years):
            return years_in_words(part.condition)
        if isinstance(part.condition, Amount):
            return amount_in_words(part.condition)
        words = self.said(part.relation).words
        return words.get(part.condition.value) or self._name(part.condition.value)

    def statement(self, part: Meets) -> Verb | None:
        """What says that an item is stated, where its word alone would cover other items, too."""
        if not isinstance(part.condition, Holds):
            return None
        phrase = self.said(part.relation).stated.get(part.condition.value)
        return Verb.read(phrase) if phrase else None

    def kinds(self, part: Constraint) -> tuple[Said, list[str]] | None:
        """What makes a noun of its own, "horror films": how it is said, and the words; or None."""
        options = part.options if isinstance(part, Either) else ((part,),)
        alone = [option[0] for option in options if len(option) == 1]
        held = [p for p in alone if isinstance(p, Meets) and isinstance(p.condition, Holds)]
        if len(held) < len(options) or len({p.relation for p in held}) > 1:
            return None
        if any(map(self.statement, held)):
            return None
        declared = self.said(held[0].relation)
        return (declared, [self.value(p) for p in held]) if declared.kind else None


def stutters(noun: Noun, verb: Verb) -> bool:
    """Whether noun and verb have the beginning of a word in common: directors directed."""
    words = re.findall(r"\w+", f"{verb.base} {verb.form} {verb.before}".lower())
    beginnings = {word[:_BEGINNING] for word in words if len(word) >= _BEGINNING}
    return any(word[:_BEGINNING] in beginnings for word in noun.plural.lower().split())
