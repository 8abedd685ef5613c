"""`replay:RUN` as a model spec."""

import pytest

from branchwise.agents.spec import ModelSpec, check_ready, is_replay, located
from branchwise.agents.text_model import SpecTextModel
from branchwise.base.errors import InputError
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.runs.costs.prices import Prices
from branchwise.runs.studies.checks import resolved
from branchwise.runs.studies.names import system_name


@pytest.mark.parametrize("text", ["replay:runs/base", "replay:/a b/c", "replay:../x@http://y"])
def test_a_replay_is_read_and_written_back(text):
    spec = ModelSpec.parse(text)
    assert (spec.provider, str(spec)) == ("replay", text)
    check_ready(spec)


@pytest.mark.parametrize("text", ["replay:", "replay:  ", "replay:a\0b"])
def test_a_replay_of_nothing_is_refused(text):
    with pytest.raises(InputError, match="names no run to replay"):
        ModelSpec.parse(text)


def test_only_a_replay_is_located(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    assert located("replay:runs/base") == f"replay:{tmp_path.resolve()}/runs/base"
    assert located("replay:~/base") == "replay:/home/me/base"
    assert located("openai:m") == "openai:m"
    assert not is_replay("openai:replay")


def test_a_study_names_it_from_its_own_folder(tmp_path):
    assert resolved("model", "replay:../base", tmp_path / "s") == f"replay:{tmp_path}/base"
    levels = {"model": ("offline", "replay:../base")}
    named = system_name({"model": "replay:../base"}, {"model": "offline"}, levels)
    assert named == "model=replay:base"


def test_it_costs_nothing_whatever_it_is_called():
    price = Prices.load().price("replay:/runs/openai:gpt-6-luna")
    assert price is not None
    assert (price.input, price.output) == (0.0, 0.0)


def test_it_neither_scores_nor_writes_questions():
    with pytest.raises(InputError, match="a replay cannot be the matcher"):
        ScoringChoice.parse("both:replay:runs/base")
    with pytest.raises(InputError, match="a replay cannot be the judge"):
        ScoringChoice("lexical", judge_entities=True).resolved({"model": "replay:runs/base"})
    with pytest.raises(InputError, match="no recorded replies"):
        SpecTextModel.of_spec("replay:runs/base")
