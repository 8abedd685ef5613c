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


def test_a_server_that_fails_is_asked_as_often_as_is_allowed(proxy, system, questions, tmp_path):
    outcomes, _ = ended(run(questions(2), system("crashes"), out=tmp_path / "R", concurrency=1))
    assert all(outcome["error"].startswith("server: ") for outcome in outcomes)
    assert len(proxy.exchanges) == 4
