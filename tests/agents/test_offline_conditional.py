"""What `offline` says to a message about documents, a situation and a question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.offline.conditional import read_conditional
from branchwise.agents.prediction import FORMATS

DOCUMENTS = """\
Document doc1: A grant
doc1-c0: <h1>A grant</h1>
doc1-c1: <p>We have given it for many years.</p>
doc1-c2: <li>You must own a bicycle.</li>
doc1-c3: <li>Applicants must play the violin.</li>

Document doc2: A post
doc2-c0: <h1>A post</h1>
doc2-c1: <p>At least one of these must hold:</p>
doc2-c2: <li>Applicants must have a bicycle.</li>
doc2-c3: <li>Applicants must speak Danish.</li>"""


def said(
    situation: str, question: str, hints: str = "", *, steps: bool = False
) -> tuple[str, str, set]:
    message = f"{DOCUMENTS}\n\n{hints}Situation: {situation}\n\nQuestion: {question}"
    text = read_conditional(message, in_steps=steps)
    read = FORMATS["mdcr"].read_text(text)
    assert read is not None
    assert read.is_exact
    output = read.prediction.task_output
    return read.prediction.reasoning, output["answer"], {*map(frozenset, output["groups"])}


MAXIMUM = "What is the maximum number of these offers that I can get together?"


@pytest.mark.parametrize(
    ("situation", "question", "answer", "groups"),
    [
        ("I play the violin.", MAXIMUM, "2",
         {frozenset({"doc1-c2", "doc2-c2"}), frozenset({"doc1-c2", "doc2-c3"})}),
        ("I do not play the violin.", MAXIMUM, "1",
         {frozenset({"doc2-c2"}), frozenset({"doc2-c3"})}),
        ("I do not play the violin.", "Can I get all of these offers together?", "no", None),
        ("I speak Danish.", "Can I get at least one of these offers?", "yes", set()),
        ("I play the violin. I own a bicycle.", "Can I get at least one of these?", "yes", set()),
    ],
)  # fmt: skip
def test_it_goes_by_words_and_by_not(situation, question, answer, groups):
    _, short, found = said(situation, question)
    assert short == answer
    assert groups is None or found == groups


def test_hints_stand_for_what_they_say():
    values = "Conditions that the situation mentions:\ndoc2-c2: false\ndoc1-c3: true\n\n"
    relations = "Relations between conditions:\ndoc1-c2 is narrower than doc2-c3\n\n"
    _, short, found = said("I moved.", MAXIMUM, values + relations)
    assert (short, found) == ("2", {frozenset({"doc1-c2"})})
    conflict = "Relations between conditions:\ndoc1-c2 conflicts with doc2-c3\n\n"
    _, short, found = said("I moved.", MAXIMUM, values + conflict)
    assert (short, found) == ("1", {frozenset({"doc1-c2"})})
    shown = (
        "Of each document only the sentences that state conditions are shown.\n\n"
        "Document doc1: A grant\ndoc1-c1: <p>We have given it for many years.</p>\n\n"
        "Situation: I moved.\n\nQuestion: Can I get all of these offers together?"
    )
    assert read_conditional(shown) == '<ans>yes</ans> <cond>[["doc1-c1"]]</cond>'


@given(st.text())
def test_no_message_breaks_it(message):
    assert read_conditional(message).startswith("<ans>")


@given(st.lists(st.sampled_from(DOCUMENTS.splitlines()), max_size=30))
def test_no_part_of_one_breaks_it(lines):
    assert read_conditional("\n".join(lines)).startswith("<ans>")
