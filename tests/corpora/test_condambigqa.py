"""CondAmbigQA: the published format with all its irregularities."""

import json
from collections import Counter

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.published import without_markers
from branchwise.corpora.passages import passage_id
from branchwise.corpora.questions import questions_digest

CONTEXTS = [
    {"title": "Etna", "text": "Etna is a volcano on Sicily.", "score": 1.5},
    {"title": "Sicily", "text": "Sicily is the largest island in the Mediterranean.", "score": 1},
    {"title": "Etna", "text": "The volcano erupted in 1669 and reached Catania.", "score": 0.5},
]
IDS = [passage_id(context["title"], context["text"]) for context in CONTEXTS]


def cited(*titles, text=""):
    return [{"title": title, "text": text} for title in titles]


def prop(condition="reading", groundtruth="answer", citations=()):
    return {"condition": condition, "groundtruth": groundtruth, "citations": list(citations)}


@pytest.fixture
def load(tmp_path):
    def _load(*properties, contexts=CONTEXTS, **fields):
        entry = {"id": "q", "question": "?", "properties": list(properties), "ctxs": contexts}
        path = tmp_path / "data.json"
        path.write_text(json.dumps([entry | fields]))
        return load_questions(f"condambigqa:{path}").questions[0]

    return _load


def test_a_condition_is_a_branch_and_its_groundtruth_the_only_answer(load):
    question = load(prop("on Sicily", "It erupted.", cited("1. Etna", "2. Sicily")))
    (branch,) = question.branches
    assert branch.name == "on Sicily"
    assert [answer.text for answer in branch.answers] == ["It erupted."]
    assert branch.citations == (IDS[0], IDS[1])
    assert not question.ambiguous


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("No marker  here .", "No marker here ."),
        ("Done. [Fragment 1].", "Done."),
        ("[No related fragments provided]", ""),
        ("An [aside] on fragments", "An [aside] on fragments"),
        ("x [Fragment 1] [Fragment 2], y", "x, y"),
    ],
)
def test_markers_leave_no_trace_and_other_brackets_stay(marked, plain):
    assert without_markers(marked) == plain


def test_a_property_that_is_itself_a_list_is_written_out(load):
    question = load(prop("a"), [prop("b"), [prop("c")]])
    assert [branch.name for branch in question.branches] == ["a", "b", "c"]
    assert question.ambiguous


def test_the_number_stands_where_its_passage_has_the_title_whatever_the_text(load):
    question = load(prop(citations=cited("3. Etna", text=CONTEXTS[0]["text"])))
    assert question.branches[0].citations == (IDS[2],)


def test_where_the_title_disagrees_the_citations_own_text_decides(load):
    by_text = load(prop(citations=cited("1. Catania", text="It erupted in 1669, reached Catania")))
    assert by_text.branches[0].citations == (IDS[2],)


@pytest.mark.parametrize(
    "cite",
    [
        lambda number: {"title": f"{number}. {CONTEXTS[number - 1]['title']}", "text": ""},
        lambda number: {
            "fragment_number": number,
            "fragment_title": CONTEXTS[number - 1]["title"],
            "fragment_text": CONTEXTS[number - 1]["text"],
        },
        lambda number: f"Fragment {number}",
    ],
)
def test_citations_of_the_condition_and_of_the_answer_are_kept_together(load, cite):
    own = {"condition": "c", "groundtruth": "a"}
    lists = {"condition_citations": [cite(2)], "answer_citations": [cite(3), cite(2)]}
    question = load(own | lists)
    assert question.branches[0].citations == (IDS[1], IDS[2])
    assert "unresolved_citations" not in question.meta


def test_a_citation_that_points_nowhere_is_kept_apart(load):
    question = load(prop(citations=cited("21. Malta", "1. Etna")))
    assert question.branches[0].citations == (IDS[0],)
    assert question.meta["unresolved_citations"] == ["21. Malta"]


def test_the_benchmark_is_named_and_changes_no_digest(load):
    question = load(prop(citations=cited("21. Malta")))
    assert question.meta["benchmark"] == "condambigqa"
    unnamed = question.model_copy(update={"meta": {"unresolved_citations": ["21. Malta"]}})
    assert questions_digest([question]) == questions_digest([unnamed])
    other = question.model_copy(update={"meta": unnamed.meta | {"benchmark": ["condambigqa"]}})
    assert questions_digest([other]) != questions_digest([unnamed])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", r"data\.json:1: not valid JSON"),
        ("{}", r'data\.json:1: the form condambigqa does not fit: it lacks "properties"'),
        ("[]", r"data\.json: holds no questions"),
        ("[7]", r"data\.json:entry 1: expected a JSON object, found a number"),
        (json.dumps([{"id": "q", "question": "?"}]), r'entry 1: .* lacks "properties"'),
        (
            json.dumps([{"id": "q", "question": "?", "properties": [{}], "ctxs": []}]),
            r'entry 1, property 1: lacks "condition"',
        ),
        (
            json.dumps([{"id": "q", "question": "?", "properties": [prop("[Fragment 1]")],
                         "ctxs": []}]),
            r"entry 1, property 1: its condition is empty",
        ),
        (
            json.dumps([{"id": "q", "question": "?", "properties": [], "ctxs": []}]),
            r"entry 1: question 'q' has no gold answers",
        ),
    ],
)  # fmt: skip
def test_bad_data_is_one_line_that_names_file_and_entry(tmp_path, content, message):
    path = tmp_path / "data.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        load_questions(f"condambigqa:{path}")
    assert "\n" not in str(caught.value)


def test_the_published_half_loads_whole(condambigqa_dir):
    loaded = load_questions(f"condambigqa:{condambigqa_dir / 'dev.json'}")
    assert (loaded.task, len(loaded)) == ("condambigqa", 102)
    assert sum(len(question.branches) for question in loaded.questions) == 211
    assert all(len(question.passages) == 20 for question in loaded.questions)
    assert all(question.meta == {"benchmark": "condambigqa"} for question in loaded.questions)
    assert Counter(len(question.branches) for question in loaded.questions) == {
        1: 31,
        2: 34,
        3: 36,
        4: 1,
    }
    for question in loaded.questions:
        given = {passage.id for passage in question.passages}
        assert all(given.issuperset(branch.citations) for branch in question.branches)
