"""Plans in words: a grammar that needs no model.

A plan is read as a description of its answers (`descriptions.py`), each thing that is said of them
becomes a clause (`clauses.py`), clauses gather around nouns (`noun_phrases.py`), and a frame makes
one question of them: Which, Who. Of several draws the shortest is taken where the first is long; a
plan that takes too many words, or whose words would leave open what belongs to what, is refused.
People, writers and reviewers are given the steps one by one.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from random import Random

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.drafts import RejectedError
from branchwise.worlds.questions.plans import Difference, Filter, Intersection, Plan, Union
from branchwise.worlds.questions.wording.clauses import About, Clause, ClumsyError, UnclearError
from branchwise.worlds.questions.wording.descriptions import (
    Description,
    Either,
    Except,
    Mentioned,
    NamedEntity,
    Related,
    describe,
    describe_step,
    is_single,
)
from branchwise.worlds.questions.wording.noun_phrases import NounPhrases
from branchwise.worlds.questions.wording.predicates import MOST_CLAUSES, is_one
from branchwise.worlds.questions.wording.vocabulary import Plainest, Verb

MOST_WORDS = 28
ENOUGH_WORDS = 16
_DEEPEST = 2
_FAR_PLACES = re.compile(
    r"countr(?:y|ies) (?:containing|home|with (?:at|two|three|four|citizens)|of citizenship of)"
    r"|\bcontain [a-z ]*cities\b|\bin a (?:city|country) (?:that|in)\b|\bborn in the setting\b"
    r"|\bhome to an? \w+ \w+ that\b|league played in\b"
    r"|\b(?:founded|started) .*\b(?:founded|established) (?:before|after|between)\b"
)
_GENITIVES = re.compile(r"\bof [a-z ]*\bof [a-z ]*\bof\b")
_JOINING = frozenset(["and", "but", "or", "not", "who", "that", "are", "is", "were", "was"])
_DRAWS = 4


class _Question:
    """One draw of a question's words. Raises UnclearError."""

    def __init__(self, asked: Description, phrases: NounPhrases) -> None:
        self._asked, self._phrases, self._random = asked, phrases, phrases.random
        self._noun, rest = phrases.noun(asked)
        self._said = phrases.predicates(rest, self._noun)
        self._phrases.check_denial(self._said)

    def text(self) -> str:
        said, noun = self._said, self._noun
        frames: list[tuple[Callable[[], str], int]] = [(self._which, 4)]
        if not said.denial and not said.choice and (did := self._did()):
            frames.append((lambda: did, 3))
        # What they did may say who they are: those who directed a film are directors.
        active = any(clause.verb.is_active for clause in said.clauses)
        is_plain = noun.general or (active and not noun.plain)
        if noun.of_people and is_plain and len(said.clauses) <= MOST_CLAUSES:
            frames.append((self._who, 2))
        chosen, weights = zip(*frames, strict=True)
        frame: Callable[[], str] = self._random.choices(chosen, weights)[0]
        return f"{frame()}?"

    def _which(self) -> str:
        """ "Which films directed by X won the award?": short things beside the noun. "Citizens of
        which countries wrote X?" stands for "Which countries have citizens who wrote X?"."""
        said, noun, about = self._said, self._noun, self._about()
        beside, main = self._phrases.split(said)
        same = said.denial and beside and beside[-1].verb == said.denial.verb
        if not main and not said.choice and (same or not said.denial):
            beside, main = beside[:-1], beside[-1:]
        if len(main) > MOST_CLAUSES:
            raise ClumsyError("three clauses about a noun")
        if not beside and noun.general:
            return self._who()
        if not main and not said.choice and not said.denial:
            raise UnclearError  # nothing is said
        if asked_where := self._where(main, beside):
            return asked_where
        subject = self._phrases.beside(noun.plural, beside, about, ())
        verbs = self._phrases.verb_phrase(main, said.choice, said.denial, about, ()).words
        if len(main) == 1 and not said.choice and not said.denial and (called := main[0].verb.noun):
            have, _, did = verbs.partition(" who ")
            if did and have == f"have {called}":
                return f"{called.title()} of which {subject.words} {did}"
        return f"Which {subject.words} {verbs}"

    def _where(self, main: Sequence[Clause], beside: Sequence[Clause]) -> str:
        """ "In which cities were actors in X born", "Of which country is X a citizen"; or ""."""
        said = self._said
        part = main[0].parts[0] if len(main) == 1 else None
        if not isinstance(part, Related) or said.choice or said.denial:
            return ""
        phrases = self._phrases
        verb = phrases.words.fronted(part)
        if verb is None or len(main[0].parts) > 1 or isinstance(part.to, Mentioned):
            return ""
        if verb.preposition == "of" and not isinstance(part.to, NamedEntity):
            return ""
        about = self._about()
        one = is_one(part, phrases.schema)
        if not main[0].light or not (one or verb.before):
            return ""
        other = phrases.named_first(part, about.opened(main[0]))
        asked = self._noun.in_number("the").removeprefix("the ")
        if not is_single(self._asked, phrases.schema):
            asked = self._noun.plural
        subject = phrases.beside(asked, beside, about, ()).words
        words_of = replace(verb, preposition="").finite("", plural=not one)
        be, _, before = words_of.partition(" ")
        return f"{verb.preposition.title()} which {subject} {be} {other} {before}".strip()

    def _about(self, plural: bool = True) -> About:
        return About(self._noun, self._asked.types, plural, "main")

    def _who(self) -> str:
        said, about = self._said, self._about(plural=False)
        verbs = self._phrases.verb_phrase(said.clauses, said.choice, said.denial, about, ())
        return f"Who {verbs.words}"

    def _did(self) -> str:
        """ "Which horror films released after 1990 did X direct"; or ""."""
        for clause in self._said.clauses:
            part = clause.parts[0]
            if len(clause.parts) > 1 or clause.years or not isinstance(part, Related):
                continue
            verb = self._phrases.words.did(part) if isinstance(part.to, NamedEntity) else None
            others = tuple(other for other in self._said.clauses if other is not clause)
            beside, rest = self._phrases.split(replace(self._said, clauses=others))
            if verb is None or rest:
                continue
            subject = self._phrases.beside(self._noun.plural, beside, self._about(), ())
            name = self._phrases.words.named(part)
            words = (verb.auxiliary(plural=False), name, verb.base, verb.preposition)
            return f"Which {subject.words} {' '.join(word for word in words if word)}"
        return ""


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
            told = phrases.phrase(describe_step(step, [anything], schema))
            yield f"of {places[0]}, the {told.words}"
        else:
            sources = [described[source] for source in step.sources]
            mentioned = Mentioned(sources[0], places[0]) if sources else None
            told = phrases.phrase(describe_step(step, sources, schema, mentioned))
            yield f"the {told.words}"


