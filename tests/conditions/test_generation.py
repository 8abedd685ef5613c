"""Generated documents and scenarios: what they hold, and that what they say is true."""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import orjson
import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.conditions.conditions_file import (
    conditions_record,
    parse_conditions,
    read_conditions,
)
from branchwise.corpora.conditions.question import PUBLISHED_MDCR
from branchwise.corpora.loaders.mdcr import questions_of
from branchwise.worlds.conditions.domain import DOMAINS, YOUR, Claim, can_hold, document_domain
from branchwise.worlds.conditions.drafts import VOICES, first_person, required
from branchwise.worlds.conditions.generate import (
    DraftSet,
    MdcrSettings,
    draft_set,
    single_documents,
    sizes,
)
from branchwise.worlds.questions.wording.writing import NEGATION

SAMPLE = Path(__file__).parents[2] / "examples" / "benchmarks" / "mdcr.json"
SETTINGS = MdcrSettings(documents=16, groups=16, scenarios=60, seed=5)
VOICE = {
    start: next(voice for voice in VOICES if voice.pattern.startswith(start))
    for start in ("{}", "You {", "Applicants m", "Only")
}
CLAIMS = [
    claim for name in DOMAINS for facet in document_domain(name).facets for claim in facet.claims
]


@pytest.fixture(scope="module")
def drafts() -> DraftSet:
    return draft_set(SETTINGS)


@pytest.fixture(scope="module")
def claims(drafts) -> dict[str, Claim]:
    return {
        f"{document.id}-{name}": claim
        for document in drafts.documents
        for name, claim in document.claims.items()
    }


def test_the_example_is_what_its_command_makes(drafts):
    written = orjson.loads(SAMPLE.read_bytes())
    made = conditions_record(drafts.finished(written["about"]))
    assert orjson.loads(orjson.dumps(made)) == written
    assert len(questions_of(read_conditions(SAMPLE))) == 180


def test_another_seed_makes_other_documents(drafts):
    other = draft_set(MdcrSettings(documents=16, groups=16, scenarios=60, seed=6))
    texts = [[one.text for one in document.sentences] for document in drafts.documents]
    assert texts != [[one.text for one in document.sentences] for document in other.documents]


def test_relations_are_those_that_hold_for_everyone(drafts, claims):
    """A person has one value, or none, in each respect."""
    told_of = {frozenset((one.first, one.second)): one for one in drafts.relations}
    for (first, one), (second, other) in combinations(claims.items(), 2):
        if first.split("-")[0] == second.split("-")[0]:
            continue
        people = {""} if one.facet != other.facet else {"", *one.means, *other.means}
        if one.facet != other.facet:
            assert frozenset((first, second)) not in told_of
            continue
        both = [(person in one.means, person in other.means) for person in people]
        found = told_of.get(frozenset((first, second)))
        if all(a == b for a, b in both):
            assert found.kind == "equivalent"
        elif (True, True) not in both:
            assert found.kind == "conflicting"
        elif (True, False) not in both:
            assert (found.kind, found.first, found.second) == ("inclusive", first, second)
        elif (False, True) not in both:
            assert (found.kind, found.first, found.second) == ("inclusive", second, first)
        else:
            assert found is None


def test_no_two_conditions_of_a_document_are_about_the_same(drafts):
    for document in drafts.documents:
        facets = [claim.facet for claim in document.claims.values()]
        assert 5 <= len(facets) <= 8
        assert len(set(facets)) == len(facets)


def test_expressions_say_what_the_document_does(drafts):
    """Alternatives stand under "at least one" or "enough", in sentences with "either"."""
    for document in drafts.documents:
        finished = document.finished()
        texts = list(finished.sentences.values())
        for name, claim in document.claims.items():
            sentence = finished.sentences[re.sub(r"[a-c]$", "", name)]
            assert any(word in sentence for phrase in claim.phrases for word in phrase.split()[-1:])
        alternatives = [text for text in texts if re.search("one of these|two ways|either", text)]
        assert (" OR " in str(finished.expression)) == bool(alternatives)


def test_scenarios_mention_as_many_conditions_as_they_should(drafts, claims):
    for scenario in drafts.scenarios:
        own = dict.fromkeys(scenario.documents, 0)
        others = 0
        asked = {claims[id].facet for id in claims if id.split("-")[0] in scenario.documents}
        for mention in scenario.mentions:
            for id in mention.conditions:
                document = id.split("-")[0]
                if document in own:
                    own[document] += 1
                else:
                    others += 1
                    assert claims[id].facet not in asked
        assert all(1 <= count <= 5 for count in own.values())
        assert others <= 6


def test_someone_could_be_as_each_scenario_says(drafts, claims):
    for scenario in drafts.scenarios:
        said = scenario.finished().values
        domain = {claims[id].facet.split("/")[0] for id in said}
        assert len(domain) == 1
        for facet in {claims[id].facet for id in said}:
            about = {id: claims[id].means for id in said if claims[id].facet == facet}
            people = {v for claim in CLAIMS if claim.facet == facet for v in claim.means}
            # Everyone has an age, and every other scale that is told on both sides.
            if {c.direction for c in CLAIMS if c.facet == facet} != {"at_least", "below"}:
                people.add("")
            assert any(
                all((person in means) == said[id] for id, means in about.items())
                for person in people
            )


def test_who_cannot_be_is_told():
    (low, high) = (
        next(claim for claim in CLAIMS if f"below {amount}" in claim.phrases[0])
        for amount in ("25,000", "60,000")
    )
    assert can_hold([(low, True), (high, True)])
    assert can_hold([(low, False), (high, True)])
    assert not can_hold([(low, True), (high, False)])
    (older, younger) = (
        next(claim for claim in CLAIMS if claim.phrases[0] == phrase)
        for phrase in ("be at least 30 years old", "be under 35 years old")
    )
    assert can_hold([(older, False), (younger, True)])
    assert not can_hold([(older, False), (younger, False)])


