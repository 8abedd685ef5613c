"""`replay:RUN` answers with what a run recorded: the same trace, answers and scores, no server."""

import json
from collections import Counter
from pathlib import Path

import pytest

from branchwise import resume, run, score
from branchwise.base.errors import InputError
from branchwise.graphs.system import Roles
from branchwise.runs.scoring.score import score_answers
from branchwise.runs.store import DamagedError, open_run
from support.by_role import by_role, says_of_each, turn_of
from support.chat_server import ChatServer, call, calls, context_length, fail, say
from support.corpora.small import bm25_corpus
from support.runs.told import told
from support.stores import damage, edited, forget_ends


class Moody:
    """Never says the same twice, asks the same twice at once, and needs a repair now and then."""

    def __init__(self) -> None:
        self.said = 0

    def __call__(self, body):
        self.said += 1
        return by_role(expander=self._expand, extractor=self._extract, agent=self._agent)(body)

    def _expand(self, body):
        return say(f"Who directed Heat {self.said} (1995 film)?\nWho directed Heat (1986 film)?")

    def _extract(self, body):
        return say(says_of_each(body, self._first_words))

    def _first_words(self, _, text):
        words = text.split()
        return " ".join(words[: 1 + self.said % len(words)])

    def _agent(self, body):
        if turn_of(body) == 0:
            twice = ("local_retriever", {"query": "Heat film"})
            return calls(twice, twice, ("local_retriever", {"query": f"King {self.said}"}))
        if self.said % 3 == 0 and turn_of(body) == 1:
            return say("I would rather talk.")
        gold = body["messages"][1]["content"][:20]
        return say(json.dumps({"answers": {"default": [gold, f"nobody {self.said}"]}}))


@pytest.fixture
def recorded(chat_server: ChatServer, make_system, question_file, tmp_path):
    """Two epochs of three questions with everything that asks a model; the server is silent after
    it."""
    chat_server.play(Moody())
    system = make_system(temperature=0.9).model_copy(update={"expand": True, "extract": True})
    made = run(str(question_file(3)), system, out=tmp_path / "base", epochs=2, concurrency=4)
    assert made.state.done == 6
    score(made)
    chat_server.play([])
    return made.path, system


def replaying(path: Path, system, **changes):
    """The system with the run's replies in the place of its model."""
    return system.model_copy(update={"model": f"replay:{path}", **changes})


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 64])
def test_a_replay_has_the_same_traces_answers_and_scores(
    chat_server, recorded, question_file, tmp_path, concurrency
):
    path, system = recorded
    asked = len(chat_server.requests)
    again = run(
        str(question_file(3)),
        replaying(path, system),
        out=tmp_path / "again",
        epochs=2,
        concurrency=concurrency,
    )
    assert len(chat_server.requests) == asked
    assert told(again.path) == told(path)
    assert score(again).to_json() == score(path).to_json()
    first, second = open_run(path), open_run(again.path)
    assert second.meta["system_digest"] == first.meta["system_digest"]
    assert second.meta["system"]["model"] == f"replay:{path.resolve()}"
    kinds = Counter(event.kind for item in range(1, 7) for event in first.events(item))
    assert {"expansion", "extraction", "repair"} <= kinds.keys()
    texts = {str(row.outcome["prediction"]) for row in first.items()}
    assert len(texts) == 6


def errors_of(path: Path) -> dict[str, str | None]:
    """By question and epoch, why an item failed."""
    reader = open_run(path)
    found = {
        f"{row.question.id}/{row.epoch}": row.outcome and row.outcome["error"]
        for row in reader.items()
    }
    reader.close()
    return found


def search_and_answer(body):
    """One search, then the question's first twenty characters."""
    if turn_of(body) == 0:
        return call("local_retriever", query="Heat film")
    return say(json.dumps({"answers": {"default": [body["messages"][1]["content"][:20]]}}))


@pytest.fixture
def plain(chat_server: ChatServer, make_system, question_file, tmp_path):
    """Three questions, one search each; a run, its system, its questions."""
    chat_server.play(search_and_answer)
    system, questions = make_system(), str(question_file(3))
    made = run(questions, system, out=tmp_path / "base")
    chat_server.play([])
    return made.path, system, questions


def test_what_was_tried_again_and_left_out_is_replayed_without_it(
    chat_server, make_system, question_file, tmp_path
):
    answers = [
        call("local_retriever", query="Heat film"),
        fail(500, "it stumbled"),
        call("local_retriever", query="King Kong"),
        context_length(),
        say(json.dumps({"answers": {"default": ["x"]}})),
    ]
    chat_server.play(answers)
    system, questions = make_system(), str(question_file(1))
    made = run(questions, system, out=tmp_path / "base")
    again = run(questions, replaying(made.path, system), out=tmp_path / "again")
    assert told(again.path) == told(made.path)
    kinds = [kind for kind, _ in told(made.path)[0][-1]]
    assert "context_trimmed" in kinds
    assert again.state.done == 1


