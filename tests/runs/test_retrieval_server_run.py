"""Runs whose passages come from a retrieval server elsewhere."""

import pytest
from typer.testing import CliRunner

from branchwise import resume
from branchwise.base.errors import InputError
from branchwise.cli import app
from branchwise.corpora.retrieval import MAX_K
from support.chat_server import search_then_answer
from support.retrieval_server import RetrievalServer, sends
from support.stores import edited


@pytest.fixture
def server():
    with RetrievalServer() as running:
        yield running


def tool_events(made):
    events = [event.data for event in made.open().events(1) if event.kind == "tool"]
    return events


def interrupt(made):
    """Put every item back to running, and forget what its searches gave."""
    with edited(made.path) as connection:
        connection.execute("UPDATE items SET status = 'running', outcome = NULL")


def test_a_run_needs_no_corpus_and_keeps_what_the_server_sent(chat_server, server, run_some):
    chat_server.play(search_then_answer)
    made = run_some(2, corpus=None, retriever=f"http:{server.url}")
    assert made.state.done == 2
    event = tool_events(made)[0]
    query = event["call"]["args"]["query"]
    passage = event["artifact"]["passages"][0]
    assert (passage["id"], passage["title"], passage["score"]) == (f"{query}-1", query, 1.0)
    assert {q for part in server.queries()[1:] for q in part} >= {query}


def test_a_server_that_moved_is_named_and_the_run_goes_on(chat_server, server, run_some):
    chat_server.play(search_then_answer)
    made = run_some(2, corpus=None, retriever=f"http:{server.url}")
    interrupt(made)
    with RetrievalServer() as moved:
        again = resume(made.path, retriever=f"http:{moved.url}")
    assert again.state.done == 2
    assert moved.queries() == [["What is the capital of France?"]]  # the rest was recorded


def test_a_search_that_fails_is_a_recorded_error_and_the_question_goes_on(
    chat_server, server, run_some
):
    chat_server.play(search_then_answer)
    server.play(None, sends({"detail": "no such index"}, 400))
    made = run_some(corpus=None, retriever=f"http:{server.url}")
    assert made.state.done == 1
    event = tool_events(made)[0]
    assert event["failure"] == "failed"
    assert event["error"].startswith("the retrieval server answers with status 400: no such index;")


@pytest.mark.slow
def test_a_key_that_expires_stops_the_run_and_fails_no_question(
    chat_server, server, monkeypatch, run_some
):
    monkeypatch.setenv("SEARCH_TOKEN", "a-token-of-the-institute")
    chat_server.play(search_then_answer)
    server.play(None, sends({"detail": "expired"}, 401))
    host = server.url.split("/")[2]
    settings = {"corpus": None, "retriever": server.url, "keys": {host: "SEARCH_TOKEN"}}
    stopped = run_some(2, concurrency=1, **settings)
    assert (stopped.state.failed, stopped.state.pending) == (0, 2)
    assert stopped.state.stopped == (
        f"{server.url}: the retrieval server answers with status 401: expired; "
        "the key in SEARCH_TOKEN is not accepted there: check it"
    )
    assert resume(stopped.path).state.done == 2


def test_the_command_takes_the_address_and_says_when_nobody_is_there(
    question_file, server, tmp_path
):
    asked = ["run", "--questions", str(question_file(1)), "--out"]
    done = CliRunner().invoke(
        app, [*asked, str(tmp_path / "run"), "--retriever", f"http:{server.url}", "--k", "2"]
    )
    assert done.exit_code == 0, done.output
    assert server.requests[-1]["topk"] == MAX_K
    wrong = server.url.replace("/retrieve", "/other")
    refused = CliRunner().invoke(
        app, [*asked, str(tmp_path / "no"), "--retriever", f"http:{wrong}"]
    )
    assert isinstance(refused.exception, InputError)
    assert "status 404" in str(refused.exception)
    assert not (tmp_path / "no").exists()