def test_groups_have_the_published_shares():
    assert sizes(164) == dict(PUBLISHED_MDCR.groups)
    assert sizes(16) == {2: 5, 3: 7, 4: 3, 5: 1}
    assert all(sum(sizes(count).values()) == count for count in range(1, 400))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"documents": 3}, "3 documents cannot be made; ask for 4 to 60 documents"),
        ({"documents": 61}, "61 documents cannot be made"),
        ({"groups": 0}, "0 groups cannot be made; ask for 1 to 100,000 groups"),
        ({"scenarios": 0}, "0 scenarios cannot be made; ask for 1 to 1,640 scenarios"),
        ({"documents": 6}, "6 documents do not make 55 groups of 2; ask for more documents"),
    ],
)
def test_what_cannot_be_made_is_refused(settings, message):
    with pytest.raises(InputError, match=re.escape(message)):
        MdcrSettings(**settings)


def test_phrases_read_as_english_in_every_voice():
    odd = re.compile(r"^be (?:an?|the \w+ person)\b|^have .* as \{your\} (?!main subject)")
    phrases = [phrase for claim in CLAIMS for phrase in claim.phrases]
    assert [phrase for phrase in phrases if odd.search(phrase)] == []
    assert odd.search("have farmers as {your} parents")


def test_phrases_can_stand_in_every_sentence():
    for claim in CLAIMS:
        assert len(claim.phrases) == len(set(claim.phrases)) >= 2
        for phrase in claim.phrases:
            assert not NEGATION.search(phrase), phrase
            assert re.fullmatch(r"(be|have~?|[a-z]+) [^{}]*(\{your\})?[^{}]*", phrase), phrase
            lowered = phrase.lower()
            assert any(re.search(rf"\b{re.escape(word.lower())}", lowered) for word in claim.keep)
            assert all(name in phrase for name in claim.names)


@pytest.mark.parametrize(
    ("phrase", "sentences"),
    [
        (
            "be under 25 years old",
            ("I am under 25 years old.", "I am not under 25 years old.",
             "You are under 25 years old.", "Applicants must be under 25 years old.",
             "Only those who are under 25 years old can apply."),
        ),
        (
            f"have {YOUR} home in Quenby",
            ("I have my home in Quenby.", "I do not have my home in Quenby.",
             "You have your home in Quenby.", "Applicants must have their home in Quenby.",
             "Only those who have their home in Quenby can apply."),
        ),
        (
            "have~ won a prize",
            ("I have won a prize.", "I have not won a prize.", "You have won a prize.",
             "Applicants must have won a prize.", "Only those who have won a prize can apply."),
        ),
    ],
)  # fmt: skip
def test_a_phrase_in_each_voice(phrase, sentences):
    assert sentences == (
        first_person(phrase, value=True),
        first_person(phrase, value=False),
        *(required("one", [phrase], VOICE[start]) for start in ("You {", "Applicants m", "Only")),
    )


def test_sentences_of_several_conditions():
    phrases = ["be a cook", "have~ won a prize", f"live with {YOUR} parents"]
    must, listed = VOICE["Applicants m"], VOICE["{}"]
    assert required("both", phrases, must) == "Applicants must be a cook and have won a prize."
    assert required("either", phrases, listed) == "Either be a cook or have won a prize."
    assert required("either_both", phrases, VOICE["Only"]) == (
        "Only those who either are a cook or both have won a prize and live with their parents can "
        "apply."
    )


@pytest.mark.parametrize("seed", range(3))
def test_pages_are_long_and_share_no_line_around_their_conditions(seed):
    lines: Counter[str] = Counter()
    starts: Counter[str] = Counter()
    settings = MdcrSettings(documents=60, groups=10, scenarios=1, seed=seed)
    for document in draft_set(settings).documents:
        texts = [sentence.text for sentence in document.sentences]
        assert 200 <= len(" ".join(texts).split()) <= 420
        assert not re.search(r"[\[\]{}|]|\bthe the\b|  | ,", " ".join(texts))
        for sentence in document.sentences:
            if sentence.claims:
                starts[" ".join(sentence.text.split()[:2])] += 1
            elif sentence.element != "h2" and not sentence.text.endswith(":"):
                lines[sentence.text] += 1
    assert max(lines.values()) == 1
    # No way to demand something is the usual one.
    assert max(starts.values()) < 0.2 * starts.total()


def test_the_control_asks_about_one_document_each(drafts):
    found = drafts.finished()
    control = single_documents(found, 1)
    assert len(control.scenarios) == len(found.scenarios)
    assert len({one.id for one in control.scenarios}) == len(control.scenarios)
    assert single_documents(found, 1) == control
    assert single_documents(found, 2).scenarios != control.scenarios
    whole = {one.id: one for one in found.scenarios}
    drawn: Counter[str] = Counter()
    for one in control.scenarios:
        (document,) = one.documents
        scenario = whole[one.id.removesuffix(f"-{document}")]
        assert document in scenario.documents
        own = {id: v for id, v in scenario.values.items() if id.split("-")[0] == document}
        assert one.values == own
        said = [part.text for part in scenario.parts]
        assert [part.text for part in one.parts] == [
            text
            for text, part in zip(said, scenario.parts, strict=True)
            if not part.values or own.keys() & part.values.keys()
        ]
        drawn[document] += 1
    assert len(drawn) > 3
    assert len(questions_of(parse_conditions(conditions_record(control), "f"))) == 180
