"""`branchwise questions`: what it writes and prints, and what it refuses."""

import json
from itertools import chain

import pytest

from branchwise.corpora.loaders import load_questions
from support.chat_server import fail, say
from support.synthesis.generated import SLICE

FILMS = (
    *("--kg", SLICE / "films.nt", "--schema", SLICE / "films.yaml"),
    *("--names", SLICE / "names.jsonl"),
)


@pytest.fixture
def type_in(type_in):
    return lambda *arguments: type_in("questions", *arguments)


def test_questions_of_a_world_need_only_its_folder(type_in, world_2000, tmp_path):
    out = tmp_path / "q.jsonl"
    code, printed, err = type_in(
        "generate", "--kg", world_2000, "--n", 12, "--seed", 3, "--out", out
    )
    assert code == 0, err
    assert f"{out}: 12 questions" in printed
    assert "12 of " in printed
    assert "no second set fits" in printed
    found = load_questions(str(out)).questions
    assert sum(q.ambiguous for q in found) == 6
    assert {q.meta["domain"] for q in found} == {
        "movie", "music", "book", "sports", "business", "science",
    }  # fmt: skip
    assert all(a.support for q in found for b in q.branches for a in b.answers)


def test_one_question_is_shown_with_its_plan_and_branches(type_in, world_2000, tmp_path):
    out = tmp_path / "q.jsonl"
    type_in("generate", "--kg", world_2000, "--n", 4, "--seed", 3, "--out", out)
    question = next(q for q in load_questions(str(out)).questions if q.ambiguous)
    code, shown, _ = type_in("info", out, "--id", question.id)
    assert code == 0
    lines = shown.splitlines()
    assert lines[0] == f"{question.id}  {question.question}"
    assert lines[1].startswith("  1. ")
    for branch in question.branches:
        at = next(n for n, line in enumerate(lines) if line.startswith(branch.name))
        assert lines[at + 1] == "  " + "; ".join(answer.text for answer in branch.answers)
    code, _, err = type_in("info", out, "--id", "nope")
    assert code == 2
    assert "no question has the id 'nope'; correct --id" in err


@pytest.mark.slow
def test_the_graph_that_is_built_in_a_world_means_the_world(type_in, world_2000, tmp_path):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for kg, out in zip((world_2000, world_2000 / "kg"), files, strict=True):
        assert type_in("generate", "--kg", kg, "--n", 6, "--out", out)[0] == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_only_the_domains_that_are_named(type_in, world_2000, tmp_path):
    out = tmp_path / "q.jsonl"
    code, _, _ = type_in(
        *("generate", "--kg", world_2000, "--n", 6, "--out", out, "--domains", "book, sports")
    )
    assert code == 0
    assert {q.meta["domain"] for q in load_questions(str(out)).questions} == {"book", "sports"}


def test_another_graph_needs_a_schema(type_in, tmp_path):
    out = tmp_path / "q.jsonl"
    code, _, err = type_in("generate", *FILMS, "--n", 8, "--out", out)
    assert code == 0, err
    assert {q.meta["domain"] for q in load_questions(str(out)).questions} == {"films"}
    code, printed, err = type_in("generate", *FILMS[:2], "--n", 8, "--out", out)
    assert (code, printed) == (2, "")
    assert err == (
        "branchwise: a graph that is not a world needs a schema; name its YAML file with --schema\n"
    )


def test_too_few_are_written_and_said(type_in, tmp_path):
    names = tmp_path / "names.jsonl"
    names.write_text("")
    out = tmp_path / "q.jsonl"
    code, printed, err = type_in("generate", *FILMS[:4], "--names", names, "--n", 4, "--out", out)
    assert code == 1
    assert "no shared name fits" in printed
    assert err.endswith(
        f"branchwise: only 2 of 4 questions could be made, which are in {out}; "
        "given up: films with several readings\n"
    )
    assert len(load_questions(str(out)).questions) == 2


@pytest.mark.long
def test_a_world_with_too_few_names_says_how_many_it_made(type_in, world_2000, tmp_path):
    out = tmp_path / "q.jsonl"
    asked = ("--n", 400, "--ambiguous", 1, "--domains", "sports")
    code, _, err = type_in("generate", "--kg", world_2000, *asked, "--out", out)
    assert code == 1
    made = len(load_questions(str(out)).questions)
    assert err.endswith(
        f"branchwise: only {made} of 400 questions could be made, which are in {out}; given up: "
        "sports with several readings; no name may be in more than 4\n"
    )


def test_none_at_all_leaves_no_file(type_in, tmp_path):
    names = tmp_path / "names.jsonl"
    names.write_text("")
    out = tmp_path / "q.jsonl"
    code, _, err = type_in(
        *("generate", *FILMS[:4], "--names", names, "--n", 2, "--ambiguous", 1, "--out", out)
    )
    assert code == 1
    assert "only 0 of 2 questions could be made; given up" in err
    assert not out.exists()


@pytest.mark.slow
def test_an_endpoint_that_does_not_answer_is_said(type_in, tmp_path):
    out = tmp_path / "q.jsonl"
    endpoint = ("--kg", "http://127.0.0.1:9/sparql", "--schema", SLICE / "films.yaml")
    for more in ((), FILMS[4:]):
        code, _, err = type_in("generate", *endpoint, *more, "--n", 2, "--out", out)
        assert code == 1
        assert err.startswith("branchwise: the graph failed: The endpoint cannot be reached")
        assert not out.exists()


