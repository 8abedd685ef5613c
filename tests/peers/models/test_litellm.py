"""What only the litellm proxy's mock models do: call tools, refuse fields, fail."""

import pytest

from branchwise import run
from support.peers.ending import ended
from support.peers.servers import LITELLM

pytestmark = pytest.mark.parametrize("served", [LITELLM], ids=["litellm"], indirect=True)


def test_tools_are_called(proxy, system, questions, tmp_path):
    outcomes, _ = ended(run(questions(2), system("calls"), out=tmp_path / "R", concurrency=1))
    assert [outcome["calls"] for outcome in outcomes] == [2, 2]
    proxy.check_nothing_in_vain()


def test_what_a_model_does_not_take_is_left_out(proxy, system, questions, tmp_path):
    settings = system("takes-little", seed=1, temperature=0.0)
    outcomes, left_out = ended(run(questions(2), settings, out=tmp_path / "R", concurrency=1))
    assert left_out == {"tools", "seed", "response_format"}
    # The mock calls the tool in the text; each item has searched, and the run went on.
    assert [outcome["calls"] for outcome in outcomes] == [2, 2]
    assert len(proxy.failures) == 3
    proxy.check_nothing_in_vain()


def test_a_temperature_that_is_refused_is_left_out(proxy, system, questions, tmp_path):
    settings = system("o-series", temperature=0.0)
    outcomes, left_out = ended(run(questions(2), settings, out=tmp_path / "R", concurrency=1))
    assert [outcome["error"] for outcome in outcomes] == [None, None]
    assert left_out == {"temperature"}
    assert len(proxy.failures) == 1


def test_an_effort_is_left_out_where_the_model_has_none(proxy, system, questions, tmp_path):
    settings = system("answers", top_p=0.9, reasoning_effort="low", extra_body={"top_k": 5})
    outcomes, left_out = ended(run(questions(2), settings, out=tmp_path / "R", concurrency=1))
    assert [outcome["error"] for outcome in outcomes] == [None, None]
    assert left_out == {"reasoning_effort"}
    assert {(one.body["top_p"], one.body["top_k"]) for one in proxy.exchanges} == {(0.9, 5)}


def test_a_model_that_reasons_takes_an_effort_and_a_proxy_headers(
    proxy, system, questions, tmp_path
):
    own = {"HTTP-Referer": "https://films.example", "X-Title": "Films"}
    settings = system("o-series", reasoning_effort="high", reasoning_back="on")
    settings = settings.model_copy(update={"headers": own})
    outcomes, left_out = ended(run(questions(2), settings, out=tmp_path / "R", concurrency=1))
    assert [outcome["error"] for outcome in outcomes] == [None, None]
    assert left_out == set()
    assert [one.headers for one in proxy.exchanges] == [own, own]
    assert proxy.failures == []


def test_a_server_that_fails_is_asked_as_often_as_is_allowed(proxy, system, questions, tmp_path):
    outcomes, _ = ended(run(questions(2), system("crashes"), out=tmp_path / "R", concurrency=1))
    assert all(outcome["error"].startswith("server: ") for outcome in outcomes)
    assert len(proxy.exchanges) == 4


def test_the_responses_api_ends_in_scored_items(proxy, system, questions, tmp_path):
    settings = system("translated", modules=True, api="responses", temperature=0.0, seed=1)
    outcomes, left_out = ended(run(questions(2), settings, out=tmp_path / "R", concurrency=1))
    assert [outcome["error"] for outcome in outcomes] == [None, None]
    assert left_out == {"seed"}
    assert all("input" in one.body for one in proxy.exchanges)
    assert all(outcome["usage"]["agent"]["input"] > 0 for outcome in outcomes)
    proxy.check_nothing_in_vain()


def test_tools_are_called_by_the_responses_api(proxy, system, questions, tmp_path):
    settings = system("translated-calls", api="responses")
    outcomes, _ = ended(run(questions(2), settings, out=tmp_path / "R", concurrency=1))
    assert [outcome["error"] for outcome in outcomes] == [None, None]
    assert [outcome["calls"] for outcome in outcomes] == [2, 2]
    proxy.check_nothing_in_vain()
