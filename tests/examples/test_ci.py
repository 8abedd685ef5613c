import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

WORKFLOW = Path(__file__).parents[2] / "examples/ci/gate.yml"


def test_the_commands_of_the_workflow_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_in: Callable[..., tuple[int, str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    passage = {"id": "p1", "title": "Heat", "text": "Heat was directed by Michael Mann."}
    question = {"id": "q1", "question": "Who directed Heat?", "answers": ["Michael Mann"]}
    Path("passages.jsonl").write_text(json.dumps(passage) + "\n")
    Path("questions.jsonl").write_text(json.dumps(question) + "\n")
    assert type_in("corpus", "build", "--from", "passages.jsonl", "--out", "C")[0] == 0
    assert type_in("corpus", "index", "C", "--kind", "bm25")[0] == 0
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["gate"]["steps"]
    commands = [shlex.split(step["run"]) for step in steps if "branchwise" in step.get("run", "")]
    _, answer, compare = commands  # the first installs
    offline = ["offline" if word.startswith("openai:") else word for word in answer[1:]]
    for name in ("new", "main"):
        words = [word.replace("runs/new", f"runs/{name}") for word in offline]
        code, _, error = type_in(*words)
        assert code == 0, error
    assert type_in(*compare[1:])[0] == 0
    assert Path("gate.xml").read_text().count("<testcase") == 3
