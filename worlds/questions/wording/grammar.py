"""Plans in words: a grammar that needs no model.

A plan is read as a description of its answers (`descriptions.py`), each thing that is said of them
becomes a clause (`clauses.py`), clauses gather around nouns (`noun_phrases.py`), and a frame makes
a question of them: Which, Who, Name all. What would nest too deep is introduced by a sentence of
its own: "Consider the films directed by X. Which actors appeared in at least three of these films?"
People, writers and reviewers are given the steps one by one.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.plans import Difference, Filter, Intersection, Plan, Union
from branchwise.worlds.questions.wording.clauses import (
    Clause,
    NounPhrase,
    Predication,
    around,
    beside_noun,
    excluding,
    verb_phrase,
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
    describe,
    describe_step,
)
from branchwise.worlds.questions.wording.noun_phrases import NounPhrases
from branchwise.worlds.questions.wording.vocabulary import Plainest, Verb, now_and_then

_DEEPEST = 2
_HEAVIEST = 5
_OFTEN = 0.15


def introduced(
    asked: Description, random: Random, often: float = _OFTEN
) -> tuple[list[Description], Description]:
    """Descriptions to introduce, in order, and what is left to ask, which mentions the last."""
    nested = list(_nested(asked.parts))
    needed = _depth(asked) > _DEEPEST or _weight(asked) > _HEAVIEST or any(map(_unclear, nested))
    if not nested or not (needed or now_and_then(often, random)):
        return [], asked
    chosen = max(nested, key=lambda set_: (_unclear(set_), _depth(set_), _weight(set_)))
    before, inner = introduced(chosen, random, often=0)
    parts = tuple(_mentioning(part, chosen, Mentioned(inner)) for part in asked.parts)
    return [*before, inner], replace(asked, parts=parts)


def _nested(parts: Iterable[Constraint]) -> Iterator[Description]:
    for part in parts:
        if isinstance(part, Related) and isinstance(part.to, Description):
            yield part.to
        elif isinstance(part, Either):
            yield from _nested(inner for option in part.options for inner in option)


def _unclear(described: Description) -> bool:
    """Whether an exception in it would seem to be one of what is asked."""
    return any(isinstance(part, Except) and not part.is_plain for part in described.parts)


def _mentioning(part: Constraint, chosen: Description, mentioned: Mentioned) -> Constraint:
    if isinstance(part, Related) and part.to == chosen:
        return replace(part, to=mentioned)
    if isinstance(part, Either):
        options = [[_mentioning(p, chosen, mentioned) for p in option] for option in part.options]
        return Either(tuple(map(tuple, options)))
    return part


def _depth(of: Description | Constraint) -> int:
    if isinstance(of, Meets):
        return 0
    if isinstance(of, Related):
        return 1 + _depth(of.to) if isinstance(of.to, Description) else 0
    return max((_depth(part) for part in _inner(of)), default=0)


def _weight(of: Description | Constraint | NamedEntity | Mentioned) -> int:
    if isinstance(of, Meets | NamedEntity | Mentioned):
        return 1
    if isinstance(of, Related):
        return 1 + (_weight(of.to) if isinstance(of.to, Description) else 0)
    return sum(_weight(part) for part in _inner(of))


def _inner(of: Description | Either | Except) -> tuple[Constraint, ...]:
    if isinstance(of, Either):
        return tuple(part for option in of.options for part in option)
    return of.parts


_REQUESTS = ("Name all {}.", "List the {}.", "Name the {}.", "List all {}.")
_Frame = Callable[[], str]


def _frames(phrase: NounPhrase, random: Random) -> Iterator[tuple[_Frame, int]]:
    if phrase.predicates or phrase.denials:
        yield (lambda: _which(phrase)), 4
        if len(phrase.predicates) > 1 and not phrase.denials and not phrase.excluded:
            yield (lambda: _which_of_them(phrase)), 2
        if did := _did(phrase):
            yield (lambda: did), 2
        # What they did may say who they are: those who directed a film are directors.
        clauses = [predicate for predicate in phrase.predicates if isinstance(predicate, Clause)]
        active = any(clause.verb.is_active for clause in clauses)
        is_plain = phrase.noun.general or (phrase.noun.plural == phrase.noun.bare and active)
        if phrase.noun.of_people and is_plain:
            yield (lambda: _who(phrase)), 2
    yield (lambda: random.choice(_REQUESTS).format(around(phrase.noun.plural, phrase))), 2


def _which(phrase: NounPhrase) -> str:
    """ "Which films directed by X won the award?": the shorter things beside the noun."""
    beside = phrase.light
    if len(beside) == len(phrase.predicates) and not phrase.denials:
        beside = beside[:-1]
    if not beside and phrase.noun.general:
        return _who(phrase)
    main = [predicate for predicate in phrase.predicates if predicate not in beside]
    noun = f"{phrase.noun.plural} {beside_noun(beside)}".strip()
    return f"Which {noun} {verb_phrase(main, phrase.denials)}{excluding(phrase)}?"


def _which_of_them(phrase: NounPhrase) -> str:
    """ "Which actors who appeared in films by X were born before 1980?": one short thing asked."""
    light = phrase.light
    asked = light[0 if len(light) == len(phrase.predicates) else -1] if light else None
    asked = asked or phrase.predicates[0]
    return f"Which {around(phrase.noun.plural, _without(phrase, asked))} {asked.finite()}?"


def _who(phrase: NounPhrase) -> str:
    return f"Who {verb_phrase(phrase.predicates, phrase.denials, plural=False)}{excluding(phrase)}?"


def _did(phrase: NounPhrase) -> str:
    """ "Which horror films did X direct?", of one name and short things beside it; or ""."""
    clause = next((p for p in phrase.predicates if isinstance(p, Clause) and p.swapped), None)
    if clause is None or not clause.swapped or phrase.denials or phrase.excluded:
        return ""
    rest = _without(phrase, clause)
    if len(rest.light) != len(rest.predicates):
        return ""
    name, verb = clause.swapped
    beside = beside_noun(rest.predicates)
    words = (phrase.noun.plural, beside, verb.auxiliary(plural=False), name, verb.base)
    return f"Which {' '.join(word for word in (*words, verb.preposition) if word)}?"


def _without(phrase: NounPhrase, left: Predication) -> NounPhrase:
    return replace(phrase, predicates=tuple(p for p in phrase.predicates if p is not left))


def _steps(plan: Plan, schema: Schema, name: Callable[[str], str]) -> Iterator[str]:
    described = describe(plan, schema)
    joining = {
        Union: "what is in {} or in {}",
        Intersection: "what is in both {} and {}",
        Difference: "what is in {} but not in {}",
    }
    for step in plan.steps:
        phrases = NounPhrases(schema, name, Plainest())
        places = [source + 1 for source in step.sources]
        if isinstance(step, Union | Intersection | Difference):
            yield joining[type(step)].format(*places)
        elif isinstance(step, Filter):
            anything = Description(described[step.of].types, ())
            yield f"of {places[0]}, the {phrases.phrase(describe_step(step, [anything], schema))}"
        else:
            sources = [described[source] for source in step.sources]
            mentioned = Mentioned(sources[0], places[0]) if sources else None
            yield f"the {phrases.phrase(describe_step(step, sources, schema, mentioned))}"


class Grammar:
    """Says plans in the words of a schema. The same seed, plan and variant give the same words."""

    def __init__(self, schema: Schema, seed: int) -> None:
        self.schema, self._seed = schema, seed

    def sayable(self, relation: str, inverse: bool = False) -> bool:
        """Whether a step along a relation (of dates, numbers and items, a filter) can be said.
        `inverse`: the step gives the relation's subjects, as a filter by an entity does."""
        declared = self.schema.relations[relation]
        if declared.said is None:
            return False
        gives_subjects = inverse or not declared.object
        phrases = declared.said.subject if gives_subjects else declared.said.object
        return bool(declared.said.kind) or any(Verb.read(phrase).base for phrase in phrases)

    def question(self, plan: Plan, name: Callable[[str], str], variant: int = 0) -> str:
        """A question for the plan's answers; `name` gives entities' names; variants draw other
        frames and phrases. Raises InputError for a relation that the schema lacks or never says."""
        random = Random(f"{self._seed} {variant} {json.dumps(plan.to_json())}")
        before, asked = introduced(describe(plan, self.schema)[-1], random)
        phrases = NounPhrases(self.schema, name, random)
        opening = ("Consider", "Now take")
        sentences = [f"{opening[min(n, 1)]} {phrases.the(part)}." for n, part in enumerate(before)]
        frames, weights = zip(*_frames(phrases.structure(asked), random), strict=True)
        frame: _Frame = random.choices(frames, weights)[0]
        return " ".join([*sentences, frame()])

    def steps(self, plan: Plan, name: Callable[[str], str]) -> list[str]:
        """The plan's steps in words, numbered from 1: "2. of 1, those released after 1990"."""
        return [f"{n}. {words}" for n, words in enumerate(_steps(plan, self.schema, name), 1)]
