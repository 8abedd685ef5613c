"""Runs written through the run store: here, or by a process that does one thing at a time.

As a program: `python written_runs.py FOLDER` continues a run; each line of standard input is one of
`begin ITEM`, `turn ITEM`, `done ITEM TEXT...`, `failed ITEM`, and is answered by `ok` once it is
in the file.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from branchwise.agents.journal import CallKey
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.store import RunSpec, RunStore, create_run
from branchwise.runs.store.run_store import ItemJournal

TURN: Mapping[str, Any] = {
    "text": "",
    "tool_calls": [],
    "invalid_tool_calls": [],
    "reasoning": "",
    "finish": "stop",
    "usage": {"input": 1, "output": 1, "cached": 0, "reasoning": 0},
    "seconds": 0.1,
    "replayed": False,
}
START: Mapping[str, Any] = {"system": "S", "content": "Who?", "artifact": {"passages": []}}


def spec(*, epochs: int = 1, task: str = "branches", **changes: Any) -> RunSpec:
    system = {"model": "offline"}
    fields = {"source": "q", "questions_digest": "d", "system_digest": "s", "version": "0"}
    return RunSpec(task, system=system, identity=system, epochs=epochs, **(fields | changes))


def question(n: int, *gold: str, ambiguous: bool = False, text: str | None = None) -> Question:
    """Question `qN` with one branch of these answers (by default, Mann)."""
    answers = tuple(Answer(text=one) for one in gold or ("Mann",))
    branch = Branch(name="default", answers=answers)
    asked = text or f"Who directed film {n}?"
    return Question(id=f"q{n}", question=asked, ambiguous=ambiguous, branches=(branch,))


def outcome(*texts: str, **changes: Any) -> dict[str, Any]:
    """An item that answered these texts in 1,000 tokens and 2.5 seconds."""
    return {
        "prediction": {"reasoning": "", "answers": {"default": list(texts)} if texts else {}},
        "how": "strict",
        "problem": None,
        "evidence": [],
        "usage": {},
        "turns": 1,
        "calls": 0,
        "tokens": 1000,
        "seconds": 2.5,
        "error": None,
        **changes,
    }


def failure(error: str = "server: gone") -> dict[str, Any]:
    """As `eval.outcomes.error_record` writes it: no tokens but those by role."""
    used = {"calls": 1, "input": 30, "output": 12, "cached": 0, "reasoning": 0, "seconds": 1.0}
    record = {"prediction": {}, "how": "failed", "problem": None, "evidence": []}
    return {**record, "usage": {"agent": used, "expander": used}, "error": error}


def make_run(
    path: Path, questions: Sequence[Question], ends: Sequence[dict[str, Any] | None], **about: Any
) -> Path:
    """A run of these questions whose items ended so, in the store's order; None: it did not begin.

    Each item that ended has the trace `start`, `model`.
    """
    create_run(path, spec(**about), questions)
    with RunStore(path) as store:
        for pending, end in zip(list(store.pending()), ends, strict=True):
            if end is not None:
                journal = store.begin(pending)
                journal.event("start", START)
                journal.event("model", {**TURN, "turn": 1})
                asyncio.run(journal.finish("failed" if end["error"] else "done", end))
    return path


class Writing:
    """The items of an open run, each driven step by step."""

    def __init__(self, store: RunStore) -> None:
        self._pending = {one.item: one for one in store.pending(retry_failed=True)}
        self._store, self._journals = store, dict[int, ItemJournal]()
        self._turns = 0

    def begin(self, item: int) -> None:
        """Its first event is in the file, and it is running."""
        self._journals[item] = self._store.begin(self._pending[item])
        self._journals[item].event("start", START)
        self._keep(item)

    def turn(self, item: int) -> None:
        self._journals[item].event("model", {**TURN, "turn": 1})
        self._keep(item)

    def done(self, item: int, *texts: str) -> None:
        asyncio.run(self._journals[item].finish("done", outcome(*texts)))

    def failed(self, item: int) -> None:
        asyncio.run(self._journals[item].finish("failed", failure()))

    def _keep(self, item: int) -> None:
        self._turns += 1
        journal = self._journals[item]
        slot = journal.recall(CallKey("model", "agent", f"d{self._turns}"))
        asyncio.run(journal.keep(slot, {"text": "", "usage": TURN["usage"]}))


@contextmanager
def writing(path: Path) -> Iterator["WritingProcess"]:
    """A process of its own that writes the run; killed at the end if it has not ended."""
    command = [sys.executable, str(Path(__file__)), str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            yield WritingProcess(process)
        finally:
            process.kill()


class WritingProcess:
    """Tells the process what to write, and waits until it is written."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._answered()

    def tell(self, *words: object) -> None:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        self._answered()

    def end(self) -> int:
        self.process.stdin.close()
        return self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _answered(self) -> None:
        assert self.process.stdout.readline() == "ok\n"


def answer() -> None:
    sys.stdout.write("ok\n")
    sys.stdout.flush()


def main() -> None:
    with RunStore(Path(sys.argv[1])) as store:
        items = Writing(store)
        answer()
        for line in sys.stdin:
            verb, item, *texts = line.split()
            getattr(items, verb)(int(item), *texts)
            answer()


if __name__ == "__main__":
    main()
