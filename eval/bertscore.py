"""BERTScore of clarification questions, a metric: `bertscore:FOLDER` or `bertscore:FOLDER@LAYER`.

Zhang et al. 2020, "BERTScore: Evaluating Text Generation with BERT", by its authors' package: F1 of
the question that was asked back against the gold one, neither rescaled nor weighted by idf, by a
model in a local folder. Without a question it is 0; without a gold one, nothing.
"""

import re
from importlib.metadata import version
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.plugins.sources import PluginSource
from branchwise.base.plugins.specs import BERTSCORE
from branchwise.corpora.encoder_models import folder_digest, quiet
from branchwise.corpora.encoders import refuse_telemetry
from branchwise.eval.common_text import compared
from branchwise.eval.items import AnsweredItem
from branchwise.eval.plugin_metrics import MetricPlugin
from branchwise.eval.tasks.cambignq.clarifications import gold_asked, said_question

_LAYER = re.compile(r"(.*)@(\d+)", re.DOTALL)
_SECONDS = 600.0


def load_bertscore(spec: str) -> MetricPlugin:
    """The metric with its model, which is loaded here.

    Raises InputError without the package, for a folder that holds no model, and for a layer that
    it has not.
    """
    refuse_telemetry()
    try:
        from bert_score import BERTScorer
    except ImportError:
        what, remedy = "it needs bert-score", "pip install 'branchwise[bertscore]'"
        raise InputError(what, where="BERTScore", remedy=remedy) from None
    named = spec.removeprefix(BERTSCORE)
    with_layer = _LAYER.fullmatch(named)
    folder = Path(with_layer[1] if with_layer else named).expanduser()
    if not folder.is_dir():
        raise InputError("no such folder", where=spec, remedy="name the folder of a model")
    if not any(folder.glob("*.safetensors")):
        what = "has no weights in safetensors format"
        raise InputError(what, where=str(folder), remedy="pickled weights can run code")
    layer = int(with_layer[2]) if with_layer else _published_layer(folder)
    try:
        with quiet():
            scorer = BERTScorer(model_type=str(folder), num_layers=layer)
            scorer.score(["one"], ["one"])
    except Exception as error:
        what = f"its layer {layer} gives no scores ({type(error).__name__}: {error})"[:200]
        raise InputError(what, where=str(folder), remedy="name another folder or @LAYER") from error

    def bertscore(item: AnsweredItem) -> float | None:
        gold, asked = gold_asked(item.question), said_question(item.prediction)
        if gold is None or not asked.strip():
            return None if gold is None else 0.0
        _, _, f1 = scorer.score([compared(asked)], [compared(gold.text)])
        return float(f1[0])

    digests = {"model": folder_digest(folder), "layer": str(layer)}
    return MetricPlugin(
        name=BERTSCORE.removesuffix(":"),
        function=bertscore,
        heading="BERTScore",
        description=f"F1 by layer {layer} of {folder.resolve().name}, not rescaled, without idf",
        digits=3,
        seconds=_SECONDS,
        source=PluginSource(str(folder), digests, f"bert-score=={version('bert-score')}"),
        spec=spec,
    )


def _published_layer(folder: Path) -> int:
    """The layer at which the package's authors found the model best, by the folder's name."""
    from bert_score.utils import model2layers

    name = folder.resolve().name
    for known, layer in model2layers.items():
        if known.rpartition("/")[2] == name:
            return int(layer)
    what = f"it is not known which layer of {name} tells most"
    raise InputError(what, where=f"{BERTSCORE}{folder}", remedy=f"write {BERTSCORE}{folder}@LAYER")