@pytest.mark.slow
def test_an_item_that_failed_fails_again_and_no_other_is_harmed(
    chat_server, make_system, question_file, tmp_path
):
    left = [fail(400, "no")]

    def stumbling(body):
        return left.pop() if left else search_and_answer(body)

    chat_server.play(stumbling)
    system, questions = make_system(attempts=1), str(question_file(2))
    made = run(questions, system, out=tmp_path / "base", epochs=2, concurrency=1)
    assert {name for name, error in errors_of(made.path).items() if error} == {"q0/0"}
    again = run(questions, replaying(made.path, system), out=tmp_path / "again", epochs=2)
    assert again.state.stopped is None
    failed = {name: error for name, error in errors_of(again.path).items() if error}
    assert list(failed) == ["q0/0"]
    assert failed["q0/0"].startswith(f"not_recorded: replay:{made.path} has no reply")
    assert "failed there" in failed["q0/0"]


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 8])
def test_an_epoch_that_was_not_run_is_no_copy_of_another(plain, tmp_path, concurrency):
    path, system, questions = plain
    again = run(
        questions,
        replaying(path, system),
        out=tmp_path / "again",
        epochs=2,
        concurrency=concurrency,
    )
    failed = {name for name, error in errors_of(again.path).items() if error}
    assert failed == {"q0/1", "q1/1", "q2/1"}


def test_another_prompt_stops_the_pass_and_is_named(plain, tmp_path):
    path, system, questions = plain
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "answer_with_tools.md").write_text("Answer.")
    changed = replaying(path, system, prompts=str(prompts))
    again = run(questions, changed, out=tmp_path / "again")
    assert again.state.done == again.state.failed == 0
    assert again.state.stopped == (
        f"replay:{path} has no reply to this request of the agent: the system differs in prompts"
    )


def test_other_tools_stop_the_pass_and_are_named(plain, tmp_path):
    path, system, questions = plain
    again = run(questions, replaying(path, system, k=None), out=tmp_path / "again")
    assert again.state.stopped is not None
    assert again.state.stopped.endswith("the system differs in k, tools")


@pytest.mark.slow
def test_another_k_fails_where_results_differ(plain, tmp_path):
    path, system, questions = plain
    again = run(questions, replaying(path, system, k=1), out=tmp_path / "again")
    assert again.state.failed == 3
    assert all(error.endswith("differs in k") for error in errors_of(again.path).values())


@pytest.mark.slow
def test_another_corpus_fails_where_results_differ(plain, tmp_path):
    path, system, questions = plain
    bm25_corpus(tmp_path, {"p": "Heat\nA film of heat."})
    changed = replaying(path, system, corpus=str(tmp_path / "C"))
    again = run(questions, changed, out=tmp_path / "again")
    assert again.state.failed == 3
    assert all(error.endswith("differs in retriever") for error in errors_of(again.path).values())


