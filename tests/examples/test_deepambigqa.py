"""The study of DeepAmbigQA's paper, from the file to the report, with scripted models."""

import csv
import html
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml

from branchwise.agents.prompt_files import Prompts
from branchwise.corpora.loaders import load_questions
from support.chat_server import Body, ChatServer
from support.skilled_models import SKILLS, skilled

STUDY = Path(__file__).parents[2] / "examples" / "studies" / "deepambigqa.yaml"
MAKES = (
    "world make --entities 300 --seed 7 --out W",
    "corpus index W --kind bm25",
    "kg build W",
    "questions generate --kg W --n 6 --ambiguous 0.5 --seed 1 --out questions.jsonl",
)
TypeIn = Callable[..., tuple[int, str, str]]
SETTINGS = (
    "", ", +expansion", ", +extraction", ", tools: +wikisparql",
    ", tools: +wikidata_search +wikisparql",
)  # fmt: skip
LAYOUTS = (
    "Models and settings", "Changes by model and setting", "Errors by class",
    "Published (deepambigqa): modules by model", "GPT-4o-mini",
)  # fmt: skip
SYSTEMS = [model + setting for model in SKILLS for setting in SETTINGS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, process: None) -> Path:
    """A small world, its graph and index, and questions about it."""
    folder = tmp_path_factory.mktemp("deepambigqa")
    for line in MAKES:
        command = (sys.executable, "-m", "branchwise", *line.split())
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def write_study(folder: Path, server: ChatServer) -> Path:
    """The file with everything that is elsewhere replaced, and nothing else."""
    study = yaml.safe_load(STUDY.read_text())
    models = [f"openai:{name}@{server.url}" for name in SKILLS]
    study |= {"questions": "questions.jsonl", "prices": "prices.yaml"}
    study["base"] |= {
        "models": models, "matcher": models[0], "corpus": "W", "kg": "W", "retriever": "bm25",
    }  # fmt: skip
    prices = {f"openai:{name}": {"input": 0.01, "output": 0.01} for name in SKILLS}
    (folder / "prices.yaml").write_text(yaml.safe_dump({"models": prices}))
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study, sort_keys=False))
    return path


@pytest.mark.long
@pytest.mark.slow
def test_one_command_runs_the_papers_study_and_one_reports_it(
    folder: Path, chat_server: ChatServer, type_in: TypeIn, monkeypatch
) -> None:
    chat_server.play(skilled(load_questions(str(folder / "questions.jsonl")).questions))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.chdir(folder)
    code, _, errors = type_in("ablate", write_study(folder, chat_server), "--out", "S")
    assert code == 0, errors
    check_requests(chat_server.requests)
    words = "--html r.html --markdown r.md --latex r.tex --csv csv --figures figures"
    assert type_in("report", "S", *words.split())[0] == 0
    check_scores(folder / "csv")
    for name in ("r.html", "r.md", "r.tex"):
        text = re.sub(r"\\(.)|\{\}", r"\1", html.unescape((folder / name).read_text()))
        assert [system for system in SYSTEMS if system not in text] == [], name
        assert [title for title in LAYOUTS if title.lower() not in text.lower()] == [], name
    check_layouts(folder / "csv")
    drawn = {path.stem: path.read_text() for path in (folder / "figures").glob("*.svg")}
    assert {"changes", "errors", "ceilings", "cost"} <= drawn.keys()
    for name in ("error-classes", "model-changes"):
        assert all(model in drawn[name] for model in SKILLS), name
    assert all("<svg" in figure for figure in drawn.values())


def check_requests(requests: Sequence[Body]) -> None:
    """Every model is asked as the paper asks, and the matcher is one of them."""
    paper, matcher = Prompts.load(of="paper").texts, Prompts.load().texts["matcher"]
    asked = [(body, body["messages"][0]["content"]) for body in requests]
    names = ("answer_with_tools", "answer_with_tools_expanded", "expander", "extractor")
    begun = tuple(paper[name] for name in names)
    assert {body["model"] for body, system in asked if system == matcher} == {"strong"}
    for body, system in asked:
        assert system == matcher or (system.startswith(begun) and body["temperature"] == 1.0)
        for tool in body.get("tools", ()):
            if tool["function"]["name"] == "local_retriever":
                assert list(tool["function"]["parameters"]["properties"]) == ["query"]


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def check_layouts(tables: Path) -> None:
    """The paper's layouts have what the plain tables say of the same systems."""
    scored = {(row["system"], row["subset"]): row for row in read_table(tables / "results.csv")}
    columns = ("base", "expansion", "extraction", "tools-wikisparql")
    changed = read_table(tables / "model-changes.csv")
    published = read_table(tables / "published-modules.csv")
    for row, change in zip(read_table(tables / "models.csv"), changed, strict=True):
        assert (row["model"], row["subset"]) == (change["model"], change["subset"])
        for setting, column in zip(SETTINGS, columns, strict=False):
            cell = scored[row["model"] + setting, row["subset"]]
            assert float(row[f"{column}_strict_recall"]) == float(cell["strict_recall"])
            if setting:
                gained = float(cell["strict_recall"]) - float(row["base_strict_recall"])
                assert float(change[f"{column}_strict_recall"]) == pytest.approx(gained, abs=1e-9)
    assert {row["model"] for row in changed} == set(SKILLS)
    assert {row["system"] for row in published if row["origin"] == "measured"} == set(SKILLS)
    assert sum(row["origin"] == "published" for row in published) == 20
    items = {(row["system"], row["subset"]): row for row in read_table(tables / "items.csv")}
    for row in read_table(tables / "errors.csv"):
        counts = items[row["system"], row["subset"]]
        assert (row["items"], row["inexact"]) == (counts["items"], counts["inexact"])
        left_out = int(counts["items_left_out_inexact"])
        assert float(row["reasoning_of_inexact"]) * int(row["inexact"]) >= left_out - 1e-9


def check_scores(tables: Path) -> None:
    """Skill shows in every setting; readings tell the middling model what it does not tell apart;
    the weak extractor copies nothing."""
    rows = [row for row in read_table(tables / "results.csv") if row["subset"] == "all"]
    recall = {row["system"]: float(row["strict_recall"]) for row in rows}
    assert list(recall) == SYSTEMS
    for setting in SETTINGS:
        strong, middling, weak = (recall[model + setting] for model in SKILLS)
        assert strong > middling > weak
    assert recall["middling, +expansion"] > recall["middling"]
    assert recall["weak, +extraction"] == 0 < recall["weak"]
