"""A schema's phrases in the forms that they take in questions; what a reading is made of."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import Condition, Holds

PREPOSITIONS = {"at", "by", "for", "from", "in", "of", "on", "to", "under", "with"}
NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
Side = tuple[str, bool]  # a relation, and whether its subjects are spoken of


@dataclass(frozen=True)
class Rel:
    sides: frozenset[Side]
    to: "str | Noun"
    least: int = 1


@dataclass(frozen=True)
class Value:
    relations: frozenset[str]
    condition: Condition


@dataclass(frozen=True)
class Or:
    options: "tuple[tuple[Part, ...], ...]"


@dataclass(frozen=True)
class Not:
    parts: "tuple[Part, ...]"


@dataclass(frozen=True)
class Kind:
    types: frozenset[str]


Part = Rel | Value | Or | Not | Kind


@dataclass(frozen=True)
class Noun:
    types: frozenset[str]
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Pattern:
    """A phrase in one of its forms. `form`: finite, negated or reduced; `last`: the words before
    the other side that a second one of the same verb repeats; `slot`: what the other side is."""

    sides: frozenset[Side]
    form: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    slot: str
    last: tuple[str, ...]
    be: bool

    @property
    def past(self) -> str:
        """The form of what may follow "and" and have been so before, too: "formerly owned by X and
        founded by Y", "used to own X and run Y"."""
        return next((word for word in ("formerly", "used") if word in self.before[:2]), "")


def _numbers_of(phrase: str) -> set[str]:
    options = re.compile(r"\[([^\]|]*)(?:\|([^\]]*))?\]")
    return {options.sub(lambda m, g=g: m[g] or "", phrase) for g in (1, 2)}


