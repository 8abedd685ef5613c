"""A plan's steps in words, one by one, for people, writers and reviewers."""

from collections.abc import Callable, Iterator

from branchwise.corpora.schema import Schema
from branchwise.corpora.synthesis.descriptions import (
    Description,
    Mentioned,
    describe,
    describe_step,
)
from branchwise.corpora.synthesis.noun_phrases import NounPhrases
from branchwise.corpora.synthesis.plans import Difference, Filter, Intersection, Plan, Step, Union
from branchwise.corpora.synthesis.variety import Plainest


def steps_in_words(plan: Plan, schema: Schema, name: Callable[[str], str]) -> list[str]:
    """ "3. the actors who appeared in at least three of 2": later steps go by their numbers."""
    return [f"{n}. {words}" for n, words in enumerate(_steps(plan, schema, name), 1)]


def _steps(plan: Plan, schema: Schema, name: Callable[[str], str]) -> Iterator[str]:
    described = describe(plan, schema)
    for step in plan.steps:
        phrases = NounPhrases(schema, name, Plainest())
        yield _step(step, described, schema, phrases)


def _step(
    step: Step, described: tuple[Description, ...], schema: Schema, phrases: NounPhrases
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