@pytest.fixture
def model(chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return f"openai:scripted@{chat_server.url}"


def test_a_model_that_fails_leaves_what_there_is(type_in, chat_server, model, tmp_path):
    valid = say('{"verdict": "Valid", "reason": "-"}')
    asked = iter(range(100))
    chat_server.play(lambda request: valid if next(asked) < 14 else fail(401, "no such key"))
    out = tmp_path / "q.jsonl"
    code, _, err = type_in("generate", *FILMS, "--n", 20, "--out", out, "--reviewer", model)
    assert code == 1
    assert "branchwise: the model failed: " in err
    assert "of 20 questions could be made, which are in" in err
    assert 0 < len(load_questions(str(out)).questions) < 14


def batched(words):
    return zip(words[::2], words[1::2], strict=True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--n", 0), "0 questions cannot be made; ask for 1 or more"),
        (("--n", 2, "--ambiguous", 2), "2 of the questions cannot be ambiguous; give a share"),
        (("--n", 2, "--domains", " ,"), "no domain is given; leave out --domains for all"),
        (("--n", 2, "--domains", "cooking"), "films.yaml: there is no domain 'cooking' in it"),
        (("--n", 2, "--names", SLICE / "films.yaml"), "films.yaml:1: not valid JSON"),
        (("--n", 2, "--corpus", SLICE / "nowhere.jsonl"), "nowhere.jsonl: "),
        (("--n", 2, "--schema", SLICE / "films.nt"), "films.nt: "),
        (("--n", 2, "--kg", "nowhere"), "nowhere: "),
        (("--n", 2, "--writer", "parrot"), "parrot"),
    ],
)
def test_bad_input_is_one_line(type_in, tmp_path, options, says):
    out = tmp_path / "q.jsonl"
    given = {**dict(batched(FILMS)), **dict(batched(options))}
    code, printed, err = type_in("generate", "--out", out, *chain(*given.items()))
    assert (code, printed) == (2, "")
    assert err.startswith("branchwise: ")
    assert says in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_place_that_cannot_be_is_said_before_the_work(type_in, tmp_path):
    code, _, err = type_in("generate", "--kg", "nowhere", "--n", 2, "--out", tmp_path)
    assert (code, err) == (
        2, f"branchwise: {tmp_path}: is a folder; name a file with --out\n",
    )  # fmt: skip
    code, _, err = type_in("generate", "--kg", "nowhere", "--n", 2, "--out", tmp_path / "x/q.jsonl")
    assert (code, err) == (
        2, f"branchwise: {tmp_path / 'x'}: there is no such folder; make it first\n",
    )  # fmt: skip


def heat(*titles):
    """A line of a file of names."""
    bearers = [{"id": f"Q{number}", "title": title} for number, title in enumerate(titles, 1)]
    return json.dumps({"name": "Heat", "entities": bearers})


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([heat("Heat")], "names.jsonl:1: "),
        (['{"name": "Heat"}'], "names.jsonl:1: entities"),
        (
            [heat("Heat (film)", "Heat (film)")],
            "names.jsonl:1: two bearers of 'Heat' have one title",
        ),
        (
            [heat("Heat (film)", "Heat (song)")] * 2,
            "names.jsonl:2: the name 'Heat' comes twice",
        ),
    ],
)  # fmt: skip
def test_broken_names_are_said_with_their_line(type_in, tmp_path, lines, says):
    names = tmp_path / "names.jsonl"
    names.write_text("\n".join(lines))
    code, _, err = type_in(
        *("generate", *FILMS[:4], "--names", names, "--n", 1, "--out", tmp_path / "q.jsonl")
    )
    assert code == 2
    assert says in err


QUESTIONS = [
    {
        "id": "a",
        "question": "Who directed King Kong?",
        "branches": [
            {"name": "1933", "answers": [{"text": "Cooper"}, {"text": "Schoedsack"}]},
            {"name": "1976", "answers": [{"text": "Guillermin"}]},
        ],
        "plan": [{"op": "atomic", "relation": "directed_by", "entity": "Q1"}],
        "meta": {"entities": 3, "shape": "atomic()", "domain": "film"},
    },
    {"id": "b", "question": "Who is it?", "answers": {"default": ["He"]}},
]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)))
    return path


def test_info_counts_and_shows_alternatives(type_in, tmp_path):
    path = tmp_path / "q.jsonl"
    answers = {"the film": ["A"], "the song": ["B"]}
    asked = {
        "id": "q1",
        "question": "Who?",
        "answers": answers,
        "alternatives": [{"x": ["C", "D"]}],
    }
    path.write_text(json.dumps(asked))
    _, printed, _ = type_in("info", str(path))
    [line] = [line.split() for line in printed.splitlines() if line.startswith("with")]
    assert line == ["with", "alternatives", "1", "-"]
    _, printed, _ = type_in("info", str(path), "--id", "q1")
    assert printed.splitlines()[1:] == [
        *("the film", "  A", "the song", "  B", "alternative 1:", "  x", "    C; D")
    ]


def test_convert_writes_native_questions(type_in, written, tmp_path):
    out = tmp_path / "out.jsonl"
    code, printed, _ = type_in("convert", written, "--out", out)
    assert (code, printed) == (0, f"{out}: 2 questions\n")
    assert load_questions(str(out)).questions == load_questions(str(written)).questions
    again = tmp_path / "again.jsonl"
    assert type_in("convert", out, "--out", again)[0] == 0
    assert again.read_bytes() == out.read_bytes()


def test_what_is_no_question_set_is_one_line(type_in, tmp_path):
    broken = tmp_path / "q.jsonl"
    broken.write_text('{"id": "a"}\n')
    for command in (("info", broken), ("convert", broken, "--out", tmp_path / "out.jsonl")):
        code, printed, err = type_in(*command)
        assert (code, printed, err.count("\n")) == (2, "", 1)
        assert "q.jsonl:1" in err
    assert not (tmp_path / "out.jsonl").exists()
