"""The files for many machines: the array of Slurm is run task by task, Ray's are what Ray reads."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from branchwise import merge

CLUSTER = Path(__file__).parents[2] / "examples" / "cluster"


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_the_tasks_of_slurm_answer_all_questions_and_go_on_where_they_stopped(tmp_path, type_in):
    text = (CLUSTER / "slurm.sh").read_text()
    (last,) = re.findall(r"^#SBATCH --array=1-(\d+)$", text, re.MULTILINE)
    assert f"${{PARTS:-{last}}}" in text
    command = tmp_path / "branchwise"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m branchwise "$@"\n')
    command.chmod(0o755)
    films = CLUSTER.parent / "films"
    type_in("corpus", "build", "--from", films / "corpus.jsonl", "--out", tmp_path / "C")
    type_in("corpus", "index", tmp_path / "C", "--kind", "bm25")
    words = ["--questions", films / "questions.jsonl", "--corpus", "C", "--model", "offline"]
    words += ["--retriever", "bm25", "--limit", "6"]
    for task in ("1", "2", "1"):
        own = {"SLURM_ARRAY_TASK_ID": task, "PARTS": "2"}
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        subprocess.run(
            ["bash", CLUSTER / "slurm.sh", *words], cwd=tmp_path, env=os.environ | path | own,
            check=True,
        )  # fmt: skip
    parts = sorted((tmp_path / "parts").iterdir())
    assert merge(parts, tmp_path / "whole").state.done == 6


def test_the_cluster_of_ray_is_one_that_ray_knows():
    cluster = yaml.safe_load((CLUSTER / "ray.yaml").read_text())
    assert cluster["provider"]["type"] == "local"
    assert any(
        "--ray-client-server-port=10001" in line for line in cluster["head_start_ray_commands"]
    )
    ray = importlib.util.find_spec("ray")
    if ray is None or not ray.submodule_search_locations:
        pytest.skip("Ray is not installed: its schema is not there")
    schema = Path(ray.submodule_search_locations[0]) / "autoscaler" / "ray-schema.json"
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(cluster, json.loads(schema.read_text()))
