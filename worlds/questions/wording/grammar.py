"""Plans in words: a grammar that needs no model.

A plan is read as a description of its answers (`descriptions.py`), each thing that is said of them
becomes a clause (`clauses.py`), clauses gather around nouns (`noun_phrases.py`), and a frame makes
a question of them (`sentences.py`): Which, Who, Name all. What would nest too deep is introduced
by a sentence of its own: "Consider the films directed by X. Which actors appeared in at least three
of these films?" People, writers and reviewers are given the steps one by one.
"""

import json
from collections.abc import Callable, Iterator
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
from branchwise.worlds.questions.wording.descriptions import (
    Description,
    Mentioned,
    describe,
    describe_step,
)
from branchwise.worlds.questions.wording.noun_phrases import NounPhrases
from branchwise.worlds.questions.wording.phrases import Verb
from branchwise.worlds.questions.wording.sentences import framed, introduced
from branchwise.worlds.questions.wording.vocabulary import Plainest


def _steps_in_words(plan: Plan, schema: Schema, name: Callable[[str], str]) -> list[str]:
    """ "3. the actors who appeared in at least three of 2": later steps go by their numbers."""
    return [f"{n}. {words}" for n, words in enumerate(_steps(plan, schema, name), 1)]


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
        return _steps_in_words(plan, self.schema, name)
