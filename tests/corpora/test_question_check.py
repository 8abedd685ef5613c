"""`questions check`: every mistake in its line, and what is mended."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import MENDED

Typed = Callable[..., tuple[int, str, str]]
ANSWER = 'write a text, a list of its forms, or {"text": ..., "aliases": [...]}'


def line(id: object = "x", **fields: object) -> str:
    return json.dumps({"id": id, "question": "Which volcano?"} | (fields or {"answers": ["A"]}))


MISTAKES = [
    (line()[:-1], "not valid JSON (unexpected end of data, column 1); write one object per line"),
    ('["x"]', "expected a JSON object, found an array; write one object per line"),
    ('{"id": "x", "question": "?", "answers": {"y": ["1"], "y": ["2"]}}',
     "has the key 'y' twice in one object; merge what they hold, or rename one"),
    ('{"id": "x", "question": "?", "answers": ["\\ud800"]}',
     "not valid JSON (no low surrogate in string, column 43); write one object per line"),
    ('{"question": "?", "answers": ["A"]}', 'lacks "id"; number the questions (--fix mends it)'),
    (line(" "), "has an empty id; write a text or a whole number"),
    (line(["x"]), "has an array as id; write a text or a whole number"),
    (line("first", answers=["B"]),
     "question id 'first' is already used by line 1; give each question its own id"),
    (line("first"),
     "question id 'first' is already used by line 1, by the same question (--fix mends it)"),
    ('{"id": "x", "answers": ["A"]}', 'lacks "question"; write what is asked'),
    (line(question="\t", answers=["A"]), '"question" is empty; write what is asked'),
    (line(question=7, answers=["A"]), '"question" is a number; write what is asked'),
    (line(answrs=["A"]), "has a field 'answrs'; did you mean 'answers'?"),
    (line(answer="A"), "has a field 'answer'; did you mean 'answers'?"),
    (line(answers=["A"], branches=[]), 'has both "answers" and "branches"; keep one'),
    (line("none", meta={}), "question 'none' has no gold answers; add \"answers\": [\"...\"]"),
    (line(answers=True), f"the answer is true or false; {ANSWER}"),
    (line(answers=["A", None]), f"answer 2 is null; {ANSWER}"),
    (line("e", answers=["A", ""]), "answer 2 is empty; fill or remove it (--fix mends it)"),
    (line("r", answers={"y": ["3", "3"], "z": ["1"]}),
     "answer 2 of 'y' repeats '3'; write each answer once (--fix mends it)"),
    (line(answers=[{"title": "A"}]), f'the answer lacks "text"; {ANSWER}'),
    (line(answers=[{"name": "A"}]), "the answer lacks \"text\"; call 'name' \"text\""),
    (
        line(answers=["A"], aliases=["B"]),
        'has "aliases" beside "question"; write them with their answer: '
        '"answers": [["A", "alias of A"], "B"]',
    ),
    (line(answers=[{"text": "A", "alias": ["B"]}]),
     "the answer has 'alias'; did you mean 'aliases'?"),
    (line(answers=[{"text": "A", "aliases": {"B": 1}}]),
     "\"aliases\" of 'A' is an object; write a list of texts"),
    (line("a", answers=[{"text": "A", "aliases": ["B", " "]}]),
     "an alias of 'A' is empty; fill or remove it (--fix mends it)"),
    (line(answers={"text": "A", "aliases": ["B"]}),
     '"answers" looks like one answer; write a list around it'),
    (line(answers=[["A", ["B"]]]), "a form of the answer is an array; write its forms as texts"),
    (line(answers=[1e30]), "the answer is a number that is written 1e+30; write it as a text"),
    (line(answers={"": ["A"]}), 'a branch has an empty name; use "default"'),
    (line(answers={"y": ["1"], "Y": ["2"]}),
     "the branches 'y' and 'Y' differ only in case or spaces; merge the answers, or rename one"),
    (line(answers={"default": ["1"], "y": ["2"]}),
     "'y' stands beside \"default\", which means the only reading; name the reading"),
    (line(answers={"y": ["1"], "z": []}),
     "branch 'z' has no answers; add some, or leave the branch out"),
    (line(branches=7), '"branches" is a number; write a list of {"name": ..., "answers": [...]}'),
    (line(branches=["y"]), "branch 1 is a string; write an object"),
    (line(branches=[{"answers": ["A"]}]), 'branch 1 lacks "name"'),
    (line(branches=[{"name": "y"}]), "branch 'y' lacks \"answers\""),
    (line(answers=["A"], ambiguous="perhaps"), "\"ambiguous\" is 'perhaps'; write true or false"),
    (line(answers={"name": "y", "answers": ["1"]}),
     '"answers" looks like one branch; write a list around it'),
    (
        line(answers=["A"], alternatives={"y": ["1"]}),
        '"alternatives" is an object; write a list of gold sets, each as "answers" or "branches" '
        "are",
    ),
    (line(alternatives=[["A"]]),
     'has "alternatives", and neither "answers" nor "branches"; write one of them as these'),
    (line(answers={"y": ["1"], "z": ["2"]}, ambiguous=False),
     '"ambiguous" is false, and it has several branches; correct one'),
    (line(answers=["A"], passages={"title": "T"}),
     '"passages" is an object; write a list of objects'),
    (line(answers=["A"], passages=["T", 7]), "passage 2 is a number; write an object"),
    (line(answers=["A"], passages=[{"title": "T"}]),
     'passage 1 lacks "text"; write {"title": "...", "text": "..."}'),
    (line(answers=["A"], passages=[{"id": "p", "text": "a"}, {"id": "p", "text": "b"}]),
     "two different passages have the id 'p'; leave the ids out to use content hashes"),
    (line(answers=["A"], plan="first"), '"plan" is a string; write a list'),
    (line(answers=["A"], meta=["film"]), '"meta" is an array; write an object'),
    (line(answers=["A"], meta={"colour": "red"}, colour="blue"),
     "has 'colour' both in and beside \"meta\"; keep one of them"),
    (line(answers=[{"text": "A", "support": {"p": 1}}]),
     "\"support\" of 'A' is an object; write a list of texts"),
    (line(answers=[{"text": "A", "qid": 5}]), "\"qid\" of 'A' is a number; write a text"),
    ("[" * 3000, "not valid JSON (depth limit exceeded, column 1026); write one object per line"),
]  # fmt: skip


@pytest.fixture
def type_in(type_in: Typed) -> Typed:
    return partial(type_in, "questions")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """A good question, then all mistakes, a line each."""
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join([line("first"), *(text for text, _ in MISTAKES)]))
    return path


def test_a_file_of_all_kinds_of_mistakes_gives_a_line_for_each(type_in: Typed, bad: Path) -> None:
    assert len({said for _, said in MISTAKES}) == len(MISTAKES) > 30
    code, out, err = type_in("check", bad)
    expected = [f"{bad}:{number}: {said}" for number, (_, said) in enumerate(MISTAKES, start=2)]
    *found, read, following = out.splitlines()
    assert found == expected
    assert (code, err) == (1, "")
    unread = 5
    assert read == f"{bad}: {len(MISTAKES) + 1 - unread} questions read, {len(MISTAKES)} mistakes"
    assert following == f"next: branchwise questions check {bad} --fix FILE   # mends 5 of them"


@pytest.mark.parametrize(("text", "said"), MISTAKES, ids=[said[:40] for _, said in MISTAKES])
def test_loading_stops_at_the_same_mistake_and_says_what_mends_it(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(f"{line('first')}\n{text}\n")
    with pytest.raises(InputError) as caught:
        load_questions(str(path))
    what, mends = said.removesuffix(" (--fix mends it)"), said.endswith("(--fix mends it)")
    where = f"{path}:2: "
    if "first" in what:  # which says more to those who only load it
        what = "question id 'first' is already used by"
        mends = False
    assert str(caught.value).startswith(f"{where}{what}")
    assert ("branchwise questions check" in str(caught.value)) == mends


def test_what_needs_no_guess_is_mended_into_a_new_file(
    type_in: Typed, bad: Path, tmp_path: Path
) -> None:
    before = bad.read_bytes()
    mended = tmp_path / "mended.jsonl"
    code, out, _ = type_in("check", bad, "--fix", mended)
    assert code == 1
    assert out.splitlines()[-7:] == [
        f"{mended}: 6 questions",
        "  ids added: 1",
        "  repeated questions left out: 1",
        "  empty answers left out: 1",
        "  repeated answers left out: 1",
        "  empty aliases left out: 1",
        f"  yours to mend: {len(MISTAKES) - 5} mistakes, as above",
    ]
    assert bad.read_bytes() == before
    read = {q.id: q for q in load_questions(str(mended), require_gold=False).questions}
    assert list(read) == ["first", "2", "none", "e", "r", "a"]
    assert [a.forms for a in read["e"].branches[0].answers] == [("A",)]
    assert [a.forms for b in read["r"].branches for a in b.answers] == [("3",), ("1",)]
    assert [a.forms for a in read["a"].branches[0].answers] == [("A", "B")]
    assert "ambiguous" not in read["none"].model_fields_set


def test_a_file_that_was_mended_has_no_mistakes(type_in: Typed, tmp_path: Path) -> None:
    path, mended = tmp_path / "q.jsonl", tmp_path / "mended.jsonl"
    path.write_text(f"{line('a', answers=['x', 'x', ''])}\n{line('b')}\n")
    assert type_in("check", path)[0] == 1
    assert type_in("check", path, "--fix", mended)[0] == 0
    code, out, err = type_in("check", mended)
    assert (code, out, err) == (0, f"{mended}: 2 questions read, 0 mistakes\n", "")


def test_nothing_is_written_over_another_file(type_in: Typed, bad: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("mine")
    for command in (("check", bad, "--fix", other), ("convert", bad, "--out", other)):
        code, _, err = type_in(*command)
        assert code == 2
        assert err == (
            f"branchwise: {other}: already exists; name another file, or add --overwrite\n"
        )
        assert other.read_text() == "mine"
    assert type_in("check", bad, "--fix", bad)[0] == 2
    good = tmp_path / "good.jsonl"
    good.write_text(line())
    assert type_in("convert", good, "--out", other, "--overwrite")[0] == 0
    assert load_questions(str(other)).questions == load_questions(str(good)).questions


def test_a_file_that_breaks_off_is_not_written(type_in: Typed, tmp_path: Path) -> None:
    path, out = tmp_path / "q.json", tmp_path / "mended.jsonl"
    path.write_text(f"[{line('a')},\n{line('b')},")
    code, printed, _ = type_in("check", path, "--fix", out)
    assert code == 1
    assert f"{path}:2: not valid JSON" in printed
    assert not out.exists()
    assert not list(tmp_path.glob(".*"))


def test_a_set_without_any_gold_answers_is_no_mistake(type_in: Typed, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(f"{line('a', meta={})}\n{line('b', meta={})}\n")
    code, out, _ = type_in("check", path)
    assert code == 0
    assert out.splitlines() == [
        f"{path}: no question has gold answers: it can be asked, not scored",
        f"{path}: 2 questions read, 0 mistakes",
    ]


@pytest.mark.slow
def test_many_mistakes_of_a_kind_are_counted(type_in: Typed, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(line(n, answers=["A", ""]) for n in range(3_000)))
    code, out, _ = type_in("check", path)
    assert code == 1
    lines = out.splitlines()
    assert lines[20] == "… and 2,980 more of the kind empty-answer: see --json"
    assert lines[-2] == f"{path}: 3,000 questions read, 3,000 mistakes"
    _, out, _ = type_in("check", path, "--json")
    told = json.loads(out)
    assert told["counts"] == told["mended"] == {"empty-answer": 3_000}
    assert len(told["mistakes"]) == 1_000
    assert told["mistakes"][7] == {
        "kind": "empty-answer",
        "where": f"{path}:8",
        "what": "answer 2 is empty",
        "remedy": "fill or remove it",
        "mended": True,
    }
    assert (told["questions"], told["good"], told["written"]) == (3_000, 3_000, None)


def test_every_mended_kind_comes_up(type_in: Typed, bad: Path) -> None:
    mended = json.loads(type_in("check", bad, "--json")[1])["mended"].keys()
    # Our own format has no options apart from their answers.
    assert mended == MENDED.keys() - {"unmatched-options"}