def _depth(described: Description) -> int:
    """How many descriptions stand inside one another; "X's birthplace" does not count."""
    deepest = 0
    for part in described.parts:
        options = part.options if isinstance(part, Either) else ((part,),)
        for inner in (p for option in options for p in option):
            parts = inner.parts if isinstance(inner, Except) else (inner,)
            related = [p.to for p in parts if isinstance(p, Related)]
            nested = [to for to in related if isinstance(to, Description)]
            deepest = max(deepest, *(1 + _depth(to) for to in nested), 0)
    return deepest


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
        frames and phrases. Raises RejectedError where no words are clear or few enough, InputError
        for a relation that the schema lacks or never says."""
        random = Random(f"{self._seed} {variant} {json.dumps(plan.to_json())}")
        asked = describe(plan, self.schema)[-1]
        if _depth(asked) > _DEEPEST:
            raise RejectedError("nests too deep")
        made: list[str] = []
        unclear = RejectedError("")
        for _ in range(_DRAWS):
            try:
                text = _Question(asked, NounPhrases(self.schema, name, random)).text()
                self._check_verbs(text)
                made.append(text)
            except UnclearError as error:
                unclear = error
            else:
                if len(made[-1].split()) <= ENOUGH_WORDS:
                    return made[-1]
        if not made:
            raise unclear
        shortest = min(made, key=lambda text: len(text.split()))
        if len(shortest.split()) > MOST_WORDS:
            raise RejectedError("takes too many words")
        return shortest

    def _check_verbs(self, text: str) -> None:
        """Raises ClumsyError where a verb comes twice: "recorded X and recorded Y", "won awards
        won by X"; and for a row of genitives."""
        if _GENITIVES.search(text):
            raise ClumsyError("a row of genitives")
        if _FAR_PLACES.search(text):
            raise ClumsyError("a place told by what is in it")
        words = text.replace(",", " ,").split()
        passive = {word for word, after in pairwise(words) if after == "by"}
        active = {word for word, after in pairwise(words) if after != "by"}
        if passive & active & self._verbs:
            raise ClumsyError("repeats a verb")
        verbs = self._verbs | _JOINING | {"have", "has"}
        if sum(before == "and" and word in verbs for before, word in pairwise(words)) > 1:
            raise ClumsyError("two rows of clauses")
        for place, (before, word) in enumerate(pairwise(words)):
            if before in _JOINING and word in self._verbs and word in words[:place]:
                raise ClumsyError("repeats a verb")

    @cached_property
    def _verbs(self) -> set[str]:
        """Verbs and participles of the schema's phrases."""
        said = [r.said for r in self.schema.relations.values() if r.said]
        verbs = [Verb.read(phrase) for one in said for phrase in (*one.subject, *one.object)]
        participles = {v.before for v in verbs if v.base == "be" and v.before.isalpha()}
        return participles | {v.form for v in verbs if v.is_active}

    def steps(self, plan: Plan, name: Callable[[str], str]) -> list[str]:
        """The plan's steps in words, numbered from 1: "2. of 1, those released after 1990"."""
        return [f"{n}. {words}" for n, words in enumerate(_steps(plan, self.schema, name), 1)]
