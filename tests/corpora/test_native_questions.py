"""Native JSONL and its shorthand."""

import hashlib
import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions, native
from branchwise.corpora.loaders.source import Loading, QuestionSource, RowPlace
from branchwise.corpora.passages import passage_id

GOLD = {"default": ["Etna"]}


def question(id="q1", **fields):
    return {"id": id, "question": "Which volcano?"} | (fields or {"answers": GOLD})


ALTERNATIVES = [{"x": ["1"], "y": ["2"]}, [{"name": "z", "answers": [{"text": "3"}]}]]


def gold_texts(read):
    return [{b.name: [a.text for a in b.answers] for b in gold} for gold in read.gold_sets]


def test_alternatives_are_written_as_answers_or_as_branches(write):
    more = [*ALTERNATIVES, "4", ["5", ["6", "66"]], [{"text": "7"}]]
    path = write("q.jsonl", question(answers=GOLD, alternatives=more))
    [read] = load_questions(str(path)).questions
    only = [{"default": ["4"]}, {"default": ["5", "6"]}, {"default": ["7"]}]
    assert gold_texts(read) == [GOLD, {"x": ["1"], "y": ["2"]}, {"z": ["3"]}, *only]
    assert load_questions(str(write("r.jsonl", read.model_dump(mode="json")))).questions == (read,)


def test_a_question_is_ambiguous_where_every_gold_set_has_several_branches(write):
    several = {"x": ["1"], "y": ["2"]}
    path = write(
        "q.jsonl",
        question("q1", answers=several, alternatives=[GOLD]),
        question("q2", answers=several, alternatives=[several]),
        question("q3", answers=GOLD, alternatives=[several]),
        question("q4", answers=several, alternatives=[GOLD], ambiguous=True),
        question("q5", answers=several, alternatives=[GOLD], ambiguous="no"),
    )
    read = load_questions(str(path)).questions
    assert [one.ambiguous for one in read] == [False, True, False, True, False]
    written = write("r.jsonl", *(one.model_dump(mode="json") for one in read))
    assert load_questions(str(written)).questions == read


def test_no_alternatives_are_no_field_of_what_is_written(write):
    plain = load_questions(str(write("a.jsonl", question(answers=GOLD))))
    empty = load_questions(str(write("b.jsonl", question(answers=GOLD, alternatives=[]))))
    assert plain.digest == empty.digest
    assert "alternatives" not in plain.questions[0].model_dump()
    other = write("c.jsonl", question(answers=GOLD, alternatives=ALTERNATIVES))
    assert load_questions(str(other)).digest != plain.digest


@pytest.mark.parametrize(
    ("alternatives", "message"),
    [
        ({}, r':1: "alternatives" is an object; write a list of gold sets'),
        ("A", r':1: "alternatives" is a string'),
        ([GOLD, None], ":1, alternative 2: the answer is null"),
        ([[]], ":1, alternative 1: branch 'default' has no answers"),
        ([GOLD, {"x": [" "]}], ":1, alternative 2: the answer of 'x' is empty"),
        ([{"x": []}], ":1, alternative 1: branch 'x' has no answers"),
        ([{"x": ["1"], "X": ["2"]}], ":1, alternative 1: the branches 'x' and 'X' differ only"),
        ([{"default": ["1"], "y": ["2"]}], ":1, alternative 1: 'y' stands beside \"default\""),
        ([[{"name": "x"}]], ":1, alternative 1: branch 'x' lacks \"answers\""),
        ([{"name": "x", "answers": ["1"]}], ":1, alternative 1: it looks like one branch; write a"),
        ([["1", "1"]], ":1, alternative 1: answer 2 repeats '1'"),
    ],
)
def test_a_mistake_in_an_alternative_names_it(write, alternatives, message):
    path = write("q.jsonl", question(answers=GOLD, alternatives=alternatives))
    with pytest.raises(InputError, match=message):
        load_questions(str(path))


