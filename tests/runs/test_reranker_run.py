"""A cross-encoder as a setting: its order reaches the agent, and its weights the digest."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, resume, run
from branchwise.base.errors import InputError
from branchwise.corpora.open import open_retriever
from branchwise.corpora.reranking import RerankingRetriever
from branchwise.graphs.agent import Agent
from support.chat_server import call, fail, say
from support.corpora.cross_encoder import tiny_cross_encoder

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("encoder")]
QUERY = "film directed"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_cross_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def reranked(make_system: Any, model: Path) -> System:
    return make_system().model_copy(update={"reranker": str(model)})


def searching(body: Any) -> Any:
    if len(body["messages"]) == 2:
        return call("local_retriever", query=QUERY)
    return say('{"answers": {}}')


def test_the_agent_is_shown_the_best_by_the_cross_encoder(
    chat_server, reranked, corpus, model, question_file, tmp_path
):
    chat_server.play(searching)
    made = run(str(question_file(1)), reranked, out=tmp_path / "R")
    plain = open_retriever(corpus)
    best = [h.passage.id for h in RerankingRetriever(plain, model).search([QUERY], 2)[0]]
    assert best != [h.passage.id for h in plain.search([QUERY], 2)[0]]
    (item,) = made.open().answered_items()
    assert list(item.evidence.passages) == best


def test_the_digest_is_of_the_weights(reranked: System, make_system: Any, tmp_path: Path) -> None:
    moved = shutil.copytree(str(reranked.reranker), tmp_path / "tiny")
    other = tiny_cross_encoder(tmp_path / "other", seed=1)
    digests = [
        Agent(reranked.model_copy(update={"reranker": place})).digest
        for place in (reranked.reranker, str(moved), str(other), None)
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3
    assert digests[3] == Agent(make_system()).digest


def test_a_run_goes_on_where_its_cross_encoder_is_now(
    chat_server: Any, reranked: System, question_file: Any, tmp_path: Path
) -> None:
    place = shutil.copytree(str(reranked.reranker), tmp_path / "tiny")
    chat_server.play(lambda _: fail(401, "no key"))
    system = reranked.model_copy(update={"reranker": str(place)})
    made = run(str(question_file(1)), system, out=tmp_path / "R")
    assert made.state.stopped
    moved = place.rename(tmp_path / "moved")
    chat_server.play(searching)
    with pytest.raises(InputError, match=r"cross-encoder of this run no longer .*reranker=DIR"):
        resume(made.path)
    # What the folder is called is no part of what answers depend on.
    assert resume(made.path, reranker=moved).state.done == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--reranker", "nowhere"), "nowhere: no such folder; name the folder of a cross-encoder"),
        (("--reranker", "."), "has no weights in safetensors format"),
    ],
)
def test_a_folder_without_a_cross_encoder_is_one_line(
    type_in, corpus, question_file, options, said, tmp_path, monkeypatch
):
    questions = question_file(1)
    monkeypatch.chdir(tmp_path)
    asked = ("run", "--questions", questions, "--corpus", corpus, "--out", tmp_path / "R")
    code, _, error = type_in(*asked, *options)
    assert code == 2
    assert said in " ".join(error.split())
    assert "Traceback" not in error
    assert not (tmp_path / "R").exists()


def test_a_study_compares_it_with_the_retriever_alone(
    chat_server, reranked, corpus, type_in, question_file, tmp_path
):
    chat_server.play(searching)
    study = {
        "name": "ranks",
        "questions": str(question_file(2)),
        "base": {"model": reranked.model, "corpus": str(corpus), "k": 2},
        "factors": {"reranker": [None, reranked.reranker]},
    }
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(study))
    code, said, error = type_in("ablate", file, "--out", tmp_path / "S")
    assert code == 0, error
    assert "reranker=tiny" in said
    file.write_text(json.dumps(study | {"factors": {"reranker": [None, "nowhere"]}}))
    code, _, error = type_in("ablate", file, "--out", tmp_path / "T")
    assert code == 2
    assert "reranker: no such folder: 'nowhere'" in " ".join(error.split())
