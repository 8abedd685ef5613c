"""A writer's sentences are taken where they keep to what was claimed, and only there."""

import re
from collections import Counter

import pytest

from branchwise.worlds.conditions.domain import DOMAINS, Claim, document_domain
from branchwise.worlds.conditions.drafts import SHAPES, VOICES, first_person, required
from branchwise.worlds.conditions.generate import MdcrSettings, draft_set
from branchwise.worlds.conditions.rewording import RewordedLine, reword, slip

FACETS = {facet.name: facet.claims for name in DOMAINS for facet in document_domain(name).facets}
CLAIMS = [claim for claims in FACETS.values() for claim in claims]


def claim(facet: str, *words: str) -> Claim:
    return next(one for one in FACETS[facet] if all(word in one.phrases[0] for word in words))


AVERAGE = claim("scholarships/average", "3.6")
INCOME = claim("scholarships/income", "below", "35,000")
COUNTY = claim("scholarships/residence", "in Teal County")
NURSING = claim("scholarships/field", "nursing")
CHOIR = claim("scholarships/choir")


def said(one: Claim, *, value: bool) -> RewordedLine:
    return RewordedLine(first_person(one.phrases[0], value=value), (one,), person=True)


def asked(shape, *claims: Claim) -> RewordedLine:
    you = next(voice for voice in VOICES if voice.pattern == "You {}.")
    text = required(shape, [one.phrases[0] for one in claims], you)
    return RewordedLine(text, claims, shape)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (said(AVERAGE, value=True), "My grades come to an average of 3.6 or better."),
        (said(AVERAGE, value=False), "My average isn't at least 3.6."),
        (said(INCOME, value=True), "My household has an income of less than 35,000."),
        (said(COUNTY, value=True), "My house is in Teal County."),
        (said(COUNTY, value=False), "As for me, I have never lived in Teal County."),
        (said(CHOIR, value=True), "Every week I sing with a choir."),
        (asked("both", NURSING, CHOIR), "Applicants study nursing and sing in a choir."),
        (asked("either", NURSING, CHOIR), "Nursing is your subject, or you are in a choir."),
        (
            asked("either_both", CHOIR, NURSING, AVERAGE),
            "You sing in a choir, or you both study nursing and average at least 3.6.",
        ),
    ],
)
def test_other_words_for_the_same_are_taken(line, text):
    assert slip(text, line) is None


@pytest.mark.parametrize(
    ("line", "text", "why"),
    [
        (said(CHOIR, value=True), "I sing in a choir. And I love it.", "not one sentence"),
        (said(CHOIR, value=True), "I sing in a choir", "not one sentence"),
        (said(CHOIR, value=True), "i sing in a choir.", "not one sentence"),
        (said(CHOIR, value=True), "I sing in a choir\x1b[2J.", "not one sentence"),
        (said(CHOIR, value=True), f"I sing in a {'very ' * 100}good choir.", "not one sentence"),
        (said(CHOIR, value=True), "She sings in a choir.", "not in the first person"),
        (said(CHOIR, value=True), "I do not sing in a choir.", "another denial"),
        (said(CHOIR, value=False), "I sing in a choir.", "another denial"),
        (asked("one", CHOIR), "Nobody without a choir can apply.", "another denial"),
        (said(AVERAGE, value=True), "My average is at least 3.8.", "other numbers"),
        (said(AVERAGE, value=True), "My average is high, at least to me.", "other numbers"),
        (said(CHOIR, value=True), "I sing in three choirs.", "other numbers"),
        (said(CHOIR, value=True), "I sing in a choir in Ardle Bay.", "other names"),
        (said(COUNTY, value=True), "I live in a county.", "drops a condition"),
        (said(CHOIR, value=True), "I enjoy music.", "drops a condition"),
        (asked("both", NURSING, CHOIR), "Applicants study nursing and law.", "drops a condition"),
        (said(AVERAGE, value=True), "My average is below 3.6.", "turns a bound round"),
        (said(AVERAGE, value=True), "My grade average is 3.6.", "turns a bound round"),
        (said(INCOME, value=True), "My income is at least 35,000.", "turns a bound round"),
        (asked("both", NURSING, CHOIR), "You study nursing or sing in a choir.", "joins otherwise"),
        (
            asked("either", NURSING, CHOIR),
            "You study nursing and sing in a choir.",
            "joins otherwise",
        ),
        (
            asked("either_both", CHOIR, NURSING, AVERAGE),
            "You sing in a choir, or study nursing, or average at least 3.6.",
            "joins otherwise",
        ),
    ],
)  # fmt: skip
def test_what_says_something_else_is_not_taken(line, text, why):
    assert slip(text, line) == why


@pytest.mark.slow
def test_the_grammars_own_sentences_are_as_they_should_be():
    for one in CLAIMS:
        for phrase in one.phrases:
            for value in (True, False):
                line = RewordedLine(first_person(phrase, value=value), (one,), person=True)
                assert slip(line.text, line) is None, line.text
            for shape, count in SHAPES.items():
                claims = (one, CHOIR, NURSING)[:count]
                phrases = [phrase, CHOIR.phrases[0], NURSING.phrases[1]][:count]
                for voice in VOICES:
                    line = RewordedLine(required(shape, phrases, voice), claims, shape)
                    assert slip(line.text, line) is None, line.text


@pytest.fixture(scope="module")
def drafts():
    return draft_set(MdcrSettings(documents=6, groups=2, scenarios=6))


def numbered(prompt):
    return re.findall(r"^(\d+)\. (.+)$", prompt, re.MULTILINE)


def longer(text):
    if text.startswith("I "):
        return f"At present, {text}"
    return f"Indeed, {text[0].lower()}{text[1:]}"


def test_taken_sentences_stand_where_the_grammars_stood(drafts):
    def ask(prompts):
        assert len(prompts) == 6 + 6
        return ["\n".join(f"{n}) {longer(text)}" for n, text in numbered(one)) for one in prompts]

    reworded, slips = reword(drafts, ask)
    for document, before in zip(reworded.documents, drafts.documents, strict=True):
        texts = [
            (one.text, old.text)
            for one, old in zip(document.sentences, before.sentences, strict=True)
        ]
        for (text, old), one in zip(texts, before.sentences, strict=True):
            assert text == (longer(old) if one.claims else old)
        assert document.finished().expression == before.finished().expression
    for scenario, before in zip(reworded.scenarios, drafts.scenarios, strict=True):
        assert scenario.finished().values == before.finished().values
        assert all(one.text.startswith("At present, I ") for one in scenario.mentions)
    assert not slips


def test_what_is_not_taken_stays_and_is_counted(drafts):
    lines = sum(bool(one.claims) for one in drafts.documents[1].sentences)

    def ask(prompts):
        replies: list[str | None] = ["1. Nothing of the kind.\n99. More."] * len(prompts)
        replies[1] = None
        return replies

    reworded, slips = reword(drafts, ask)
    assert reworded == drafts
    total = sum(
        sum(bool(one.claims) for one in document.sentences) for document in drafts.documents
    ) + sum(len(scenario.mentions) for scenario in drafts.scenarios)
    assert slips["no reply"] == lines
    assert slips["no such line"] == total - lines - 11
    assert sum(slips.values()) == total


def test_a_hostile_reply_changes_nothing_beyond_its_sentences(drafts):
    replies = Counter()

    def ask(prompts):
        replies["asked"] = len(prompts)
        return ["1. " * 10**6, *["1. <script>I sing in a choir.</script>."] * (len(prompts) - 1)]

    reworded, _ = reword(drafts, ask)
    assert reworded == drafts
