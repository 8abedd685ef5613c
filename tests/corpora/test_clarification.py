import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.base.text import one_line
from branchwise.corpora.clarification import (
    ClarificationFormatError,
    ClarificationQuestion,
    parse_clarification,
)


@pytest.mark.parametrize(
    ("text", "category", "options", "preposition"),
    [
        ("Which one: the old film, the novel, or the opera?", "one",
         ("the old film", "the novel", "the opera"), ""),
        ("Which series: K, or L?", "series", ("K", "L"), ""),
        ("In which sense: in league games, or counting cup games too?", "sense",
         ("in league games", "counting cup games too"), "in"),
        ("Which edition: the first printed one, or the one that was read aloud?",
         "edition", ("the first printed one", "the one that was read aloud"), ""),
        ("which act : rock or pop, or jazz ?", "act", ("rock or pop", "jazz"), ""),
        ("Which one: A or B", "one", ("A", "B"), ""),
        ("Which one: A, B or C?", "one", ("A", "B", "C"), ""),
        ("Which one: Paris, Texas; or Rome, Italy?", "one", ("Paris, Texas", "Rome, Italy"), ""),
        ('Which one: "A; or ""B""", or "C, or D"?', "one", ('A; or "B"', "C, or D"), ""),
        ("According to which source: A, B, or C?", "source", ("A", "B", "C"), "according to"),
        ("Which film: Heat: a story, or Ronin?", "film", ("Heat: a story", "Ronin"), ""),
        ("Which one: the film?", "one", ("the film",), ""),
        ("Which year: 1999,2000, or 2001?", "year", ("1999", "2000", "2001"), ""),
        ("Which year: 1999, 2000,or 2001?", "year", ("1999", "2000", "2001"), ""),
        ("Which number: 1,000, 2,500,000 or 900?", "number", ("1,000", "2,500,000", "900"), ""),
        (
            "In terms of what: height, or the count of floors?",
            "what",
            ("height", "the count of floors"),
            "in terms of",
        ),
        ("As of When: 2018, 2010, or later?", "when", ("2018", "2010", "later"), "as of"),
    ],
)  # fmt: skip
def test_what_is_of_the_form_is_read(text, category, options, preposition):
    assert parse_clarification(text) == ClarificationQuestion(category, options, preposition)


@pytest.mark.parametrize(
    "text",
    ["", "Which one", "What version: A, or B?", "Which : A, or B?", ": A, or B?", "Which one:?",
     "Which one: , ?", "Whichever: A, or B?", "What: A, or B?", "When: 2010, or 2018?"],
)  # fmt: skip
def test_what_is_not_of_the_form_is_refused_in_one_line(text):
    with pytest.raises(ClarificationFormatError) as refused:
        parse_clarification(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "written"),
    [
        (("A", "B"), "Which one: A, or B?"),
        (("A", "B", "C"), "Which one: A, B, or C?"),
        (("rock or pop", "jazz"), "Which one: rock or pop, or jazz?"),
        (("Paris, Texas", "Paris"), "Which one: Paris, Texas; or Paris?"),
        (("or else", "B"), 'Which one: "or else", or "B"?'),
        (("A or B",), 'Which one: "A or B"?'),
    ],
)
def test_the_plainest_separator_that_suffices_is_written(options, written):
    assert ClarificationQuestion("one", options).text == written


parts = st.sampled_from(
    ["a", "or", "Paris", ",", ";", " ", '"', '""', "?", ":", "or ", ", or ", "É", "1999", "000"]
)
option = st.lists(parts, min_size=1, max_size=8).map("".join).map(one_line).filter(bool)
categories = st.sampled_from(
    ["one", "version", "type of film", "which", "person, living or dead", "what", "when"]
)


@pytest.mark.slow
@settings(max_examples=1000)
@given(
    category=categories,
    options=st.lists(option, min_size=1, max_size=6).map(tuple),
    preposition=st.sampled_from(["", "in", "according to", "from"]),
)
def test_every_question_reads_back_as_it_was_written(category, options, preposition):
    question = ClarificationQuestion(category, options, preposition)
    assert parse_clarification(question.text) == question


@given(st.text(st.sampled_from('Which: or,;"?aA '), max_size=300))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse_clarification(text)
    except ClarificationFormatError:
        return
    assert found.category
    assert all(found.options)
