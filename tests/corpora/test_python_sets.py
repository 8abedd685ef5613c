"""Question sets as Python has them: sequences, rows, questions."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import branchwise
from branchwise import System, load_questions, run, score
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question, QuestionSet
from branchwise.runs.options import QuestionOptions
from branchwise.runs.studies.schema import load_study
from branchwise.runs.studies.shared import sets_of

ROWS = [
    {"id": f"q{n}", "question": f"Who made film {n}?", "answers": {"default": [f"P {n}"]}}
    for n in range(30)
]


@pytest.fixture
def questions(tmp_path: Path) -> QuestionSet:
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return load_questions(path)


def test_a_set_is_a_sequence(questions: QuestionSet) -> None:
    assert [question.id for question in questions] == [row["id"] for row in ROWS]
    assert questions[2] == questions["q2"] == list(questions)[2]
    assert questions[-1].id == "q29"
    assert "30 questions, task branches>" in repr(questions)
    assert len(repr(questions)) < 200
    with pytest.raises(KeyError):
        questions["q99"]


def test_a_part_is_a_set_with_its_own_digest(questions: QuestionSet) -> None:
    first = questions[:10]
    assert (first.source, first.task, len(first)) == (questions.source, "branches", 10)
    assert first.digest != questions.digest
    assert questions.filter(lambda question: int(question.id[1:]) < 10) == first
    assert questions[:] == questions


def test_a_sample_is_drawn_by_its_seed_and_stays_in_order(questions: QuestionSet) -> None:
    ids = [question.id for question in questions.sample(5, seed=7)]
    # Python's own generator, whose draws do not change.
    assert ids == ["q1", "q4", "q10", "q12", "q20"]
    assert questions.sample(5, seed=7) == questions.sample(5, seed=7)
    assert questions.sample(5, seed=8) != questions.sample(5, seed=7)
    assert questions.sample(99) == questions


def test_a_command_and_a_study_draw_the_same_sample(
    questions: QuestionSet, tmp_path: Path, type_in: Callable[..., tuple[int, str, str]]
) -> None:
    drawn = questions.sample(5, seed=7)
    out = tmp_path / "five.jsonl"
    options = ("--sample", "5", "--sample-seed", "7")
    assert type_in("questions", "convert", questions.source, *options, "--out", out)[0] == 0
    assert load_questions(out).digest == drawn.digest
    study = {
        "name": "s",
        "questions": {"source": str(questions.source), "sample": 5, "sample_seed": 7},
        "base": {"model": "offline"},
        "factors": {"max_turns": [3, 4]},
    }
    path = tmp_path / "s.yaml"
    path.write_text(json.dumps(study))
    assert sets_of(load_study(path))[0].questions.digest == drawn.digest
    assert QuestionOptions(sample=5, limit=3).selection().of(questions) == questions.sample(5)[:3]


def test_rows_questions_and_sets_are_the_same_questions(questions: QuestionSet) -> None:
    for given in (ROWS, iter(ROWS), list(questions), questions):
        assert load_questions(given).digest == questions.digest


def test_columns_are_named_and_published_forms_are_known() -> None:
    named = load_questions(
        [{"n": 1, "q": "Who?", "gold": "Ann; Bo"}],
        fields={"id": "n", "question": "q", "answers": "gold"},
        separator=";",
    )
    assert [answer.text for answer in named["1"].branches[0].answers] == ["Ann", "Bo"]
    annotations = [{"type": "singleAnswer", "answer": ["Sicily"]}]
    published = load_questions([{"id": "a", "question": "Where?", "annotations": annotations}])
    assert published.task == "ambigqa"


def test_rows_without_ids_get_them() -> None:
    with pytest.warns(UserWarning, match="rows: ids added: 2"):
        read = load_questions([{"question": "Who?", "answers": ["Ann"]}] * 2)
    assert len({question.id for question in read}) == 2


class Unknown:
    """As NA of pandas: no comparison with it is true or false."""

    def __eq__(self, other: object) -> "Unknown":  # type: ignore[override]
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None  # type: ignore[assignment]


class Frame:
    """What a frame of pandas is to others: names of columns, and records."""

    def __iter__(self):
        return iter(("id", "question", "answers", "note"))

    def to_dict(self, orient: str):
        assert orient == "records"
        row = {"id": "a", "question": "Who?", "answers": np.array(["Ann"]), "note": float("nan")}
        return [row, row | {"id": "b", "note": np.int64(3)}, row | {"id": "c", "note": Unknown()}]


def test_a_frames_missing_values_are_missing() -> None:
    with pytest.warns(UserWarning, match="kept in meta: note"):
        read = load_questions(Frame())
    assert dict(read["a"].meta) == dict(read["c"].meta) == {}
    assert read["b"].meta["note"] == 3


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "rows: holds no questions"),
        ([1], "row 1: is of the type int; give mappings"),
        ([{"id": "a"}], 'row 1: lacks "question"; write what is asked'),
        ([*ROWS, ROWS[3]], "row 31: question id 'q3' is already used by row 4"),
        (7, "load_questions: source is of the type int; give"),
    ],
)
def test_what_is_no_set_is_refused_in_one_line(given: object, why: str) -> None:
    with pytest.raises(InputError) as refused:
        load_questions(given)  # type: ignore[arg-type]
    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)


def test_a_set_is_written_and_is_a_frame(questions: QuestionSet, tmp_path: Path) -> None:
    path = questions[:3].save(tmp_path / "part.jsonl")
    assert load_questions(path).digest == questions[:3].digest
    frame = questions.to_pandas()
    assert list(frame.id[:2]) == ["q0", "q1"]
    assert frame.answers[1] == {"default": ["P 1"]}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda qs: qs.sample(-1), "sample: n is -1; give a number of questions"),
        (lambda qs: qs.sample(2.5), "sample: n is of the type float; give an int"),
        (lambda qs: qs.filter("x"), "filter: keep is of the type str; give a function"),
        (lambda qs: branchwise.run(qs), "run: missing a required argument: 'system'; its param"),
        (lambda qs: load_questions({"q": "a"}), "rows: is of the type dict, which has no rows"),
        (lambda qs: load_questions(np.array(["a"])), "rows: is of the type ndarray, which has no"),
    ],
)
def test_what_a_set_cannot_do_is_one_line(
    questions: QuestionSet, call: Callable[[QuestionSet], object], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        call(questions)
    assert str(refused.value).startswith(said)


def test_columns_of_answers_are_proposed_and_files_need_no_prefix(tmp_path: Path) -> None:
    rows = [{"id": 1, "question": "Who?", "gold_answers": ["Ann"]}]
    with pytest.raises(InputError, match=r"""fields=\{'answers': 'gold_answers'\}"""):
        branchwise.load_questions(rows)
    (tmp_path / "q.json").write_text(json.dumps(rows))
    named = {"answers": "gold_answers"}
    read = branchwise.load_questions(tmp_path / "q.json", fields=named)
    assert read["1"].branches[0].answers[0].text == "Ann"


def test_what_was_kept_is_told_once(recwarn: pytest.WarningsRecorder) -> None:
    for _ in range(2):
        load_questions([{"id": "a", "question": "Who?", "answers": ["A"], "note": 1}])
    assert len([one for one in recwarn if "kept in meta: note" in str(one.message)]) == 1


def test_sets_have_names_and_results_over_them_are_compared(
    questions: QuestionSet, tmp_path: Path
) -> None:
    system, out = System(model="offline", tools=()), tmp_path / "S"
    made = branchwise.run({"films": questions[:2], "rest": ROWS[2:4]}, system, out=out)
    assert list(made.runs) == ["films", "rest"]
    listed = branchwise.run([ROWS[:2], ROWS[2:4]], system, out=tmp_path / "T")
    assert list(listed.runs) == ["rows", "rows-2"]
    other = branchwise.run(
        {"films": questions[:2], "rest": questions[2:4]}, system, out=tmp_path / "U"
    )
    compared = branchwise.compare(made, other)
    assert list(compared) == ["films", "rest"]
    assert list(compared["films"].comparisons) == ["U"]
    for call, said in (
        (lambda: branchwise.compare(made, listed), "share no set"),
        (lambda: branchwise.run({"a/b": questions}, system), "'a/b' cannot name a set"),
    ):
        with pytest.raises(InputError, match=said):
            call()


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    rows = [row | {"id": n} for n, row in enumerate(ROWS[:3])]
    made = branchwise.run(rows, System(model="offline", tools=()), out=tmp_path / "R", ids=[1, 2])
    assert made.state.done == 2


def test_rows_become_a_corpus(tmp_path: Path) -> None:
    rows = [{"name": f"T {n}", "body": f"Text {n}.", "url": "u"} for n in range(3)]
    named = {"title": "name", "text": "body"}
    built = branchwise.build_corpus([*rows, rows[0]], tmp_path / "C", fields=named)
    assert built.corpus.passage(1).title == "T 1"
    assert repr(built) == (
        f"<Corpus {tmp_path / 'C'}: 3 passages; left out: 1 passage that is there already: row 4; "
        "left out: fields that do not belong to a passage: url>"
    )
    assert branchwise.build_index(str(tmp_path / "C"), "bm25") == tmp_path / "C" / "index" / "bm25"
    with pytest.raises(InputError, match=r"no column 'nam'; correct fields=\{'title': 'nam'\}"):
        branchwise.build_corpus(rows, tmp_path / "D", fields={**named, "title": "nam"})
    with pytest.raises(InputError, match="fields is of the type str; give a dict"):
        branchwise.build_corpus(rows, tmp_path / "D", fields="title=name")


def test_rows_are_run_and_scored(tmp_path: Path) -> None:
    made = run(ROWS[:2], System(), out=tmp_path / "run")
    assert made.state.done == 2
    predictions = tmp_path / "p.jsonl"
    predictions.write_text(json.dumps({"id": "q1", "answers": {"default": ["P 1"]}}) + "\n")
    found = score(questions=ROWS[:2], predictions=predictions)
    assert found.aggregates["all"]["strict_em"].mean == 0.5
    again = score(questions=load_questions(ROWS[:2]), predictions=predictions)
    assert again.aggregates == found.aggregates
    assert isinstance(load_questions(ROWS)[0], Question)