class Lexicon:
    """`names`: each entity's name in the questions, one word, to its number."""

    def __init__(self, schema: Schema, facts: KgFacts, names: dict[str, str]) -> None:
        self.schema, self.facts, self.names = schema, facts, names
        self.everyone = frozenset(t for t in schema.concrete if schema.resolved(t).class_id == "Q5")
        self.nouns: dict[tuple[str, ...], frozenset[str]] = {}
        for name in schema.concrete:
            for noun in (schema.types[name].noun, schema.types[name].plural):
                self.nouns[tuple(noun.split())] = frozenset([name])
        for noun in ("people", "person", "someone", "anyone", "citizens", "citizen"):
            self.nouns[(noun,)] = self.everyone
        for number in (0, 1):  # "bands or singers"
            pairs = [
                (schema.types[n].noun, schema.types[n].plural)[number] for n in schema.concrete
            ]
            for a in pairs:
                for b in pairs:
                    both = self.nouns[tuple(a.split())] | self.nouns[tuple(b.split())]
                    if (a != b and not both & self.everyone) or (a != b and both - self.everyone):
                        self.nouns[(*a.split(), "or", *b.split())] = both
        forms = ("finite", "negated", "reduced", "formerly", "used")
        self.patterns: dict[str, list[Pattern]] = {form: [] for form in forms}
        self.roles: dict[tuple[str, ...], frozenset[Side]] = {}
        self.kinds: dict[tuple[str, ...], tuple[frozenset[str], Value]] = {}
        self._by_word: dict[str, dict[tuple[str, ...], list[Pattern]]] = {}
        self._members = {name: frozenset(facts.members(name)) for name in schema.concrete}
        self._answers: dict[Noun, frozenset[str]] = {}
        self._learn()

    # The lexicon.

    def _learn(self) -> None:
        found: dict[tuple, set[Side]] = {}
        for name, relation in self.schema.relations.items():
            if relation.said is None:
                continue
            for subjects, phrases in ((True, relation.said.subject), (False, relation.said.object)):
                for phrase in chain.from_iterable(map(_numbers_of, phrases)):
                    slot = "entity" if relation.object else relation.value_kind
                    for form in self._forms(phrase):
                        found.setdefault((slot, *form), set()).add((name, subjects))
                    # "no longer than {} minutes", of "{} minutes long"
                    if measure := re.fullmatch(r"are \{\} (\w+) (\w+)", phrase):
                        for form in self._forms(f"are no {measure[2]}er than {{}} {measure[1]}"):
                            found.setdefault(("most", *form), set()).add((name, subjects))
            self._learn_kinds(name)
        for (slot, form, before, after, noun, be), sides in found.items():
            both = frozenset(sides)
            if form == "role":
                self.roles[before] = self.roles.get(before, frozenset()) | both
                continue
            last = before[-1:] if before and before[-1] in PREPOSITIONS else ()
            pattern = Pattern(both, form, before, after, noun or slot, last, be)
            self.patterns[form].append(pattern)
            if form == "reduced" and pattern.past:
                self.patterns["formerly"].append(replace(pattern, before=before[1:]))
            elif form == "finite" and pattern.past == "used":
                self.patterns["used"].append(replace(pattern, before=before[2:]))

    def _forms(self, phrase: str) -> Iterator[tuple]:
        left, noun, right = re.split(r"\{(\w*)\}", phrase)
        words, after = left.split(), tuple(right.split())
        verb, rest = (words[0], tuple(words[1:])) if words else ("", ())
        role = words if verb == "the" else words[1:] if verb in ("are", "were") else []
        if role[:1] == ["the"] and role[-1:] == ["of"] and not after:
            yield "role", tuple(role[1:-1]), (), noun, False
            if verb == "the":
                return
        if verb in ("are", "were"):
            for form in (verb, {"are": "is", "were": "was"}[verb]):
                yield "finite", (form, *rest), after, noun, True
                yield "negated", (form, "not", *rest), after, noun, True
            yield "reduced", rest, after, noun, True
        elif verb == "have" or "/" in verb:
            base, _, past = verb.rpartition("/") if "/" in verb else ("have", "", "have")
            present = base == past
            third = {"have": "has"}.get(base) or (base + "s" if present else past)
            if present and re.search("(s|x|z|ch|sh|o)$", base):
                third = base + "es"
            if present and re.search("[^aeiou]y$", base):
                third = base[:-1] + "ies"
            for form in {past, third}:
                yield "finite", (form, *rest), after, noun, False
            for does in ("do", "does") if present else ("did",):
                yield "negated", (does, "not", base, *rest), after, noun, False
            if base == "have":
                yield "reduced", ("with", *rest), after, noun, False
        else:
            yield "reduced", tuple(words), after, noun, False

    def _learn_kinds(self, name: str) -> None:
        relation = self.schema.relations[name]
        assert relation.said
        items = self.schema.items.get(relation.items, {})
        for number, label in items.items() if relation.said.kind else ():
            said = relation.said.words.get(number, label)
            value = Value(frozenset([name]), Holds(value=number))
            for kind in self.schema.subjects(relation):
                for noun in (self.schema.types[kind].noun, self.schema.types[kind].plural):
                    word = said.removesuffix(f" {self.schema.types[kind].noun}")
                    text = relation.said.kind.format(word).replace("*", noun)
                    for form in {text, text if "*" in relation.said.kind else said}:
                        key = tuple(form.replace("'s ", " 's ").split())
                        # Pop singers may be musicians, too.
                        own = "*" in relation.said.kind and kind not in self.everyone
                        types = frozenset([kind]) if own else self.everyone
                        types |= self.kinds[key][0] if key in self.kinds else frozenset()
                        before = self.kinds[key][1].relations if key in self.kinds else frozenset()
                        merged = Value(before | value.relations, value.condition)
                        self.kinds[key] = (types, merged)

    def _types(self, sides) -> frozenset[str]:
        """What the sides may be said of."""
        schema, found = self.schema, set()
        for name, of_subject in sides:
            relation = schema.relations[name]
            found |= set((schema.subjects if of_subject else schema.objects)(relation))
        return frozenset(found)
