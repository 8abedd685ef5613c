"""Native JSONL and its shorthand."""

import hashlib
import json

import orjson
import pytest

from branchwise.commands.options import QUESTION_FORMATS
from branchwise.corpora.errors import InputError
from branchwise.corpora.loaders import FORMATS, load_questions
from branchwise.corpora.passages import passage_id

GOLD = {"default": ["Etna"]}


def question(id="q1", **fields):
    return {"id": id, "question": "Which volcano?"} | (fields or {"answers": GOLD})


def test_a_full_question_is_read_field_by_field(write):
    path = write(
        "q.jsonl",
        {
            "id": "q1",
            "question": "Who directed it?",
            "ambiguous": True,
            "branches": [
                {
                    "name": "the film",
                    "qid": "Q1",
                    "citations": ["p1"],
                    "answers": [
                        {"text": "A", "aliases": ["B"], "qid": "Q2", "support": ["p1", "p2"]}
                    ],
                }
            ],
            "passages": [{"id": "p1", "title": "T", "text": "x"}],
            "plan": [{"step": 1}],
            "meta": {"hops": 2},
        },
    )
    loaded = load_questions(str(path))
    assert (loaded.source, loaded.task, len(loaded)) == (str(path), "branches", 1)
    read = loaded.questions[0]
    assert read.branches[0].answers[0].forms == ("A", "B")
    assert read.branches[0].citations == ("p1",)
    assert read.support == {"p1", "p2"}
    assert read.meta["hops"] == 2


def test_the_shorthand_means_the_same_as_branches(write):
    short = write("short.jsonl", question(answers={"x": ["1", "2"], "y": ["3"]}))
    full = write(
        "full.jsonl",
        question(
            branches=[
                {"name": "x", "answers": [{"text": "1"}, {"text": "2"}]},
                {"name": "y", "answers": [{"text": "3"}]},
            ]
        ),
    )
    assert load_questions(str(short)).questions == load_questions(str(full)).questions
    assert load_questions(str(short)).questions[0].ambiguous


ALTERNATIVES = [{"x": ["1"], "y": ["2"]}, [{"name": "z", "answers": [{"text": "3"}]}]]


def test_alternatives_are_written_as_answers_or_as_branches(write):
    path = write("q.jsonl", question(answers=GOLD, alternatives=ALTERNATIVES))
    [read] = load_questions(str(path)).questions
    texts = [{b.name: [a.text for a in b.answers] for b in gold} for gold in read.gold_sets]
    assert texts == [GOLD, {"x": ["1"], "y": ["2"]}, {"z": ["3"]}]
    assert load_questions(str(write("r.jsonl", read.model_dump(mode="json")))).questions == (read,)


def test_a_question_is_ambiguous_where_every_gold_set_has_several_branches(write):
    several = {"x": ["1"], "y": ["2"]}
    path = write(
        "q.jsonl",
        question("q1", answers=several, alternatives=[GOLD]),
        question("q2", answers=several, alternatives=[several]),
        question("q3", answers=GOLD, alternatives=[several]),
    )
    assert [one.ambiguous for one in load_questions(str(path)).questions] == [False, True, False]


def test_no_alternatives_are_no_field_of_what_is_written(write):
    plain = load_questions(str(write("a.jsonl", question(answers=GOLD))))
    empty = load_questions(str(write("b.jsonl", question(answers=GOLD, alternatives=[]))))
    assert plain.digest == empty.digest
    assert "alternatives" not in plain.questions[0].model_dump()
    other = write("c.jsonl", question(answers=GOLD, alternatives=ALTERNATIVES))
    assert load_questions(str(other)).digest != plain.digest


def test_passages_without_an_id_get_their_content_hash(write):
    path = write("q.jsonl", question(answers=GOLD, passages=[{"title": "T", "text": "x"}]))
    expected = hashlib.blake2b(b"T\nx", digest_size=8).hexdigest()
    assert load_questions(str(path)).questions[0].passages[0].id == expected
    assert passage_id("T", "x") == expected


def test_blank_lines_are_skipped_but_counted(write):
    path = write("q.jsonl", "", question(), "  ", "{")
    with pytest.raises(InputError, match=r"q\.jsonl:4: not valid JSON"):
        load_questions(str(path))


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
        (["[1]"], r"q\.jsonl:1: expected a JSON object, found an array"),
        ([question(), question()], r"q\.jsonl:2: question id 'q1' is already used by .*:1"),
        ([question(answers=GOLD, alternatives={})], "must be a list of gold sets, found an object"),
        ([question(alternatives=[GOLD])], r':1: has "alternatives" without "branches"'),
        ([question(answers=GOLD, alternatives=[GOLD, 3])], "alternative 2 must map .* a number"),
        ([question(answers=GOLD, alternatives=[{"x": [" "]}])], "has an empty gold answer"),
        ([question(answers=GOLD, alternatives=[{"x": []}])], "no gold answers in branch 'x'"),
        ([{"id": "q1", "answers": GOLD}], r"q\.jsonl:1: question: Field required"),
        ([question(answers={"default": []})], r"q\.jsonl:1: .*no gold answers in branch 'default'"),
        ([{"id": "q1", "question": "?"}], r"q\.jsonl:1: question 'q1' has no gold answers;"),
        ([question(answers={"default": "Etna"})], r"q\.jsonl:1: \"answers\" must map"),
        ([question(answers=GOLD, branches=[])], r"q\.jsonl:1: has both"),
        ([question(answers={"": ["Etna"]})], r"q\.jsonl:1: a branch has an empty name"),
        ([question(answers={"default": [" "]})], r"q\.jsonl:1: has an empty gold answer"),
        ([question(" ")], r"q\.jsonl:1: has an empty id"),
        ([question(answers=GOLD, colour="red")], r"q\.jsonl:1: colour: Extra inputs"),
        (
            [question(branches=[{"name": "x", "answers": [{"text": "1"}]}] * 2)],
            r"q\.jsonl:1: branch 'x' appears twice",
        ),
        (
            [
                question(
                    answers=GOLD,
                    passages=[{"id": "p", "title": t, "text": "x"} for t in ("A", "B")],
                )
            ],
            r"q\.jsonl:1: two different passages have the id 'p'",
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
    with pytest.raises(InputError, match=r"unknown question format 'squad'.*condambigqa:PATH"):
        load_questions("squad:dev.json")
    with pytest.raises(InputError, match=r"did you mean condambigqa:dev\.json\?"):
        load_questions("condambiqa:dev.json")
    assert all(f"{name}:PATH" in QUESTION_FORMATS for name in FORMATS)


def test_an_overlong_line_is_refused_before_it_is_parsed(write, monkeypatch):
    monkeypatch.setattr("branchwise.corpora.files.MAX_LINE_BYTES", 100)
    with pytest.raises(InputError, match=r"q\.jsonl:1: the line is longer"):
        load_questions(str(write("q.jsonl", "x" * 101)))


def test_a_byte_order_mark_is_no_part_of_the_first_question(tmp_path):
    path = tmp_path / "q.jsonl"
    line = b'{"id": "q1", "question": "Who?", "answers": {"default": ["x"]}}\n'
    path.write_bytes(b"\xef\xbb\xbf" + line)
    assert load_questions(str(path)).questions[0].id == "q1"
