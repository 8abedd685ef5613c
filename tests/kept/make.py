"""Makes the runs of this folder, and what commands say of them.

    .venv/bin/python tests/kept/make.py

`test_kept.py` holds every later commit to these files: they are made anew only by one that changes
scores or digests on purpose. A run here has every kind of event that a scripted server can bring
about.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from branchwise import run  # noqa: E402
from branchwise.agents import restraints  # noqa: E402
from branchwise.agents.decoding import Decoding  # noqa: E402
from branchwise.graphs.budget import Budget  # noqa: E402
from branchwise.graphs.system import System  # noqa: E402
from support.chat_server import ChatServer  # noqa: E402
from support.corpora.small import FILMS  # noqa: E402
from support.runs.fork_scripts import SCRIPT  # noqa: E402
from support.runs.kept_commands import COMMANDS, FORKS, QUESTIONS, RUNS, WIDTH  # noqa: E402
from support.runs.studies import reply  # noqa: E402

PASSAGES = ("heat-1995", "heat-1986", "kong-1933", "kong-1976")
STUDY = """name: kept
questions: questions.jsonl
base: {{model: "{model}", corpus: C, k: 2}}
factors: {{expansion: [off, on], extraction: [off, on]}}
design: factorial
"""


def main() -> None:
    place = Path(tempfile.gettempdir(), "kept")
    place.mkdir()
    os.chdir(place)
    os.environ |= {"NO_PROXY": "127.0.0.1,localhost", "HF_HUB_OFFLINE": "1", "COLUMNS": WIDTH}
    passages = [{"id": id, "contents": FILMS[id]} for id in PASSAGES]
    write_lines("passages.jsonl", passages)
    write_lines("questions.jsonl", [question(n) for n in range(QUESTIONS)])
    branchwise("corpus", "build", "--from", "passages.jsonl", "--out", "C")
    branchwise("corpus", "index", "C", "--kind", "bm25")
    server = ChatServer().start()
    model = f"openai:scripted@{server.url}"
    server.play(SCRIPT)
    restraints.FIRST_WAIT = 0.0
    base = System(
        model=model,
        tools=("local_retriever",),
        corpus="C",
        k=2,
        decoding=Decoding(attempts=1),
        budget=Budget(calls=7),
    )
    shutil.copy(HERE / "nodes.py", "nodes.py")
    nodes = {"nodes": ("nodes.py:brief", "nodes.py:first", "nodes.py:shout")}
    for name, changes in {
        "none": {},
        "both": {"expand": True, "extract": True},
        "nodes": nodes,
    }.items():
        system = base.model_copy(update=changes)
        run("questions.jsonl", system, out=Path(name), concurrency=1)
    for step in (1, 4):
        branchwise("fork", "both", "--question", "q0", "--step", step, "--out", f"fork-{step}")
    server.play(reply)
    Path("study.yaml").write_text(STUDY.format(model=model))
    branchwise("ablate", "study.yaml", "--out", "study")
    server.stop()
    for name in (*RUNS, *FORKS):
        # While the corpus is where the run says: what it could have given is kept.
        branchwise("score", name)
    files, expected = HERE / "files", HERE / "expected"
    for folder in (files, expected):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.move(place, files)
    for made in ("index", "mentions", "titles"):
        # An index, and what commands keep of the corpus: all are made when they are needed.
        shutil.rmtree(files / "C" / made, ignore_errors=True)
    (files / "study" / "lock").unlink(missing_ok=True)
    for file in files.rglob("run.sqlite"):
        # As an archive: reading it leaves nothing beside it.
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        (file.parent / "lock").unlink()
    expected.mkdir()
    os.chdir(shutil.copytree(files, Path(tempfile.mkdtemp(), "files")))
    for name, command in COMMANDS.items():
        (expected / f"{name}.txt").write_text(branchwise(*command), "utf-8")


def question(n: int) -> dict[str, object]:
    text = f"Question number {n:04d}: who directed Heat?"
    gold = {"Heat (1995 film)": [text[:20], "Michael Mann"], "Heat (1986 film)": ["Burt Reynolds"]}
    return {"id": f"q{n}", "question": text, "answers": gold}


def write_lines(name: str, records: list[dict[str, object]]) -> None:
    Path(name).write_text("".join(f"{json.dumps(record)}\n" for record in records))


def branchwise(*arguments: object) -> str:
    """What the command prints, with its exit code."""
    command = [sys.executable, "-m", "branchwise", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
    return f"exit code {done.returncode}\n{done.stderr}{done.stdout}"


if __name__ == "__main__":
    main()
