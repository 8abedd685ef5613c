"""The offline reader as expander and extractor, and as an agent that is given readings."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.answer import parse_answer
from branchwise.agents.offline.model import OfflineChatModel
from branchwise.agents.prediction import FORMATS, Prediction
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.check_node import checker_message
from branchwise.graphs.state import AgentState

PROMPTS = Prompts.load()
SCHEMA = {
    "type": "function",
    "function": {
        "name": "local_retriever",
        "description": "Search the passages.",
        "parameters": {"properties": {"query": {"type": "string"}}},
    },
}


def reply(*messages: BaseMessage, tools: Sequence[object] = ()) -> AIMessage:
    bound = {"tools": list(tools)} if tools else {}
    message = OfflineChatModel()._generate(list(messages), **bound).generations[0].message
    assert isinstance(message, AIMessage)
    return message


def expansion(question: str, prompt: str = PROMPTS.texts["expander"]) -> list[str]:
    return reply(SystemMessage(prompt), HumanMessage(question)).text.split("\n")


def extraction(question: str, searched: str, title: str, text: str) -> str:
    asked = f"Question: {question}\nSearched for: {searched}\nPassage: {title}\n{text}"
    return reply(SystemMessage(PROMPTS.render("extractor")), HumanMessage(asked)).text


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Who performed Reef{}?", ("song", "album")),
        ("When was Tide of the Moon{} first published?", ("book", "video game")),
        ("Who plays for the Marsh Rovers{}?", ("football club", "basketball team")),
        ("Name the singers of Reef{}.", ("song", "album")),
    ],
)
def test_a_name_is_told_apart_by_what_its_verb_is_said_of(question, kinds):
    asked = question.format("")
    assert expansion(asked) == [question.format(f" ({kind})") for kind in kinds]
    # So do replaced instructions.
    prompt = "Rewrite the question into its unambiguous interpretations, one on each line."
    assert expansion(asked, prompt) == expansion(asked)


@pytest.mark.parametrize(
    "question",
    [
        "Who performed Reef (1999 song)?", "Who performed Reef in 1999?",
        "Who performed the song Reef?", "What did Ada Holm perform?",
        "Which songs were performed by Ada Holm?", "Who performed in Bergen?",
        "Who performed Reef with Ada Holm?", "How tall is Ada Holm?", "who performed reef",
        "Who wrote Gone with the Wind?", "Who performed " + "Reef " * 1000 + "?", "?",
    ],
)  # fmt: skip
def test_a_question_that_is_clear_or_not_understood_is_its_own_reading(question):
    assert expansion(question) == [" ".join(question.split())]


OF_MODULES = {"expander", "expander_with_titles", "extractor"}
INSIDE_A_MESSAGE = {name for name in PROMPTS.texts if name.endswith(("reading", "readings"))}


@pytest.mark.parametrize("name", sorted(PROMPTS.texts.keys() - OF_MODULES - INSIDE_A_MESSAGE))
def test_every_other_prompt_gets_an_answer_in_its_form(name):
    prompt = PROMPTS.texts[name]
    text = reply(SystemMessage(prompt), HumanMessage("Who performed Reef?")).text
    if "<ans>" in prompt:
        assert text.endswith("<ans>no</ans> <cond>[]</cond>")
    else:
        assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize(
    ("answered", "titles", "said"),
    [
        (["Reef (1999 song)"], ["Reef (1999 song)", "Reef (album)"], "MISSING: Reef (album)"),
        (["Reef (1999 song)", "Reef (album)"], ["Reef (1999 song)", "Reef (album)"], "COMPLETE"),
        (["default"], ["Reef (1999 song)", "Reef (album)"], "COMPLETE"),
        (["Reef (1999 song)"], ["Reef (1999 song)", "Coral (song)", "Reef"], "COMPLETE"),
        ([], [], "COMPLETE"),
    ],
)
def test_a_reviewer_names_titles_beside_the_branches_of_an_answer(answered, titles, said):
    """As a system asks: the prompt file, and the message that the node writes."""
    passages = [{"id": title, "title": title, "text": ""} for title in titles]
    found = ToolMessage("x", tool_call_id="c", artifact={"passages": passages})
    prediction = Prediction(answers=dict.fromkeys(answered, ("Ada Holm",)))
    state = AgentState(messages=[found], prediction=prediction)
    asked = checker_message("Who performed Reef?", state)
    assert reply(SystemMessage(PROMPTS.texts["checker"]), HumanMessage(asked)).text == said


def test_sentences_with_words_of_the_question_or_the_search_are_copied():
    text = (
        "Night Ferry was shot in Oslo by Dr. Berg. It opened in May. Mia Lund directed it. "
        'The critics called it "slow." Its harbour was rebuilt in 1990.'
    )
    assert extraction("Who directed Night Ferry?", "Oslo harbour", "Night Ferry", text) == (
        "Night Ferry was shot in Oslo by Dr. Berg.\n"
        "Mia Lund directed it.\n"
        "Its harbour was rebuilt in 1990."
    )


@given(st.text(max_size=200), st.text(max_size=40), st.text(max_size=40))
def test_what_is_copied_stands_in_the_passage_word_for_word(text, question, searched):
    line = " ".join(text.split())
    asked = [" ".join(part.split()) for part in (question, searched)]
    copied = extraction(*asked, "Oslo", line)
    assert copied == "NONE" or all(span in line for span in copied.split("\n"))


QUESTION = "Who directed Night Ferry?"
READINGS = ("Who directed the 1951 film Night Ferry?", "Who directed Night Ferry (1988 film)?")


def asked(readings: Sequence[str] = READINGS, prompt: str = "readings") -> HumanMessage:
    listed = "\n".join(f"- {reading}" for reading in readings)
    return HumanMessage(f"{QUESTION}\n\n{PROMPTS.render(prompt, readings=listed)}")


AGENT = SystemMessage(PROMPTS.render("answer_with_tools"))
CALL = AIMessage(
    "",
    tool_calls=[
        {"name": "local_retriever", "args": {"query": "x"}, "id": "1", "type": "tool_call"}
    ],
)
OF_1951 = "[p1] Night Ferry (1951 film)\nThe film was directed by Ada Holm."
OF_1988 = "[p2] Night Ferry (1988 film)\nThe film was directed by Mia Lund."


def answers(*results: str, user: HumanMessage | None = None) -> dict[str, list[str]]:
    found = ToolMessage("\n\n".join(results), tool_call_id="1")
    return dict(json.loads(reply(AGENT, user or asked(), CALL, found).text)["answers"])


def test_each_given_reading_is_searched_for():
    made = reply(AGENT, asked(), tools=[SCHEMA]).tool_calls
    assert [call["args"]["query"] for call in made] == list(READINGS)


BOTH = {READINGS[0]: ["Ada Holm"], READINGS[1]: ["Mia Lund"]}


def kinds(*of: str) -> HumanMessage:
    return asked([f"Who directed Night Ferry ({kind})?" for kind in of])


@pytest.mark.parametrize(
    ("results", "user", "found"),
    [
        ([OF_1951, OF_1988], asked(), BOTH),
        ([text.replace("\n", " · 2 of 3\n") for text in (OF_1951, OF_1988)], asked(), BOTH),
        ([OF_1951], asked(), {READINGS[0]: ["Ada Holm"]}),
        (["[p1] Night Ferry (1951 film)\nIt opened in May. … The film was shot in Oslo.", OF_1951],
         asked(), {READINGS[0]: ["Ada Holm"]}),
        ([OF_1951, OF_1988], kinds("film", "play"),
         {"Night Ferry (1951 film)": ["Ada Holm"], "Night Ferry (1988 film)": ["Mia Lund"]}),
        ([OF_1951, OF_1988], kinds("opera", "play"),
         {"Night Ferry (1951 film)": ["Ada Holm"], "Night Ferry (1988 film)": ["Mia Lund"]}),
    ],
    ids=["each under its text", "parts of a title", "another year is left out", "later extracts",
         "titles that fit one alike", "readings that fit no title"],
)  # fmt: skip
def test_given_readings_are_answered_from_the_titles_that_fit(results, user, found):
    assert answers(*results, user=user) == found


HOSTILE = st.text(max_size=60) | st.sampled_from(
    [
        "- ", "- a\n- b", "* (film)\n* (play)", "Question:", "Searched for:", "Passage:",
        "Question: a\nSearched for: b\nPassage: c", "Fragment 1: T", "\n\n", "NONE", "(1999)",
        "Who performed Reef", "in these ways, one a line:", "[a] ", "[id] T\ntext", "Fragment 2",
    ]
)  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(HOSTILE, min_size=1, max_size=6).map("\n".join),
    st.sampled_from(["expander", "extractor", "answer_with_tools", "conditions_with_tools"]),
    st.booleans(),
)
def test_no_message_breaks_any_role(text, prompt, searched):
    history = [CALL, ToolMessage(f"{OF_1951}\n\n{text}", tool_call_id="1")] if searched else []
    said = reply(SystemMessage(PROMPTS.texts[prompt]), HumanMessage(text), *history).text
    if searched and prompt in ("answer_with_tools", "conditions_with_tools"):
        name = "branches" if prompt == "answer_with_tools" else "conditions"
        assert parse_answer(said, FORMATS[name]).how == "strict"


@pytest.mark.slow
@pytest.mark.parametrize(
    "many",
    ["- a\n" * 50_000, f"- a{' ' * 100_000}b\n- c", "\n" * 100_000, "question " * 50_000],
    ids=["readings", "spaces", "empty lines", "words"],
)
def test_very_long_messages_are_read(many):
    assert answers(user=HumanMessage(f"{QUESTION}\n\n{many}")) == {}
    passage = f"Fragment 1: a\n{many}\n\n- a\n- b"
    assert answers(user=HumanMessage(f"{QUESTION}\n\n{passage}")) == {}
