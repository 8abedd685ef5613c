import json
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.passages import make_passage
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.predictions_file import MISSING, read_predictions
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from support.eval.scoring_cases import question

QUESTIONS = QuestionSet(
    "q.jsonl",
    "branches",
    (question("q1", {"default": ["A", "1995"]}), question("q2", {"x 1": ["B"], "x 2": ["C"]})),
    "digest",
)


def written(path: Path, *lines: object) -> Path:
    file = path / "mine.jsonl"
    file.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines))
    return file


def test_lines_become_items(tmp_path: Path) -> None:
    line = {
        "id": "q2", "answers": {"x 1": ["B"]}, "reasoning": "because", "citations": {"x 1": ["p1"]},
        "evidence": ["p1", "p2"], "anything": {"else": 1}, "usage": {},
    }  # fmt: skip
    with pytest.warns(UserWarning, match=r"mine\.jsonl: fields that are not read: anything \(1\)$"):
        [made, _] = read_predictions(written(tmp_path, line), QUESTIONS)
    assert made.question.id == "q2"
    assert made.prediction.answers == {"x 1": ("B",)}
    assert made.prediction.citations == {"x 1": ("p1",)}
    assert made.prediction.reasoning == "because"
    assert made.evidence.passages == ("p1", "p2")


def test_a_question_without_a_prediction_counts_as_empty_and_is_counted(tmp_path: Path) -> None:
    file = written(tmp_path, {"id": "q1", "answers": {"default": ["A", "1995"]}})
    items = read_predictions(file, QUESTIONS)
    assert [(i.question.id, i.how) for i in items] == [("q1", "strict"), ("q2", MISSING)]
    scores = score_items(get_task("branches"), items)
    assert (scores.counts.items, scores.counts.answered, scores.counts.missing) == (2, 1, 1)
    assert scores.aggregates["all"]["strict_recall"].mean == 0.5


def test_short_forms_of_answers_are_read(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        {"id": "q1", "answers": ["A", 1995]},
        {"id": "q2", "answers": {"x 1": "B", "x 2": 7}},
        {"id": "q1", "answers": "A", "epoch": 1},
    )
    one, two, text = read_predictions(file, QUESTIONS)
    assert text.prediction.answers == {"default": ("A",)}
    assert one.prediction.answers == {"default": ("A", "1995")}
    assert two.prediction.answers == {"x 1": ("B",), "x 2": ("7",)}


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes(
        b'\xef\xbb\xbf{"id": "q1", "answers": ["A"]}\r\n\r\n{"id": "q2", "answers": {}}\r\n'
    )
    one, _ = read_predictions(file, QUESTIONS)
    assert one.prediction.answers == {"default": ("A",)}


def test_several_samples_of_a_question_are_told_apart_by_epoch(tmp_path: Path) -> None:
    lines = [{"id": "q1", "epoch": e, "answers": {"default": ["A"]}} for e in (0, 1)]
    items = read_predictions(written(tmp_path, *lines), QUESTIONS)
    assert [(i.question.id, i.epoch) for i in items] == [("q1", 0), ("q1", 1), ("q2", 0)]


def test_a_failure_in_the_file_stays_a_failure(tmp_path: Path) -> None:
    lines = [
        {"id": "q1", "answers": {}, "error": "timed out"},
        {"id": "q2", "answers": {}, "how": "failed"},
    ]
    counts = score_items(
        get_task("branches"), read_predictions(written(tmp_path, *lines), QUESTIONS)
    ).counts
    assert (counts.failed, counts.format_errors, counts.missing) == (1, 1, 0)


def test_passages_that_a_task_gives_everyone_are_evidence(tmp_path: Path) -> None:
    passage = make_passage("t", "x")
    asked = question("q1", {"c": ["A"]}).model_copy(update={"passages": (passage,)})
    file = written(tmp_path, {"id": "q1", "answers": {}})
    given = read_predictions(file, QuestionSet("f", "condambigqa", (asked,), ""))
    searched = read_predictions(file, QuestionSet("f", "branches", (asked,), ""))
    assert given[0].evidence.passages == (passage.id,)
    assert searched[0].evidence.passages == ()


OK = '{"id": "q1", "answers": {}}'
BAD = [
    ('{"id": "q1", ', "not valid JSON"),
    ('["q1"]', "expected a JSON object, found an array"),
    ('{"id": "q1"}', '"answers" is missing'),
    ('{"id": "q1", "answers": true}', '"answers.default[0]" is true or false, not a text'),
    (
        '{"id": "q1", "answers": {"default": [["A"]]}}',
        '"answers.default[0]" is an array, not a text',
    ),
    (
        '{"id": "q1", "answers": {"default": null}}',
        "answers under 'default' must be a list of texts",
    ),
    ('{"id": "q1", "answers": {"default": {"A": []}}}', "found an object"),
    ('{"answers": {}}', 'lacks "id"'),
    ('{"id": "q1", "answer": ["A"]}', "has a field 'answer'; did you mean 'answers'?"),
    ('{"id": "q1", "answers": [], "citation": []}', "did you mean 'citations'?"),
    ('{"id": "q9", "answers": {}}', "no question has the id 'q9'; compare the ids with q.jsonl"),
    ('{"id": "q1", "answers": {}, "epoch": -1}', "epoch"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_bad_lines_are_refused_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    file = written(tmp_path, '{"id": "q2", "answers": {}}', "", line)
    with pytest.raises(InputError) as caught:
        read_predictions(file, QUESTIONS)
    assert str(caught.value).startswith(f"{file}:3: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_repeated_id_is_refused_with_both_lines(tmp_path: Path) -> None:
    file = written(tmp_path, OK, OK)
    with pytest.raises(InputError, match=r"mine.jsonl:2: .*answered already by .*mine.jsonl:1"):
        read_predictions(file, QUESTIONS)


def test_written_lists_and_repeated_keys_lose_no_answer(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        '{"id": "q1", "answers": {"default": "[\'A\', \'1995\']"}}',
        '{"id": "q2", "answers": {"x 1": ["B"], "x 1": "D"}, "answers": {"x 2": "C"}}',
    )
    [first, second] = read_predictions(file, QUESTIONS)
    assert first.prediction.answers == {"default": ("A", "1995")}
    assert second.prediction.answers == {"x 1": ("B", "D"), "x 2": ("C",)}
