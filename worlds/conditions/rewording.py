"""A model rewords the sentences that state conditions; the grammar's stay wherever it strays.

A sentence is checked for what its claims show: names and numbers, a word of what they are about,
the side of a threshold, "and" and "or", and whether it is denied.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from branchwise.base.text import one_line
from branchwise.worlds.conditions.domain import Claim, Direction
from branchwise.worlds.conditions.drafts import Shape
from branchwise.worlds.conditions.generate import DraftSet
from branchwise.worlds.questions.wording.writing import NEGATION, fill, numbers_in

Ask = Callable[[Sequence[str]], Sequence[str | None]]
"""The reply to each prompt, None where there is none."""
Slip = Literal[
    "no reply",
    "no such line",
    "not one sentence",
    "not in the first person",
    "another denial",
    "other numbers",
    "other names",
    "drops a condition",
    "turns a bound round",
    "joins otherwise",
]
"""Why a sentence was not taken."""
MAX_CHARACTERS = 400
_MAX_REPLY = 50_000
_LINE = re.compile(r"(\d{1,3})[.):]\s+(.+)")
_BREAK = re.compile(r"[.!?:;]\s+\S")
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm](?:e|y|ine|yself))\b")
_SIDES: dict[Direction, re.Pattern[str]] = {
    "at_least": re.compile(
        r"\bat least\b|\b(?:or|and) (?:more|higher|over|above|better|up|older|beyond)\b|"
        r"\bminimum\b|\bor a higher\b|\bas (?:many|much|old|high) as\b",
        re.IGNORECASE,
    ),
    "below": re.compile(
        r"\b(?:under|below|less|fewer|younger|lower|sooner) than\b|\bunder\b|\bbelow\b|\bwithin\b",
        re.IGNORECASE,
    ),
}
_OR = re.compile(r"\bor\b(?! (?:a )?(?:more|higher|over|above|better|older|beyond)\b)", re.I)


class RewordedLine(NamedTuple):
    """A sentence as the grammar has it. `person`: it is said of oneself."""

    text: str
    claims: tuple[Claim, ...]
    shape: Shape = "one"
    person: bool = False


def reword(drafts: DraftSet, ask: Ask) -> tuple[DraftSet, Counter[str]]:
    """The set in a model's words, and how many sentences were not taken, by the reason."""
    documents = [
        [RewordedLine(s.text, s.claims, s.shape) for s in document.sentences if s.claims]
        for document in drafts.documents
    ]
    scenarios = [
        [RewordedLine(mention.text, (mention.claim,), person=True) for mention in scenario.mentions]
        for scenario in drafts.scenarios
    ]
    prompts = [
        fill("reword_document", plural=document.domain, lines=_numbered(lines))
        for document, lines in zip(drafts.documents, documents, strict=True)
    ]
    prompts += [fill("reword_scenario", lines=_numbered(lines)) for lines in scenarios]
    slips: Counter[str] = Counter()
    each = zip([*documents, *scenarios], ask(prompts), strict=True)
    texts = iter([list(_taken(lines, reply, slips)) for lines, reply in each])
    reworded = replace(
        drafts,
        documents=tuple(document.reworded(next(texts)) for document in drafts.documents),
        scenarios=tuple(scenario.reworded(next(texts)) for scenario in drafts.scenarios),
    )
    return reworded, slips


def slip(text: str, line: RewordedLine) -> Slip | None:
    """Why a text does not stand for a line; None where it does, as far as can be seen."""
    if not text.isprintable() or len(text) > MAX_CHARACTERS or _BREAK.search(text):
        return "not one sentence"
    if not text.endswith(".") or not text[0].isupper():
        return "not one sentence"
    if line.person and not _FIRST_PERSON.search(text):
        return "not in the first person"
    if bool(NEGATION.search(text)) != bool(NEGATION.search(line.text)):
        return "another denial"
    if numbers_in(text) != numbers_in(line.text):
        return "other numbers"
    # The capital of the first word means nothing.
    first = re.findall(r"\A\w*", text)
    if not _names(text) <= _names(line.text) | set(first):
        return "other names"
    lowered = text.lower()
    for claim in line.claims:
        if any(name.lower() not in lowered for name in claim.names):
            return "drops a condition"
        if not any(re.search(rf"\b{re.escape(word.lower())}", lowered) for word in claim.keep):
            return "drops a condition"
    wanted = {claim.direction for claim in line.claims if claim.direction}
    if {side for side, pattern in _SIDES.items() if pattern.search(text)} != wanted:
        return "turns a bound round"
    joined = bool(_OR.search(text)), bool(re.search(r"\band\b(?! (?:up|over)\b)", lowered))
    has_or, has_and = line.shape.startswith("either"), line.shape in ("both", "either_both")
    # A single condition may be said with an "or" or an "and" of its own.
    if (has_or and not joined[0]) or (has_and and not joined[1]):
        return "joins otherwise"
    return "joins otherwise" if line.shape == "both" and joined[0] else None


def _taken(lines: Sequence[RewordedLine], reply: str | None, slips: Counter[str]) -> Iterator[str]:
    lines_of = _LINE.findall((reply or "")[:_MAX_REPLY])
    sentences = {int(number): one_line(text) for number, text in lines_of}
    for number, line in enumerate(lines, start=1):
        if reply is None:
            problem: Slip | None = "no reply"
        elif number not in sentences:
            problem = "no such line"
        else:
            problem = slip(sentences[number], line)
        if problem:
            slips[problem] += 1
        yield line.text if problem else sentences[number]


def _numbered(lines: Sequence[RewordedLine]) -> str:
    return "\n".join(f"{number}. {line.text}" for number, line in enumerate(lines, start=1))


def _names(text: str) -> set[str]:
    return set(re.findall(r"\b[A-Z]\w*", text))