@pytest.mark.parametrize(
    ("written", "forms"),
    [
        ("A", [("A",)]),
        (3, [("3",)]),
        (["A", 3, 2.5], [("A",), ("3",), ("2.5",)]),
        ([["A", "AA"], ["B"]], [("A", "AA"), ("B",)]),
        ([["A", "AA", "A"], "B"], [("A", "AA"), ("B",)]),
        ([["A", 3]], [("A", "3")]),
        ([{"text": "A", "aliases": ["AA"]}, "B"], [("A", "AA"), ("B",)]),
        ([{"text": "A", "aliases": "AA"}], [("A", "AA")]),
        ([{"text": 3, "aliases": [4], "qid": None, "support": None}], [("3", "4")]),
    ],
)
def test_answers_are_taken_in_every_natural_way(write, written, forms):
    ways = [
        {"answers": written},
        {"answers": {"default": written}},
        {"branches": [{"name": "default", "answers": written}]},
        {"branches": {"default": written}},
    ]
    for way in ways:
        [read] = load_questions(str(write("q.jsonl", question(**way)))).questions
        [branch] = read.branches
        assert branch.name == "default"
        assert [answer.forms for answer in branch.answers] == forms
        assert not read.ambiguous


@pytest.mark.parametrize(("id", "read"), [(7, "7"), (-1, "-1"), ("a b", "a b")])
def test_ids_may_be_whole_numbers(write, id, read):
    assert load_questions(str(write("q.jsonl", question(id)))).questions[0].id == read


@pytest.mark.parametrize(
    ("written", "means"),
    [*((text, True) for text in (True, "true", "Yes", 1, "1")),
     *((text, False) for text in (False, "false", "No", 0, "0"))],
)  # fmt: skip
def test_ambiguous_is_said_in_words_and_numbers(write, written, means):
    path = write("q.jsonl", question(answers=GOLD, ambiguous=written))
    assert load_questions(str(path)).questions[0].ambiguous is means


def test_null_is_as_if_it_were_left_out(write):
    null = dict.fromkeys(("branches", "ambiguous", "passages", "plan", "meta", "colour"))
    path = write("q.jsonl", question(answers=GOLD, **null), question("q2", answers=GOLD))
    one, two = load_questions(str(path)).questions
    assert one.model_copy(update={"id": "q2"}) == two


def test_other_fields_are_kept_and_told_once(write):
    path = write(
        "q.jsonl",
        question(
            "q1",
            answers=[{"text": "Etna", "country": "Italy"}, {"text": "Fuji", "country": "Japan"}],
            colour="red",
            meta={"domain": "film"},
        ),
        question(
            "q2",
            branches=[{"name": "x", "answers": ["1"], "note": "first"}],
            passages=[{"id": 5, "text": "x", "url": "u"}],
            colour="blue",
        ),
    )
    with pytest.warns(UserWarning, match="kept in meta") as told:
        one, two = load_questions(str(path)).questions
    assert [str(warning.message) for warning in told] == [
        f"{path}: kept in meta: colour (2), answers.country (1), branches.note (1), "
        "passages.url (1)"
    ]
    assert one.meta == {
        "domain": "film",
        "colour": "red",
        "answers.country": {"Etna": "Italy", "Fuji": "Japan"},
    }
    assert two.meta == {
        "colour": "blue",
        "branches.note": {"x": "first"},
        "passages.url": {"5": "u"},
    }
    assert two.passages[0].id == "5"


def test_answers_of_one_name_keep_what_each_says(write):
    gold = {"x": [{"text": "Etna", "note": 1}], "y": [{"text": "Etna", "note": 2}]}
    path = write("q.jsonl", question(answers=gold))
    with pytest.warns(UserWarning, match="answers.note"):
        [read] = load_questions(str(path)).questions
    assert read.meta == {"answers.note": {"Etna": 1, "Etna (2)": 2}}


def test_passages_may_be_texts_and_lack_a_title(write):
    path = write("q.jsonl", question(answers=GOLD, passages=["x", {"text": "x"}]))
    one, two = load_questions(str(path)).questions[0].passages
    assert one == two
    assert (one.title, one.text, one.id) == ("", "x", passage_id("", "x"))


