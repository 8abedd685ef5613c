"""Reads a question's words back: every way in which they can be put together.

A parser of its own, that knows nothing of how questions are worded. It lets each phrase after
"and" or "but" belong to any noun before it that the schema could say it of. What a reading asks
for is looked up in the facts, so that two readings that come to the same are one.

A reading is a `Noun` with conditions: `Rel` (related to a name or to so many of a `Noun`), `Value`
(a date, number or item), `Or` and `Not` of lists of conditions.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from branchwise.worlds.questions.plans import Amount, Condition, Holds, Years, meets
from support.synthesis.question_lexicon import (
    NUMBERS,
    Kind,
    Lexicon,
    Not,
    Noun,
    Or,
    Part,
    Pattern,
    Rel,
    Side,
    Value,
)


class QuestionReader(Lexicon):
    """Reads questions by the phrases of a schema."""

    # The grammar: each rule yields what it reads and where that ends.

    def readings(self, question: str) -> set[Noun]:
        """All that a question can ask for."""
        words = re.findall(r"\d[\d,.]*\d|[\w'&.-]*\w|[^\w\s]", question.replace("'s ", " 's "))
        if words[:3] != ["Citizens", "of", "which"]:
            return self._read(words)
        # As "Which countries have citizens who", wherever what they did may begin.
        who = ["have", "citizens", "who"]
        places = range(4, len(words) - 1)
        return set().union(*(self._read(["Which", *words[3:n], *who, *words[n:]]) for n in places))

    def _read(self, words: list[str]) -> set[Noun]:
        self.words = tuple(words)
        self.noun = cache(self._noun)  # type: ignore[method-assign]
        self.mods = cache(self._mods)  # type: ignore[method-assign]
        self.verbs = cache(self._verbs)  # type: ignore[method-assign]
        found: set[Noun] = set()
        end = len(self.words) - 1
        starts: list[tuple[Noun, int]] = []
        if self.words[0] == "Who":
            starts.append((Noun(self.everyone), 1))
        elif self.words[0] == "Which":
            starts.extend(self._head(1))
        elif self.words[0] in ("In", "Of"):
            found |= {noun for noun, stop in self._where() if stop == end}
        for head, start in starts:
            for beside, at in [((), start), *self.mods(start, head.types)]:
                for parts, stop in (*self.verbs(at, head.types, False), *self._did(at, head.types)):
                    asked = Noun(head.types, (*head.parts, *beside, *parts))
                    if stop == end:
                        found.add(asked)
        return found

    def _where(self) -> Iterator[tuple[Noun, int]]:
        """ "In which cities were the founders of X born"."""
        for head, start in self._head(2):
            for beside, at in [((), start), *self.mods(start, head.types)]:
                for pattern in self.patterns["finite"]:
                    if pattern.last != (self.words[0].lower(),) or not self._is(
                        at, pattern.before[0]
                    ):
                        continue
                    asked = frozenset((name, not subject) for name, subject in pattern.sides)
                    if not self._types(asked) & head.types:
                        continue
                    said = pattern.before[1:-1]
                    for parts, stop in self._side(at + 1, asked):
                        if not self._is(stop, *said):
                            continue
                        stop += len(said)
                        yield Noun(head.types, (*head.parts, *beside, *parts)), stop

    def _is(self, at: int, *words: str) -> bool:
        return self.words[at : at + len(words)] == words

    def _head(self, at: int) -> Iterator[tuple[Noun, int]]:
        """A noun without what follows it."""
        for key, types in self.nouns.items():
            if self._is(at, *key):
                yield Noun(types), at + len(key)
        for key, (types, value) in self.kinds.items():
            if self._is(at, *key):
                yield Noun(types, (value,)), at + len(key)
        for key, sides in self.roles.items():
            if self._is(at, *key, "of"):
                for target, stop in self._target(at + len(key) + 1):
                    if fits := self._fitting(sides, target):
                        yield Noun(self._types(fits), (Rel(fits, target),)), stop

    def _noun(self, at: int, those: frozenset[str] = frozenset()) -> list[tuple[Noun, int]]:
        """A noun with what is said of it."""
        found = []
        start = at + 1 if self.words[at] in ("a", "an", "any", "the") else at
        heads = list(self._head(start))
        if those and self._is(at, "those"):
            heads.append((Noun(those), at + 1))
        for head, stop in heads:
            for parts, end in [((), stop), *self.mods(stop, head.types)]:
                found.append((Noun(head.types, (*head.parts, *parts)), end))
        return found

    def _target(self, at: int) -> Iterator[tuple["str | Noun", int]]:
        start = at + 1 if self._is(at, "the") else at
        if start < len(self.words) and self.words[start] in self.names:
            if self._is(start + 1, "'s"):
                for key, sides in self.roles.items():
                    fits = self._fitting(sides, self.words[start])
                    if fits and self._is(start + 2, *key):
                        part = Rel(fits, self.words[start])
                        yield Noun(self._types(fits), (part,)), start + 2 + len(key)
            yield self.words[start], start + 1
        yield from self.noun(at)

    def _targets(self, at: int, pattern: Pattern) -> Iterator[tuple[tuple[Part, ...], int]]:
        """The other side of a relation: names, so many of a set, one of two alternatives."""
        sides = pattern.sides
        if pattern.slot not in ("entity", "citizens"):
            for condition, stop in self._values(at, pattern):
                yield (Value(frozenset(name for name, _ in sides), condition),), stop
        else:
            yield from self._side(at, sides)

    def _alternatives(self, at: int, pattern: Pattern) -> Iterator[tuple[tuple[Part, ...], int]]:
        """ "either in X or in films by Y"."""
        start = at + 1 + len(pattern.last)
        if self._is(at, "either", *pattern.last) and pattern.slot == "entity":
            for first, stop in self._side(start, pattern.sides):
                if self._is(stop, "or", *pattern.last):
                    for second, end in self._side(stop + 1 + len(pattern.last), pattern.sides):
                        yield (Or((first, second)),), end

    def _side(self, at: int, sides: frozenset[Side]) -> Iterator[tuple[tuple[Part, ...], int]]:
        least, start = self._count(at)
        if start > at:
            for noun, stop in self.noun(start):
                if fits := self._fitting(sides, noun):
                    yield (Rel(fits, noun, least),), stop
            return
        both, either = self._is(at, "both"), self._is(at, "either")
        for target, stop in self._target(at + (both or either)):
            if not (fits := self._fitting(sides, target)):
                continue
            if not (both or either):
                yield (Rel(fits, target),), stop
            listed, end = [target], stop
            while self.words[end] in (",", "and", "or"):
                word = self.words[end]
                more = list(self._target(end + 1))[:1]
                if not more or not self._fitting(sides, more[0][0]):
                    break
                listed, end = [*listed, more[0][0]], more[0][1]
                parts = [Rel(self._fitting(sides, one), one) for one in listed]
                if word == "or" and not both:
                    yield (Or(tuple((part,) for part in parts)),), end
                if word == "and" and both:
                    yield tuple(parts), end

    def _fitting(self, sides: frozenset[Side], target: "str | Noun") -> frozenset[Side]:
        """The sides whose other side may be that."""
        if isinstance(target, Noun):
            types = target.types
        else:
            number = self.names[target]
            types = frozenset(t for t, members in self._members.items() if number in members)
        return frozenset((r, s) for r, s in sides if self._types([(r, not s)]) & types)

    def _count(self, at: int) -> tuple[int, int]:
        """ "at least three", "three or more"."""
        if self._is(at, "at", "least") and self.words[at + 2] in NUMBERS:
            return NUMBERS[self.words[at + 2]], at + 3
        if self.words[at] in NUMBERS and self._is(at + 1, "or", "more"):
            return NUMBERS[self.words[at]], at + 3
        return 1, at

    def _values(self, at: int, pattern: Pattern) -> Iterator[tuple[Condition, int]]:
        words, number = self.words, r"\d[\d,.]*$"
        if pattern.slot == "thing":
            for name, _ in pattern.sides:
                relation = self.schema.relations[name]
                assert relation.said
                for item, label in self.schema.items[relation.items].items():
                    said = relation.said.words.get(item, label).split()
                    if self._is(at, *said):
                        yield Holds(value=item), at + len(said)
            return
        low, high = ("first", "last") if pattern.slot == "date" else ("least", "most")
        kind = Years if pattern.slot == "date" else Amount
        two = words[at : at + 2]
        dated, first = pattern.slot == "date", words[at + 1 : at + 2]
        near = bool(first and re.match(number, first[0]))
        value = [float(w.replace(",", "")) for w in words[at : at + 4] if re.match(number, w)]
        if pattern.slot == "date":
            value = [int(v) for v in value]
        if two[0] == "between" and words[at + 2] == "and":
            yield kind(**{low: value[0], high: value[1]}), at + 4
        elif two[0] == "in" and dated and near:
            yield kind(**{low: value[0], high: value[0]}), at + 2
        elif two[0] in ("after", "before") and dated and near:
            bound = {low: value[0] + 1} if two[0] == "after" else {high: value[0] - 1}
            yield kind(**bound), at + 2
        elif pattern.slot == "most" and re.match(number, words[at]):
            yield Amount(most=value[0]), at + 1
        elif two in (("at", "least"), ("at", "most")) and value and not dated:
            yield kind(**{low if two[1] == "least" else high: value[0]}), at + 3

    def _clauses(
        self, at: int, form: str, types: frozenset[str]
    ) -> Iterator[tuple[tuple[Part, ...], int, Pattern | None]]:
        """One clause of a form, about things of these types."""
        for pattern in self._starting(form, at):
            sides = frozenset(side for side in pattern.sides if self._types([side]) & types)
            if not sides:
                continue
            fit = replace(pattern, sides=sides)
            verb = pattern.before[: len(pattern.before) - len(pattern.last)]
            if self._is(at, *verb, "either"):
                for parts, stop in self._alternatives(at + len(verb), fit):
                    yield parts, stop, fit
            if form != "negated" and pattern.last and self._is(at, *verb):
                yield from self._dated_first(at + len(verb), fit)
            if not self._is(at, *pattern.before):
                continue
            for parts, stop in self._targets(at + len(pattern.before), fit):
                if self._is(stop, *pattern.after):
                    stop += len(pattern.after)
                    said = (Not(parts),) if form == "negated" else parts
                    yield said, stop, fit
                    # "founded by X before 1950"
                    for dated in self.patterns["reduced"]:
                        alike = dated.before == fit.before[:-1]
                        alike = alike or (form == "finite" and dated.before == fit.before[1:-1])
                        if alike and dated.slot == "date" and form != "negated" and fit.last:
                            for condition, end in self._values(stop, dated):
                                names = frozenset(name for name, _ in dated.sides)
                                yield (*said, Value(names, condition)), end, fit
        yield from self._of_kind(at, form, types)

    def _dated_first(
        self, at: int, fit: Pattern
    ) -> Iterator[tuple[tuple[Part, ...], int, Pattern]]:
        """ "born after 1950 in X's home city"."""
        verb = fit.before[: -len(fit.last)]
        for dated in self.patterns["reduced"]:
            if dated.slot == "date" and verb and dated.before == verb[-1:]:
                names = frozenset(name for name, _ in dated.sides)
                for condition, stop in self._values(at, dated):
                    if self._is(stop, *fit.last):
                        for parts, end in self._targets(stop + len(fit.last), fit):
                            yield (*parts, Value(names, condition)), end, fit

    def _of_kind(
        self, at: int, form: str, types: frozenset[str]
    ) -> Iterator[tuple[tuple[Part, ...], int, None]]:
        be = {"finite": ("are", "is", "were", "was"), "negated": ("are", "is"), "reduced": ()}
        for word in be.get(form, ()):
            if not self._is(at, word):
                continue
            start = at + 1 + (form == "negated" and self._is(at + 1, "not"))
            if form == "negated" and start == at + 1:
                continue
            start += self.words[start] in ("a", "an")
            for noun, stop in self._head(start):
                if noun.parts and isinstance(noun.parts[0], Value) and noun.types & types:
                    yield (Not(noun.parts),) if form == "negated" else noun.parts, stop, None

    def _starting(self, form: str, at: int) -> list[Pattern]:
        """Patterns of a form that may begin with the word there."""
        if form not in self._by_word:
            index = self._by_word.setdefault(form, {})
            for pattern in self.patterns[form]:
                index.setdefault(pattern.before[:1], []).append(pattern)
        index = self._by_word[form]
        either = (
            [p for p in self.patterns[form] if p.before == p.last] if self._is(at, "either") else []
        )
        return [*index.get((), ()), *index.get(self.words[at : at + 1], ()), *either]

    def _mods(self, at: int, types: frozenset[str]) -> list[tuple[tuple[Part, ...], int]]:
        """What may stand after a noun: phrases without a verb, then clauses with a pronoun."""
        found = list(self._row(at, "reduced", types))
        for parts, stop in [((), at), *found[:]]:
            found += [((*parts, *more), end) for more, end in self._relative(stop, types)]
        return found

    def _relative(self, at: int, types: frozenset[str]) -> Iterator:
        pronoun = "who" if types <= self.everyone else "that"
        if not self._is(at, pronoun):
            return
        for parts, stop in self.verbs(at + 1, types, True):
            yield parts, stop
            for link in ("and", "but"):
                if self._is(stop, link, pronoun):
                    for more, end in self._relative(stop + 1, types):
                        yield (*parts, *more), end

    def _verbs(self, at: int, types: frozenset[str], inside: bool) -> list:
        return list(self._row(at, "finite", types))

    def _row(self, at: int, form: str, types: frozenset[str]) -> Iterator:
        """Clauses in a row, the first of this form; what follows may leave words out."""
        agenda = [((), at, form, None)]
        while agenda:
            parts, start, first, last = agenda.pop()
            for more, stop, pattern in self._item(start, first, types, last):
                yield (*parts, *more), stop
                for link in ("and", "but", ","):
                    if self._is(stop, link):
                        agenda.append(((*parts, *more), stop + 1, form, pattern or last))
                if form == "reduced":
                    agenda.append(((*parts, *more), stop, form, None))

    def _item(self, at: int, form: str, types: frozenset[str], last: Pattern | None) -> Iterator:
        if self._is(at, "either"):
            yield from self._either(at, form, types, (), 0)
        be = next((w for w in ("are", "is", "were", "was") if self._is(at, w, "either")), "")
        if form == "finite" and be:
            yield from self._either(at + 1, form, types, (be,), 1)
        if form == "reduced":
            yield from self._clauses(at, "reduced", types)
            if last and last.past:
                yield from self._clauses(at, last.past, types)
            if self._is(at, "not"):
                for parts, stop, pattern in self._clauses(at + 1, "reduced", types):
                    yield (Not(parts),), stop, pattern
        else:
            yield from self._clauses(at, "finite", types)
            yield from self._clauses(at, "negated", types)
            if last and last.past:
                yield from self._clauses(at, last.past, types)
            if last and last.be:
                no = self._is(at, "not")
                for parts, stop, pattern in self._clauses(at + no, "reduced", types):
                    if pattern and pattern.be:
                        yield (Not(parts),) if no else parts, stop, pattern
        if last:  # the other side alone
            no = self._is(at, "not")
            start = at + no
            if self._is(start, *last.last):
                for parts, stop in self._targets(start + len(last.last), last):
                    yield (Not(parts),) if no else parts, stop, last

    def _either(
        self, at: int, form: str, types: frozenset[str], be: tuple[str, ...], elided: int
    ) -> Iterator:
        """ "either A or B"."""
        shape = "reduced" if elided else form
        for first, stop, _ in self._plain(at + 1, shape, types, elided):
            if self._is(stop, "or"):
                for second, end, _ in self._plain(stop + 1, shape, types, elided):
                    yield (Or((first, second)),), end, None

    def _plain(self, at: int, form: str, types: frozenset[str], elided: int) -> Iterator:
        yield from self._clauses(at, form, types)
        if elided:  # roles and kinds after "are either"
            for pattern in self.patterns["finite"]:
                if (
                    pattern.be
                    and pattern.before[1:2] == ("the",)
                    and self._types(pattern.sides) & types
                ) and self._is(at, *pattern.before[1:]):
                    for parts, stop in self._targets(at + len(pattern.before) - 1, pattern):
                        yield parts, stop, pattern
            start = at + (self.words[at] in ("a", "an"))
            for noun, stop in self._head(start):
                if noun.parts and isinstance(noun.parts[0], Value):
                    yield noun.parts, stop, None

    def _did(self, at: int, types: frozenset[str]) -> Iterator:
        """ "did X direct"."""
        if self.words[at] in ("did", "does") and self.words[at + 1] in ("the", *self.names):
            name = at + 1 + self._is(at + 1, "the")
            for pattern in self.patterns["negated"]:
                verb = pattern.before[2:]
                sides = frozenset((r, not subject) for r, subject in pattern.sides)
                sides = frozenset(side for side in sides if self._types([side]) & types)
                if not pattern.after and sides and self._is(name + 1, *verb) and not pattern.be:
                    yield (Rel(sides, self.words[name]),), name + 1 + len(verb)

    # What a reading asks for.

    def answers(self, noun: Noun) -> frozenset[str]:
        members = frozenset().union(*(self._members[name] for name in noun.types))
        return self._all(noun.parts, members)

    def _all(self, parts: tuple[Part, ...], among: frozenset[str]) -> frozenset[str]:
        for part in parts:
            among = self._meeting(part, among)
        return among

    def _meeting(self, part: Part, among: frozenset[str]) -> frozenset[str]:
        if isinstance(part, Not):
            return among - self._all(part.parts, among)
        if isinstance(part, Kind):
            return among & frozenset().union(*(self._members[name] for name in part.types))
        if isinstance(part, Or):
            return frozenset().union(*(self._all(option, among) for option in part.options))
        if isinstance(part, Value):
            found: set[str] = set()
            for name in part.relations:
                values = self.facts.related(name, False, sorted(among))
                condition = part.condition
                found |= {m for m, own in values.items() if any(meets(condition, v) for v in own)}
            return among & found
        others = {self.names[part.to]} if isinstance(part.to, str) else self.answers(part.to)
        linked: dict[str, set[str]] = {}
        for name, of_subject in part.sides:
            for other, own in self.facts.related(name, of_subject, sorted(others)).items():
                for member in own:
                    linked.setdefault(member, set()).add(other)
        return among & {member for member, of in linked.items() if len(of) >= part.least}
