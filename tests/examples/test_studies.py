"""The studies to start from load, and come to what their comments say."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from branchwise.graphs.budget import Budget
from branchwise.runs.studies.plan import plan_of
from branchwise.runs.studies.schema import load_study
from branchwise.runs.studies.shared import sets_of

STUDIES = Path(__file__).parents[2] / "examples" / "studies"
NAMES = sorted(path.name for path in STUDIES.glob("*.yaml"))
SYSTEMS = {"deepambigqa.yaml": 15, "mdcr.yaml": 15}
PUBLISHED = {
    "id": "1",
    "question": "When did Etna erupt?",
    "properties": [{"condition": "last", "groundtruth": "In 2024.", "citations": []}],
    "ctxs": [{"title": "Etna", "text": "It erupted in 2024."}],
}
COMMAND = re.compile(r"^#   (branchwise .*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, process: None) -> Path:
    """A copy of the examples with the world that modules.yaml makes, a small one, and the corpus of
    cambignq.yaml; for deepambigqa.yaml and condambigqa.yaml stand-ins of what it wants."""
    root = tmp_path_factory.mktemp("root")
    folder = root / "examples" / "studies"
    shutil.copytree(STUDIES, folder, ignore=shutil.ignore_patterns("W", "WIKI", "CAMBIGNQ"))
    shutil.copytree(STUDIES.parent / "benchmarks", folder.parent / "benchmarks")
    made = ("modules.yaml", "cambignq.yaml")
    for line in COMMAND.findall("".join((folder / name).read_text() for name in made)):
        _, *words = shlex.split(line.replace("2000", "400"))
        if words[0] != "ablate":
            command = (sys.executable, "-m", "branchwise", *words)
            subprocess.run(command, cwd=root, check=True, capture_output=True)
    (folder / "WIKI" / "index" / "e5").mkdir(parents=True)
    (folder / "WIKI" / "index" / "e5" / "manifest.json").touch()
    shutil.copyfile(folder / "W" / "corpus.jsonl", folder / "WIKI" / "corpus.jsonl")
    shutil.copyfile(folder / "W" / "questions.jsonl", folder / "deepambigqa.jsonl")
    (folder / "condambigqa.json").write_text(json.dumps([PUBLISHED]))
    return root


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_example_loads_with_what_its_comment_makes(root: Path, name: str) -> None:
    loaded = load_study(root / "examples" / "studies" / name)
    assert loaded.study.name == Path(name).stem
    plan = plan_of(loaded, loaded.systems(), sets_of(loaded), loaded.prices())
    assert len(plan.systems) == SYSTEMS.get(name, 4)
    if loaded.study.max_cost is not None:
        # What --max-cost needs: a price for every model, a bound for every reply.
        assert plan.at_most.cost is not None
        assert all(one.system.decoding.max_tokens for one in loaded.systems())


def test_conditional_answers_are_asked_for_in_fifteen_settings(root: Path) -> None:
    loaded = load_study(root / "examples" / "studies" / "mdcr.yaml")
    systems = [named.system for named in loaded.systems()]
    unhinted = [one for one in systems if one.asked("hints") == "none"]
    strategies = [(one.asked("shots"), one.asked("reasoning")) for one in unhinted]
    assert strategies == [(0, "off"), (1, "off"), (1, "steps")]
    assert len({one.asked("hints") for one in systems}) == 5
    assert {one.decoding.temperature for one in systems} == {0}
    sets = sets_of(loaded)
    assert [len(asked.questions) for asked in sets] == [180]
    plan = plan_of(loaded, loaded.systems(), sets, loaded.prices())
    # One answer and one repair for each of 180 questions.
    assert all(dict(one.calls) == {"agent": 360} for one in plan.systems)
    assert plan.at_most.cost is not None


def test_the_papers_settings_are_the_papers(root: Path) -> None:
    loaded = load_study(root / "examples" / "studies" / "deepambigqa.yaml")
    assert loaded.scoring.matcher == "llm"
    systems = [named.system for named in loaded.systems()]
    for system in systems:
        assert (system.retriever, system.k, system.decoding.temperature) == ("e5", 15, 1.0)
        assert (system.prompt_set, system.budget_shown, system.repeat_passages) == (
            "paper", "off", True,
        )  # fmt: skip
        # All but the budget by reading, which the paper does not have.
        assert set(Budget.model_fields) - {"calls_per_reading"} == system.budget.model_fields_set
    tools = [system.tools for system in systems[:5]]
    assert tools[3:] == [
        ("local_retriever", "wikisparql"), ("local_retriever", "wikidata_search", "wikisparql"),
    ]  # fmt: skip
    assert [system.readings_from for system in systems[:5] if system.expand] == ["memory"]
    assert [system.extract_by for system in systems[:5] if system.extract] == ["passage"]
