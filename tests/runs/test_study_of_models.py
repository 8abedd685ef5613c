"""Three models with four settings each: every number against the model's own base, by hand."""

import csv
import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path

import pytest

from branchwise.report.run_folders import report_of_runs
from branchwise.runs.scoring.score import score_answers
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.running import StudyDesign, StudyPace, run_study
from branchwise.runs.studies.schema import load_study
from support.by_role import role_of, says_of_each
from support.chat_server import Answer, Body, ChatServer, call, say
from support.runs.studies import number_of

pytestmark = pytest.mark.slow

GOLD = ("Ann Arbor", "Bath", "Cork", "Delft")
WRONG = ("Essen", "Fulda")
SETTINGS = ("base", "+expansion", "+extraction", "k=1")
HITS = {
    "weak": ("000111", "222334", "111222", "000011"),
    "middling": ("012301", "444444", "012301", "111111"),
    "strong": ("234422", "434444", "013202", "244433"),
}
"""By model and setting, how many of a question's four answers are found: a digit a question."""
STUDY = """
name: skill
questions: questions.jsonl
base:
  models: [{models}]
  corpus: {corpus}
  k: 2
  max_tokens: 50
factors:
  expansion: [off, on]
  extraction: [off, on]
  k: [2, 1]
prices: prices.yaml
"""
PRICES = """models:
  openai:weak: {input: 100, output: 100}
  openai:middling: {input: 300, output: 300}
  openai:strong: {input: 900, output: 900}
"""


def setting_of(body: Body) -> str:
    """What the agent was given tells the setting."""
    if "1986 film" in body["messages"][1]["content"]:
        return "+expansion"
    seen = body["messages"][-1]["content"]
    return ("+extraction", "k=1", "base")[("crime film" in seen) + ("bodyguard" in seen)]


