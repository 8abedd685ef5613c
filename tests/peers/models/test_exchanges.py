"""With servers that others wrote every exchange ends in a scored item or a recorded error, and
nothing is asked again in vain. What their models answer does not matter."""

import pytest

from branchwise import run
from support.peers.ending import ended

ways = pytest.mark.parametrize(
    "decoding",
    [{}, {"stream": True}, {"tool_protocol": "text"}, {"structured": "off", "stream": True}],
    ids=["whole", "streamed", "text", "streamed without schema"],
)


@ways
def test_a_run_ends_in_scored_items(served, proxy, system, questions, tmp_path, decoding):
    # A small model on a busy machine takes its time: readings and extraction once are enough.
    modules = not decoding
    settings = system(modules=modules, temperature=0.0, seed=1, **decoding)
    made = run(questions(2 if modules else 1), settings, out=tmp_path / "R", concurrency=1)
    outcomes, left_out = ended(made)
    proxy.check_nothing_in_vain()
    assert {outcome["error"] for outcome in outcomes} == {None}
    # Each field that it refuses cost one request, and is not sent again.
    assert left_out <= served.peer.refuses
    assert len(proxy.failures) == len(left_out)
    for field in left_out:
        assert sum(field in one.body for one in proxy.exchanges) == 1
    assert {one.body["max_tokens"] for one in proxy.exchanges} == {24}
    in_text = decoding.get("tool_protocol") == "text"
    assert any("tools" in one.body for one in proxy.exchanges) != in_text
    counted = served.peer.streams_usage or "stream" not in decoding
    for outcome in outcomes:
        assert outcome["usage"].keys() >= ({"agent", "expander"} if modules else {"agent"})
        assert (outcome["usage"]["agent"]["input"] > 0) == counted


def test_a_schema_is_asked_for_once_where_it_is_refused(served, proxy, system, questions, tmp_path):
    settings = system().model_copy(update={"tools": ()})
    outcomes, left_out = ended(run(questions(2), settings, out=tmp_path / "R", concurrency=1))
    proxy.check_nothing_in_vain()
    assert [outcome["error"] for outcome in outcomes] == [None, None]
    assert left_out == served.peer.refuses
    with_schema = sum("response_format" in one.body for one in proxy.exchanges)
    is_refused = "response_format" in served.peer.refuses
    assert with_schema == (1 if is_refused else len(proxy.exchanges))


def test_matcher_and_judge_end(served, proxy, system, questions, tmp_path, type_in):
    settings = system()
    made = run(questions(1), settings, out=tmp_path / "R", concurrency=1)
    before = len(proxy.exchanges)
    code, shown, error = type_in(
        *("score", made.path, "--judge-entities", "--matcher", f"llm:{settings.model}"),
        *("--concurrency", "1", "--attempts", "2"),
    )
    # 1: a model was asked, and nothing that it said could be used.
    assert code in (0, 1)
    assert "Traceback" not in error
    assert "strict" in shown
    proxy.check_nothing_in_vain()
    assert all(one.body["messages"] for one in proxy.exchanges[before:])


def test_a_question_is_asked_on_the_command_line(proxy, system, corpus, type_in):
    model = system().model
    code, answer, steps = type_in(
        *("ask", "Who directed Heat?", "--model", model, "--corpus", corpus),
        *("--max-tokens", "24", "--max-turns", "2"),
    )
    assert code in (0, 1)
    assert bool(answer.strip()) or "format error" in steps or "no answer" in steps
    proxy.check_nothing_in_vain()


def test_a_model_that_the_server_has_not_ends_the_run(served, proxy, system, questions, tmp_path):
    made = run(questions(2), system("nosuch"), out=tmp_path / "R", concurrency=1)
    proxy.check_nothing_in_vain()
    if served.peer.unknown == "stopped":
        assert made.state.stopped is not None
        assert "not_found" in made.state.stopped or "nosuch" in made.state.stopped
        assert len(proxy.exchanges) == 1
    else:
        outcomes, _ = ended(made)
        assert [outcome["error"] for outcome in outcomes] == [None, None]


def test_what_does_not_fit_the_context_window_is_a_recorded_error(
    served, proxy, system, questions, tmp_path
):
    settings = system(served.peer.overflow)
    made = run(questions(1, "word " * 3000), settings, out=tmp_path / "R", concurrency=1)
    (outcome,), _ = ended(made)
    proxy.check_nothing_in_vain()
    if served.peer.at_overflow is None:
        assert outcome["error"] is None
    else:
        assert outcome["error"].startswith(f"{served.peer.at_overflow}: ")
        assert len(proxy.exchanges) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_answer_that_breaks_off_is_asked_for_again(proxy, system, questions, tmp_path, stream):
    proxy.cuts_next = True
    made = run(questions(1), system(stream=stream), out=tmp_path / "R", concurrency=1)
    (outcome,), _ = ended(made)
    assert outcome["error"] is None
    first, second = proxy.exchanges[:2]
    assert (first.status, second.status) == (0, 200)
    assert first.body == second.body
    proxy.check_nothing_in_vain()