BRANCHES = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["default", "x", "X", " ", "y"]),
            "answers": st.lists(
                st.fixed_dictionaries(
                    {
                        "text": st.sampled_from(["a", "b", "A", ""]),
                        "aliases": st.lists(st.sampled_from(["c", " "]), max_size=2),
                        "qid": st.sampled_from([None, "Q1", "Q2"]),
                        "support": st.just([]),
                    }
                ),
                max_size=3,
            ),
            "qid": st.none(),
            "citations": st.just([]),
        }
    ),
    max_size=3,
)
RECORDS = st.fixed_dictionaries(
    {"id": st.text(max_size=2), "question": st.text(max_size=2), "branches": BRANCHES},
    optional={
        "alternatives": st.lists(BRANCHES, max_size=2),
        "ambiguous": st.sampled_from([True, False, 1, "yes", None]),
        "passages": st.lists(
            st.fixed_dictionaries(
                {
                    "id": st.sampled_from(["p", "q"]),
                    "title": st.just("T"),
                    "text": st.sampled_from(["x", "y"]),
                }
            ),
            max_size=2,
        ),
        "meta": st.sampled_from([{}, {"a": 1}, {"a": [1]}]),
    },
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(record=RECORDS)
def test_the_short_way_reads_what_the_long_way_reads(record):
    plain = native._plain(record)
    if plain is None:
        return
    at = RowPlace(Loading(QuestionSource.parse("q.jsonl")), "q.jsonl:1", 1)
    reader = native._QuestionReader(at)
    assert reader.read(record) == plain
    assert reader.refused == 0


def test_the_digest_follows_content_and_not_layout(write):
    one = write("a.jsonl", json.dumps(question()))
    spaced = write("b.jsonl", "", json.dumps(question(), indent=None, separators=(" , ", " : ")))
    other = write("c.jsonl", question(answers={"default": ["Vesuvius"]}))
    digests = [load_questions(str(path)).digest for path in (one, spaced, other)]
    assert digests[0] == digests[1] != digests[2]
    canonical = load_questions(str(one)).questions[0].model_dump(mode="json")
    line = orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS) + b"\n"
    assert digests[0] == hashlib.sha256(line).hexdigest()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"q\.jsonl: holds no questions"),
        ([question(), question()], r"q\.jsonl:2: question id 'q1' is already used by .*:1"),
        ([{"id": "q1", "question": "?"}], r"q\.jsonl:1: question 'q1' has no gold answers;"),
        (
            [question(branches=[{"name": "x", "answers": [{"text": "1"}]}] * 2)],
            r"q\.jsonl:1: branch 'x' appears twice",
        ),
    ],
)
def test_bad_data_is_one_line_that_names_file_and_line(write, lines, message):
    with pytest.raises(InputError, match=message) as caught:
        load_questions(str(write("q.jsonl", *lines)))
    assert "\n" not in str(caught.value)


def test_questions_without_gold_are_allowed_where_nobody_scores(write):
    path = write("q.jsonl", {"id": "q1", "question": "?"})
    assert load_questions(str(path), require_gold=False).questions[0].branches == ()


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: no such file"):
        load_questions(str(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match="is a folder"):
        load_questions(str(tmp_path))


def test_an_unknown_format_names_the_known_ones():
    with pytest.raises(InputError, match=r"unknown question form 'xyz'.*condambigqa"):
        load_questions("xyz:dev.json")
    with pytest.raises(InputError, match=r"did you mean condambigqa:dev\.json\?"):
        load_questions("condambiqa:dev.json")


def test_an_overlong_line_is_refused_before_it_is_parsed(write, monkeypatch):
    monkeypatch.setattr("branchwise.base.files.MAX_LINE_BYTES", 100)
    with pytest.raises(InputError, match=r"q\.jsonl:1: the line is longer"):
        load_questions(str(write("q.jsonl", "x" * 101)))


def test_a_byte_order_mark_is_no_part_of_the_first_question(tmp_path):
    path = tmp_path / "q.jsonl"
    line = b'{"id": "q1", "question": "Who?", "answers": {"default": ["x"]}}\n'
    path.write_bytes(b"\xef\xbb\xbf" + line)
    assert load_questions(str(path)).questions[0].id == "q1"