def reply(body: Body) -> Answer:
    role = role_of(body)
    if role == "expander":
        return say("Who directed Heat (1995 film)?\nWho directed Heat (1986 film)?")
    if role == "extractor":
        return say(says_of_each(body, lambda _, text: " ".join(text.split()[:3])))
    if body["messages"][-1]["role"] != "tool":
        return call("local_retriever", query="Heat film")
    hits = found(body["model"], setting_of(body))[number_of(body)]
    return say(json.dumps({"answers": {"default": [*GOLD[:hits], *WRONG[: 2 - hits // 2]]}}))


def found(model: str, setting: str) -> list[int]:
    return [int(digit) for digit in HITS[model][SETTINGS.index(setting)]]


def scores(model: str, setting: str, metric: str) -> list[Fraction]:
    """One a question. Beside h of four gold answers stand 2 - h // 2 wrong ones."""
    of = {
        "strict_recall": lambda h: Fraction(h, 4),
        "strict_precision": lambda h: Fraction(h, h + 2 - h // 2),
        "strict_em": lambda h: Fraction(h == 4),
    }[metric]
    return [of(hits) for hits in found(model, setting)]


def permutation_p(changes: Sequence[Fraction]) -> Fraction:
    sums = [
        abs(sum(s * d for s, d in zip(signs, changes, strict=True)))
        for signs in product((1, -1), repeat=len(changes))
    ]
    return Fraction(sum(one >= abs(sum(changes)) for one in sums), len(sums))


def mcnemar_p(changes: Sequence[Fraction]) -> Fraction:
    gained, lost = sum(d > 0 for d in changes), sum(d < 0 for d in changes)
    tail = sum(comb(gained + lost, k) for k in range(min(gained, lost) + 1))
    return min(Fraction(1), Fraction(2 * tail, 2 ** (gained + lost)))


def holm(p: dict[tuple[str, str], Fraction]) -> dict[tuple[str, str], Fraction]:
    highest, adjusted = Fraction(0), {}
    for n, key in enumerate(sorted(p, key=lambda one: p[one])):
        highest = max(highest, min(Fraction(1), (len(p) - n) * p[key]))
        adjusted[key] = highest
    return adjusted


@pytest.fixture
def study(chat_server: ChatServer, corpus: Path, tmp_path: Path) -> Path:
    chat_server.play(reply)
    lines = [
        {
            "id": f"q{n}",
            "question": f"Question number {n:04d}: who directed Heat?",
            "answers": {"default": GOLD},
        }
        for n in range(6)
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "prices.yaml").write_text(PRICES)
    models = ", ".join(f"openai:{model}@{chat_server.url}" for model in HITS)
    path = tmp_path / "study.yaml"
    path.write_text(STUDY.format(models=models, corpus=corpus))
    return path


@pytest.fixture
def done(study: Path, tmp_path: Path) -> StudyFolder:
    loaded = load_study(study)
    made = run_study(StudyDesign.of(loaded), tmp_path / "S", StudyPace(prices=loaded.prices()))
    assert (made.state.done, made.state.failed) == (3 * 4 * 6, 0)
    return made.folder


def name_of(model: str, setting: str) -> str:
    return model if setting == "base" else f"{model}, {setting}"


@pytest.mark.parametrize("metric", ["strict_recall", "strict_precision", "strict_em"])
def test_differences_and_p_values_are_those_to_the_models_own_base(type_in, done, metric):
    code, said, _ = type_in("report", done.path, "--json")
    assert code == 0
    entries = {one["name"]: one for one in json.loads(said)}
    assert [*entries] == [name_of(model, setting) for model in HITS for setting in SETTINGS]
    changes = {
        (model, setting): [
            own - base
            for own, base in zip(
                scores(model, setting, metric), scores(model, "base", metric), strict=True
            )
        ]
        for model in HITS
        for setting in SETTINGS[1:]
    }
    test = mcnemar_p if metric == "strict_em" else permutation_p
    alone = {key: test(one) for key, one in changes.items()}
    adjusted = holm(alone)
    assert 0 < min(adjusted.values()) < 1 or metric == "strict_em"
    for key, one in changes.items():
        entry = entries[name_of(*key)]
        assert (entry["model"], entry["setting"], entry["base"]) == (*key, key[0])
        (row,) = (
            row
            for row in entry["comparison"]["differences"]
            if (row["metric"], row["subset"]) == (metric, "all")
        )
        assert row["difference"] == pytest.approx(float(sum(one) / 6))
        assert row["p"] == pytest.approx(float(alone[key]))
        assert row["p_holm"] == pytest.approx(float(adjusted[key]))
        assert (row["family"], row["n"]) == (9, 6)
    assert [entries[model]["comparison"] for model in HITS] == [None] * 3


@pytest.mark.long
def test_every_output_names_what_a_system_is_compared_with(type_in, done, tmp_path):
    code, _, _ = type_in("report", done.path, "--csv", tmp_path / "csv", "--figures", tmp_path)
    assert code == 0
    for name in ("changes", "differences"):
        rows = list(csv.DictReader((tmp_path / "csv" / f"{name}.csv").open()))
        against = {row["system"]: row["against"] for row in rows}
        assert against == {
            name_of(model, setting): model for model in HITS for setting in SETTINGS[1:]
        }
    costs = list(csv.DictReader((tmp_path / "csv" / "costs.csv").open()))
    items = {row["system"]: row for row in costs if row["role"] == "per item"}
    for model, setting in product(HITS, SETTINGS):
        row, base = items[name_of(model, setting)], items[model]
        ratio = float(row["cost_usd"]) / float(base["cost_usd"])
        assert float(row["ratio"]) == pytest.approx(ratio)
    assert "the base of the same model" in (tmp_path / "captions.txt").read_text()
    _, markdown, _ = type_in("report", done.path, "--markdown", "-")
    assert "## Changes against the base of the same model" in markdown
    assert "over the comparisons of all models together" in markdown
    _, table, _ = type_in("report", done.path)
    assert "changes against the base of the same model" in table
    for model, setting in product(HITS, SETTINGS[1:]):
        assert name_of(model, setting) in table.split("changes against")[1]


def test_runs_that_are_no_study_are_told_apart_by_model_and_setting(done: StudyFolder) -> None:
    paths = [done.path / "runs" / slug for slug in ("weak", "middling-expansion", "weak-k-1")]
    report = report_of_runs([(path.name, score_answers(path)) for path in paths])
    assert [(one.model, one.setting, one.base) for one in report.systems] == [
        ("weak", "base", "weak"),
        ("middling", "+expansion", "weak"),
        ("weak", "k=1", "weak"),
    ]
    assert [one.name for one in report.bases] == ["weak"]
