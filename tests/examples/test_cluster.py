"""The scripts for many machines: read by a shell or as YAML, and the one that they share is run."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from branchwise.commands.pace_options import read_shard

CLUSTER = Path(__file__).parents[2] / "examples" / "cluster"
SCRIPTS = sorted(path.name for path in CLUSTER.glob("*.sh"))


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_shell_reads_the_scripts(name):
    subprocess.run(["bash", "-n", CLUSTER / name], check=True)
    if shellcheck := shutil.which("shellcheck"):
        subprocess.run([shellcheck, CLUSTER / name], check=True)


def test_the_array_of_slurm_has_as_many_tasks_as_there_are_shards():
    text = (CLUSTER / "slurm.sh").read_text()
    (first, last) = re.findall(r"^#SBATCH --array=(\d+)-(\d+)$", text, re.MULTILINE)[0]
    (shards,) = re.findall(r"\$\{SHARDS:-(\d+)\}", text)
    assert (first, last) == ("1", shards)
    assert read_shard(f"{last}/{shards}")


def test_the_job_of_kubernetes_has_as_many_pods_as_there_are_shards():
    job = yaml.safe_load((CLUSTER / "job.yaml").read_text())
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert (spec["completionMode"], pod["restartPolicy"]) == ("Indexed", "Never")
    assert f'"$((JOB_COMPLETION_INDEX + 1))" {spec["completions"]} ' in container["args"][0]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


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


STUB = """#!/bin/bash
# In the place of branchwise, which takes seconds to start: writes what it was told, and waits the
# first time until it is told to stop.
folder=${@: -1}
mkdir -p "$folder"
echo "$@" >> "$folder/said"
trap 'exit 1' TERM
if [ "$(wc -l < "$folder/said")" -eq 1 ]; then
    touch came
    while :; do read -rt 0.05 <> <(:) || :; done
fi
"""


@pytest.mark.usefixtures("process")
def test_a_shard_that_was_told_to_stop_is_kept_and_goes_on_elsewhere(tmp_path):
    for name in ("shard.sh", "slurm.sh"):
        shutil.copy(CLUSTER / name, tmp_path)
    (tmp_path / "branchwise").write_text(STUB)
    (tmp_path / "branchwise").chmod(0o755)
    task = {"SLURM_SUBMIT_DIR": str(tmp_path), "SLURM_ARRAY_TASK_ID": "3"}
    path = f"{tmp_path}:{os.environ['PATH']}"
    kept = tmp_path / "shards"

    def start(scratch):
        own = {**task, "PATH": path, "SCRATCH": str(tmp_path / scratch)}
        (tmp_path / scratch).mkdir()
        return subprocess.Popen(["bash", "slurm.sh"], cwd=tmp_path, env=os.environ | own)

    first = start("one")
    while not (tmp_path / "came").exists():
        assert first.poll() is None
    first.send_signal(signal.SIGTERM)
    assert first.wait() == 1
    assert start("two").wait() == 0
    assert [path.name for path in kept.iterdir()] == ["3"]
    words = "ablate study.yaml --shard 3/16 --out"
    folders = [tmp_path / scratch / "study-3-of-16" for scratch in ("one", "two")]
    assert (kept / "3/said").read_text() == "".join(f"{words} {folder}\n" for folder in folders)
    # Killed between two steps of a copy: the new one was complete when the old one went.
    (kept / "3").rename(kept / "3.new")
    assert start("three").wait() == 0
    assert (kept / "3/said").read_text().count("\n") == 3
