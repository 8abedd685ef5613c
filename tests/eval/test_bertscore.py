"""`bertscore:FOLDER`: the authors' numbers of a model in a local folder, and what it needs."""

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.base.plugins.specs import absolute_spec
from branchwise.corpora.encoder_models import DEFAULT_ENCODER, find_model
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.plugin_metrics import load_metrics
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task

NEEDS_IT = pytest.mark.skipif(not find_spec("bert_score"), reason="bert-score is not installed")
GOLD = "Which film: the 1995 film, or the 1986 film?"
OTHER = "Which version of the film: that of 1995, or that of 1986?"


@pytest.fixture
def folder(encoder: None) -> Path:
    return find_model(DEFAULT_ENCODER).folder


def item(id: str, said: str, gold: str | None = GOLD) -> AnsweredItem:
    meta = {"clarification_question": gold} if gold else {}
    branches = [{"name": name, "answers": [{"text": "x"}]} for name in "ab"]
    record = {"id": id, "question": "?", "ambiguous": True, "branches": branches, "meta": meta}
    output = {"clarification_question": said}
    return AnsweredItem(Question.model_validate(record), Prediction(task_output=output))


@NEEDS_IT
def test_it_is_the_mean_of_what_the_package_says(folder: Path) -> None:
    from bert_score import score

    metrics = load_metrics([f"bertscore:{folder}@5"])
    items = [item("1", GOLD), item("2", OTHER), item("3", ""), item("4", OTHER, gold=None)]
    found = score_items(get_task("clarification"), items, metrics=metrics)
    *_, f1 = score([OTHER], [GOLD], model_type=str(folder), num_layers=5)
    assert 0.5 < float(f1[0]) < 0.95
    values = [row.metrics["bertscore"] for row in found.items]
    assert values == [pytest.approx(1), pytest.approx(float(f1[0])), 0, None]
    mean = found.aggregates["all"]["bertscore"]
    assert (mean.mean, mean.n) == (pytest.approx((1 + float(f1[0])) / 3), 3)
    # The identity has the model's digest and no path.
    said = json.dumps(metrics[0].to_json())
    assert str(folder.parent) not in said
    assert {"model", "layer"} <= metrics[0].source.sha256.keys()


@NEEDS_IT
def test_a_known_models_layer_is_the_published_one(folder: Path, tmp_path: Path) -> None:
    known = tmp_path / "bert-base-uncased"
    shutil.copytree(folder, known)
    with pytest.raises(InputError, match="its layer 9 gives no scores"):
        # The published layer of the model of that name; this one has six.
        load_metrics([f"bertscore:{known}"])
    with pytest.raises(InputError, match=r"write bertscore:.*@LAYER"):
        load_metrics([f"bertscore:{folder}"])


@NEEDS_IT
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: None, "no such folder"),
        (lambda folder: folder.mkdir(), "safetensors"),
        (
            lambda folder: [folder.mkdir(), (folder / "m.safetensors").write_bytes(b"no")],
            "gives no scores",
        ),
    ],
)
def test_what_holds_no_model_is_refused(tmp_path, make, said, encoder):
    make(tmp_path / "model")
    with pytest.raises(InputError, match=said) as caught:
        load_metrics([f"bertscore:{tmp_path / 'model'}@5"])
    assert "\n" not in str(caught.value)


def test_without_the_extra_one_line_says_what_to_install(type_in, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "bert_score", None)
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"id": "1", "question": "?", "answers": {"a": ["b"], "c": ["d"]}}\n')
    predictions = tmp_path / "p.jsonl"
    predictions.write_text('{"id": "1", "task_output": {"clarification_question": "?"}}\n')
    code, out, err = type_in(
        "score", "--task", "clarification", "--questions", questions,
        "--predictions", predictions, "--metric", f"bertscore:{tmp_path}",
    )  # fmt: skip
    expected = "branchwise: BERTScore: it needs bert-score; pip install 'branchwise[bertscore]'\n"
    assert (code, out, err) == (2, "", expected)


def test_a_relative_folder_is_the_studys() -> None:
    assert absolute_spec("bertscore:models/m@17", Path("/s")) == "bertscore:/s/models/m@17"
