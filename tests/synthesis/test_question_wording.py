"""What generated questions never say, how long they are, and that they can be read in one way."""

import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from branchwise.kg.dials import Dials
from branchwise.worlds.domains import DOMAINS, world_schema
from branchwise.worlds.make import make_world
from branchwise.worlds.questions import generate
from branchwise.worlds.questions.ambiguity import read_names
from branchwise.worlds.questions.drafts import RejectedError
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.plans import Atomic, Plan, execute
from branchwise.worlds.questions.sources import Settings, world_domains
from branchwise.worlds.questions.wording.grammar import MOST_WORDS, Grammar
from support.synthesis.question_reader import QuestionReader

pytestmark = pytest.mark.long
COUNT = 300
VARIANTS = 4
READ_BACK = 300

BANNED = {
    "possibly the same": r"\(possibly",
    "and also": r"\band also\b",
    "home to ... home to": r"\bhome to\b.*\bhome to\b",
    "homeland": r"\bhomelands?\b",
    "an imperative": r"^(Consider|Name|List|Now take)\b",
    "an empty or doubled word": r"  |\b(\w+) \1\b|\bnot not\b| [?,.]",
    "words of the schema": r"[\[\]{}*/]",
    "a plural beside 'a'": r"\b[Aa]n? (films|actors|people|cities|countries|those)\b",
    "an 'or' of clauses without 'either'": r"^(?!.*\beither\b).*\bor (who|that|was|were|by|in)\b",
    "'and' of clauses after 'or' of names beside a noun": r"(by|to) E\d+x or E\d+x and \w+ed\b",
}


def questions_of(world: Path, facts: KgFacts, count: int):
    domains, common = world_domains(DOMAINS, DOMAINS)
    settings = Settings(count, 0.5, domains, common, seed=3)
    return list(generate.generate(facts, read_names(world / "names.jsonl"), settings))


@pytest.fixture(scope="module")
def asked(world_2000, facts: KgFacts):
    """Questions of a world, with plans."""
    return questions_of(world_2000, facts, COUNT)


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> tuple[Path, KgFacts]:
    """A world in which all that may change has changed, and its facts."""
    folder = tmp_path_factory.mktemp("changed") / "w"
    make_world(folder, 2_000, 7, dials=Dials(former=100))
    return folder, KgFacts.load(folder / "kg.nt.gz", world_schema())


def test_questions_are_one_sentence_without_banned_words(asked):
    assert len(asked) >= 0.9 * COUNT
    for question in asked:
        text = question.question
        # Names may hold anything: "Pay or Play", "St. Bertulf's College".
        assert text.endswith("?"), text
        assert text.startswith(
            ("Which ", "Who ", "In which ", "Of which ", "Citizens of which ")
        ), text
        assert text.count("?") == 1, text
        assert ". " not in re.sub(r"\b(St|[A-Z])\. ", "", text), text


def test_questions_are_short(asked):
    words = [len(question.question.split()) for question in asked]
    assert sum(count > 25 for count in words) <= 0.05 * len(words)
    assert max(words) <= MOST_WORDS
    assert sum(words) / len(words) < 17.5


def test_all_operations_are_asked_for(asked):
    counts = Counter(operation for q in asked for operation in {*q.meta["operations"]})
    wanted = ("atomic", "join", "filter", "group_by", "union", "intersection", "difference")
    assert all(counts[operation] >= 0.1 * len(asked) for operation in wanted), counts


@pytest.fixture(scope="module")
def placed(asked, facts):
    made = with_words(asked, facts)
    assert len(made) > 1_000
    return made


def with_words(asked, facts: KgFacts):
    """Plans, their questions with a word for each name, and what the words stand for."""
    schema = facts.schema
    grammar = Grammar(schema, 1)
    labels = {number: label for group in schema.items.values() for number, label in group.items()}
    made = []
    for place, question in enumerate(asked):
        plan = Plan.from_json(question.plan)
        entities = [e for e in dict.fromkeys(plan.entities()) if e not in labels]
        words = {entity: f"E{n}x" for n, entity in enumerate(entities)}
        named = {word: entity for entity, word in words.items()}
        for variant in range(VARIANTS):
            with suppress(RejectedError):
                text = grammar.question(plan, (labels | words).__getitem__, place + variant)
                made.append((plan, text, named))
    return made


@pytest.mark.parametrize("what", BANNED)
def test_no_question_says(placed, what):
    pattern = re.compile(BANNED[what])
    assert [text for _, text, _ in placed if pattern.search(text)] == []


def test_each_question_is_read_in_one_way_and_asks_for_its_plans_answers(placed, facts):
    """A parser of its own, which lets each phrase belong to every noun that it could be said of."""
    read_back(placed[:: max(1, len(placed) // READ_BACK)], facts)


def test_what_was_so_before_is_read_in_one_way(changed, monkeypatch):
    folder, facts = changed
    every = world_schema().former.keys()
    monkeypatch.setattr(generate, "_FORMER", 1.0)
    monkeypatch.setattr(generate, "_FORMER_TRIES", 20_000)
    asked = [q for q in questions_of(folder, facts, 60) if every & relations_of(q)]
    assert len(asked) == 60
    read_back(with_words(asked, facts), facts)


def test_a_question_about_the_present_says_so(changed):
    _, facts = changed
    grammar = Grammar(facts.schema, 1)
    plan = Plan(steps=[Atomic(relation="band_label", inverse=True, entity="Q1")])
    texts = {grammar.question(plan, lambda _: "Reef", variant) for variant in range(20)}
    assert texts == {"Which bands are signed to Reef?"}


def relations_of(question) -> set[str]:
    return {step["relation"] for step in question.plan if "relation" in step}


def read_back(placed, facts: KgFacts):
    reader = QuestionReader(facts.schema, facts, {})
    wrong = []
    for plan, text, names in placed:
        reader.names = names
        answers = {reader.answers(reading) for reading in reader.readings(text)}
        if answers != {execute(plan, facts).answers}:
            wrong.append((len(answers), text))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    "text",
    [
        "Who was supervised by people who won the E0x and who were born before 1950?",
        "Which football clubs are owned by companies that are based in E1x and that were founded "
        "after 1959?",
        "Which film awards were won by people who played in either E2x or E3x?",
    ],
)
def test_a_scope_that_words_decide_is_read_in_one_way(facts, text):
    assert _shapes(facts, text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Who was supervised by people who won the E0x and died after 1949?",
        "Which football clubs are owned by companies based in E1x and founded after 1959?",
        "Which film awards were won by people who played in E2x or E3x?",
    ],
)
def test_a_scope_that_words_leave_open_is_read_in_two_ways(facts, text):
    """What the grammar does not say, since the parser finds it open."""
    assert _shapes(facts, text) > 1


def _shapes(facts: KgFacts, text: str) -> int:
    first = {"E0x": "science_award", "E1x": "city", "E2x": "film", "E3x": "film"}
    names = {
        word: facts.members(kind)[place % 2] for place, (word, kind) in enumerate(first.items())
    }
    reader = QuestionReader(facts.schema, facts, names)
    # By where the words belong, whatever a noun's kind is called.
    return len({re.sub(r"types=frozenset\([^)]*\)", "", str(r)) for r in reader.readings(text)})