def test_a_module_that_was_not_there_is_refused(plain, tmp_path):
    path, system, questions = plain
    with pytest.raises(InputError, match="the run used no expander"):
        run(questions, replaying(path, system, expand=True), out=tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.slow
def test_a_temperature_is_refused_unless_it_is_the_recorded_one(
    recorded, question_file, make_system, tmp_path
):
    path, system = recorded
    questions = str(question_file(3))
    other = system.decoding.model_copy(update={"temperature": 0.1})
    with pytest.raises(InputError, match=r"temperature is 0\.1, but .* recorded with 0\.9"):
        run(questions, replaying(path, system, decoding=other), out=tmp_path / "other")
    unsaid = system.decoding.model_copy(update={"temperature": None})
    again = run(
        questions, replaying(path, system, decoding=unsaid), out=tmp_path / "again", epochs=2
    )
    assert told(again.path) == told(path)


def test_questions_under_other_ids_are_answered_by_their_words(plain, tmp_path):
    path, system, questions = plain
    renamed = tmp_path / "renamed.jsonl"
    renamed.write_text(Path(questions).read_text().replace('"id": "q', '"id": "other'))
    again = run(str(renamed), replaying(path, system), out=tmp_path / "again")
    assert again.state.done == 3
    assert [row[3]["prediction"] for row in told(again.path)] == [
        row[3]["prediction"] for row in told(path)
    ]


def test_a_question_that_was_not_asked_fails_alone(plain, question_file, tmp_path):
    path, system, _ = plain
    again = run(str(question_file(4)), replaying(path, system), out=tmp_path / "again")
    assert (again.state.done, again.state.failed) == (3, 1)
    assert errors_of(again.path)["q3/0"].startswith("not_recorded: ")


def test_tools_described_in_text_are_replayed(chat_server, make_system, question_file, tmp_path):
    search = '```tool\n{"name": "local_retriever", "arguments": {"query": "Heat"}}\n```'

    def in_text(body):
        if turn_of(body) == 0:
            return say(search)
        return say(json.dumps({"answers": {"default": ["x"]}}))

    chat_server.play(in_text)
    system, questions = make_system(tool_protocol="text"), str(question_file(1))
    made = run(questions, system, out=tmp_path / "base")
    chat_server.play([])
    assert "tool" in [kind for kind, _ in told(made.path)[0][-1]]
    unsaid = system.decoding.model_copy(update={"tool_protocol": "native"})
    again = run(questions, replaying(made.path, system, decoding=unsaid), out=tmp_path / "again")
    assert told(again.path) == told(made.path)


@pytest.mark.slow
def test_one_role_is_replayed_beside_a_model_that_is_asked(
    chat_server, recorded, question_file, tmp_path
):
    path, system = recorded
    chat_server.play(
        by_role(agent=say(json.dumps({"answers": {"default": ["live"]}})), extractor=fail(400))
    )
    mixed = system.model_copy(update={"roles": Roles(expander=f"replay:{path}"), "extract": False})
    again = run(str(question_file(3)), mixed, out=tmp_path / "again", epochs=2)
    assert again.state.done == 6
    assert [row[4][1] for row in told(again.path)] == [row[4][1] for row in told(path)]
    assert [row[4][1][0] for row in told(path)] == ["expansion"] * 6


@pytest.mark.slow
def test_a_replay_costs_nothing_and_keeps_its_tokens(plain, tmp_path):
    path, system, questions = plain
    again = run(questions, replaying(path, system), out=tmp_path / "again")
    was, now = score_answers(path).costs, score_answers(again.path).costs
    assert was.cost is None
    assert now.cost == 0.0
    assert now.unpriced == ()
    assert now.as_of is None
    assert now.usage == was.usage


@pytest.mark.slow
def test_a_replay_that_was_killed_goes_on_from_wherever_the_run_lies(plain, tmp_path):
    path, system, questions = plain
    again = run(questions, replaying(path, system), out=tmp_path / "again")
    before = told(again.path)
    with edited(again.path) as connection:
        connection.execute("DELETE FROM responses WHERE item > 1")
    forget_ends(again.path)
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no such run"):
        resume(again.path)
    assert resume(again.path, model=f"replay:{tmp_path / 'elsewhere'}").state.here == 3
    assert [row[3]["prediction"] for row in told(again.path)] == [
        row[3]["prediction"] for row in before
    ]


@pytest.mark.slow
def test_a_run_does_not_change_between_replayed_and_paid_for(plain, tmp_path):
    path, system, questions = plain
    again = run(questions, replaying(path, system), out=tmp_path / "again")
    with pytest.raises(InputError, match="started as a replay"):
        resume(again.path, model=system.model)
    with pytest.raises(InputError, match="not started as a replay"):
        resume(path, model=f"replay:{again.path}")
    with pytest.raises(InputError, match="cannot replay itself"):
        resume(again.path, model=f"replay:{again.path}")


@pytest.mark.slow
def test_a_replay_of_a_replay_is_the_same(recorded, question_file, tmp_path):
    path, system = recorded
    questions = str(question_file(3))
    once = run(questions, replaying(path, system), out=tmp_path / "once", epochs=2)
    twice = run(questions, replaying(once.path, system), out=tmp_path / "twice", epochs=2)
    assert told(twice.path) == told(path)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "no such run"),
        (lambda path: path.mkdir(), "is not a run folder"),
        (lambda path: path.write_text("x"), "is not a run folder"),
    ],
)
def test_what_is_no_run_is_refused(plain, tmp_path, make, says):
    _, system, questions = plain
    make(tmp_path / "nothing")
    with pytest.raises(InputError, match=says):
        run(questions, replaying(tmp_path / "nothing", system), out=tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_run_of_a_newer_version_is_refused(plain, tmp_path):
    path, system, questions = plain
    with edited(path) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    with pytest.raises(InputError, match="written by a newer version"):
        run(questions, replaying(path, system), out=tmp_path / "again")


@pytest.mark.parametrize("body", [b"{", b'{"content": 1}', b"\xff"])
def test_a_damaged_reply_is_found_before_anything_is_replayed(plain, tmp_path, body):
    path, system, questions = plain
    damage(path, "UPDATE responses SET body = ? WHERE kind = 'model' AND item = 1", body)
    with pytest.raises(DamagedError, match=r"2 of 3 items are whole; .* branchwise recover"):
        run(questions, replaying(path, system), out=tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.slow
def test_a_run_that_is_being_written_answers_with_what_it_has(
    chat_server, make_system, question_file, tmp_path
):
    """The run is asked for each reply: what it gets later is found, too."""
    chat_server.play(search_and_answer)
    system, questions = make_system(), str(question_file(2))
    base = run(questions, system, out=tmp_path / "base")
    with edited(base.path) as connection:
        later = connection.execute("SELECT * FROM responses WHERE item = 2").fetchall()
        connection.execute("DELETE FROM responses WHERE item = 2")
    forget_ends(base.path)
    again = run(questions, replaying(base.path, system), out=tmp_path / "again")
    assert (again.state.done, again.state.failed) == (1, 1)
    with edited(base.path) as connection:
        connection.executemany("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?)", later)
    assert resume(again.path, retry_failed=True).state.here == 2 - 1
