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
from branchwise.worlds.questions.plans import (
    Difference,
    Filter,
    Intersection,
    Plan,
    PlanStep,
    Union,
)
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


def introduced(asked: Description, random: Random) -> tuple[list[Description], Description]:
    """Descriptions to introduce, in order, and what is left to ask, which mentions the last."""
    return _introduced(asked, _OFTEN, random)


def _introduced(
    asked: Description, often: float, random: Random
) -> tuple[list[Description], Description]:
    nested = list(_nested(asked.parts))
    needed = _depth(asked) > _DEEPEST or _weight(asked) > _HEAVIEST or any(map(_unclear, nested))
    if not nested or not (needed or now_and_then(often, random)):
        return [], asked
    chosen = max(nested, key=lambda set_: (_unclear(set_), _depth(set_), _weight(set_)))
    before, inner = _introduced(chosen, 0, random)
    parts = tuple(_mentioning(part, chosen, Mentioned(inner)) for part in asked.parts)
    return [*before, inner], replace(asked, parts=parts)


def _nested(parts: Iterable[Constraint]) -> Iterator[Description]:
    """The sets that are spoken of in parts."""
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
        options = (
            tuple(_mentioning(inner, chosen, mentioned) for inner in option)
            for option in part.options
        )
        return Either(tuple(options))
    return part


def _depth(of: Description | Constraint) -> int:
    """How many noun phrases are inside one another."""
    if isinstance(of, Meets):
        return 0
    if isinstance(of, Related):
        return 1 + _depth(of.to) if isinstance(of.to, Description) else 0
    return max((_depth(part) for part in _inner(of)), default=0)


def _weight(of: Description | Constraint | NamedEntity | Mentioned) -> int:
    """How many things are said."""
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


def framed(asked: Description, phrases: NounPhrases) -> str:
    """A question for what is described, in one of the frames that fit."""
    phrase = phrases.structure(asked)
    frames, weights = zip(*_frames(phrase, phrases), strict=True)
    chosen: _Frame = phrases.random.choices(frames, weights)[0]
    return chosen()


def _frames(phrase: NounPhrase, phrases: NounPhrases) -> Iterator[tuple[_Frame, int]]:
    """The frames that fit, each with how often it is taken beside the others."""
    if phrase.predicates or phrase.denials:
        yield (lambda: _which(phrase)), 4
        if len(phrase.predicates) > 1 and not phrase.denials and not phrase.excluded:
            yield (lambda: _which_of_them(phrase)), 2
        if swapped := _swapped(phrase):
            yield (lambda: _did(phrase, swapped)), 2
        if phrase.noun.of_people and (phrase.noun.general or _tells_who(phrase)):
            yield (lambda: _who(phrase)), 2
    yield (lambda: phrases.random.choice(_REQUESTS).format(around(phrase.noun.plural, phrase))), 2


def _tells_who(phrase: NounPhrase) -> bool:
    """Whether what they did says who they are: those who directed a film are directors."""
    predicates = [predicate for predicate in phrase.predicates if isinstance(predicate, Clause)]
    return phrase.noun.plural == phrase.noun.bare and any(p.verb.is_active for p in predicates)


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
    asked = (
        (light[0] if len(light) == len(phrase.predicates) else light[-1])
        if light
        else phrase.predicates[0]
    )
    rest = _without(phrase, asked)
    return f"Which {around(phrase.noun.plural, rest)} {asked.finite()}?"


def _who(phrase: NounPhrase) -> str:
    return f"Who {verb_phrase(phrase.predicates, phrase.denials, plural=False)}{excluding(phrase)}?"


def _swapped(phrase: NounPhrase) -> Clause | None:
    """The clause for "did X direct": that of one name, with nothing but short things beside it."""
    clause = next((p for p in phrase.predicates if isinstance(p, Clause) and p.swapped), None)
    if clause is None or phrase.denials or phrase.excluded:
        return None
    rest = _without(phrase, clause)
    return clause if len(rest.light) == len(rest.predicates) else None


def _without(phrase: NounPhrase, left: Predication) -> NounPhrase:
    return replace(
        phrase,
        predicates=tuple(predicate for predicate in phrase.predicates if predicate is not left),
    )


def _did(phrase: NounPhrase, clause: Clause) -> str:
    """ "Which horror films did X direct?"."""
    assert clause.swapped is not None
    name, verb = clause.swapped
    beside = beside_noun(_without(phrase, clause).predicates)
    words = (phrase.noun.plural, beside, verb.auxiliary(plural=False), name, verb.base)
    said = " ".join(word for word in (*words, verb.preposition) if word)
    return f"Which {said}?"


def _steps(plan: Plan, schema: Schema, name: Callable[[str], str]) -> Iterator[str]:
    described = describe(plan, schema)
    for step in plan.steps:
        phrases = NounPhrases(schema, name, Plainest())
        yield _step(step, described, schema, phrases)


def _step(
    step: PlanStep, described: tuple[Description, ...], schema: Schema, phrases: NounPhrases
) -> str:
    places = [source + 1 for source in step.sources]
    if isinstance(step, Union):
        return "what is in {} or in {}".format(*places)
    if isinstance(step, Intersection):
        return "what is in both {} and {}".format(*places)
    if isinstance(step, Difference):
        return "what is in {} but not in {}".format(*places)
    if isinstance(step, Filter):
        source = described[step.of]
        anything = Description(source.types, ())
        alone = describe_step(step, [anything], schema)
        return f"of {places[0]}, the {phrases.phrase(alone)}"
    sources = [described[source] for source in step.sources]
    mentioned = Mentioned(sources[0], places[0]) if sources else None
    return f"the {phrases.phrase(describe_step(step, sources, schema, mentioned))}"


class Grammar:
    """Says plans in the words of a schema. The same seed, plan and variant give the same words."""

    def __init__(self, schema: Schema, seed: int) -> None:
        self.schema, self._seed = schema, seed

    def sayable(self, relation: str, inverse: bool = False) -> bool:
        """Whether a step along a relation can be said; of dates, numbers and items a filter.

        `inverse`: as in a plan, the step gives the relation's subjects. A filter by an entity (an
        award) gives subjects, too.
        """
        declared = self.schema.relations[relation]
        if declared.said is None:
            return False
        said = declared.said.subject if inverse or not declared.object else declared.said.object
        return bool(declared.said.kind) or any(Verb.read(phrase).base for phrase in said)

    def question(self, plan: Plan, name: Callable[[str], str], variant: int = 0) -> str:
        """A question for the plan's answers; `name` gives the names of the entities in it.

        Variants are other draws of frame and phrases. Raises InputError for a
        relation that the schema lacks, or does not say.
        """
        random = Random(f"{self._seed} {variant} {json.dumps(plan.to_json())}")
        described = describe(plan, self.schema)[-1]
        before, asked = introduced(described, random)
        phrases = NounPhrases(self.schema, name, random)
        opening = ("Consider", "Now take")
        sentences = [
            f"{opening[min(place, 1)]} {phrases.the(part)}." for place, part in enumerate(before)
        ]
        return " ".join([*sentences, framed(asked, phrases)])

    def steps(self, plan: Plan, name: Callable[[str], str]) -> list[str]:
        """The plan's steps in words, numbered from 1: "2. of 1, those released after 1990"."""
        return [f"{n}. {words}" for n, words in enumerate(_steps(plan, self.schema, name), 1)]
