"""Runs, studies, forks and scores: nothing that was recorded is lost or asked for again."""

import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from killing.stores import Stored, databases, read
from killing.subjects import OWN, Place, Subject, difference

from branchwise.base.errors import InputError
from branchwise.runs.store.connection import DATABASE

_FILES = {DATABASE, "lock", "study.json"}


class StoreSubject(Subject):
    """A command that asks the server and keeps what it says in stores below `store`."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.whole = self.before = Stored({}, {}, {}, {})
        self.requests = Counter[str]()
        self.sent_from = self.case_from = 0

    @property
    @abstractmethod
    def store(self) -> Path:
        """The folder that holds the stores."""

    def begin(self) -> None:
        self.before = read(self.store, self.place.scratch)
        self.sent_from = self.case_from = self.place.server.drain()

    @property
    def again(self) -> int:
        """Requests of the case that were sent once more: a kill met them on their way."""
        return self.place.server.drain() - self.case_from - self.requests.total()

    @property
    def to_do(self) -> float:  # type: ignore[override]
        """By responses that are recorded."""
        return 1.0 - len(self.before.responses) / max(len(self.whole.responses), 1)

    def watched(self) -> Sequence[Path]:
        found = databases(self.store)
        return [*(path.with_name(f"{path.name}-wal") for path in found), *found, self.store]

    def killed(self) -> list[str]:
        """Compare what the process sent with what was recorded before it started."""
        server = self.place.server
        until = server.drain()
        sent = server.since(self.sent_from)
        recorded = Counter(server.log[number] for number in self.before.answers)
        try:
            now = read(self.store, self.place.scratch)
        except InputError as error:
            names = sorted(path.name for path in self.place.scratch.iterdir())
            return [f"{str(error).partition(': ')[2]} (there: {', '.join(names)})"]
        again = sum(
            max(0, count + recorded[request] - self.requests[request])
            for request, count in sent.items()
        )
        gone = sum(now.responses.get(key) != body for key, body in self.before.responses.items())
        unended = sum(now.ended.get(key) != body for key, body in self.before.ended.items())
        self.before, self.sent_from = now, until
        counts = {
            "recorded responses asked for again": again,
            "recorded responses lost or replaced": gone,
            "ended items lost or replaced": unended,
        }
        return [f"{count} {what}" for what, count in counts.items() if count]

    def learn(self) -> None:
        self.requests = self.place.server.since(self.sent_from)
        self.place.server.drain()
        self.whole = read(self.store, self.place.scratch)

    def ended(self) -> list[str]:
        faults = [*self.killed(), *self.left_behind(0)]
        for what, found, whole in (
            ("items", self.before.trace, self.whole.trace),
            (
                "responses",
                dict.fromkeys(self.before.responses),
                dict.fromkeys(self.whole.responses),
            ),
            ("results", self.before.results, self.whole.results),
        ):
            faults += [f"{what}: {fault}" for fault in difference(found, whole)]
        for path in databases(self.store):
            entries = [entry for entry in path.parent.iterdir() if entry.name not in _FILES]
            # A reader leaves an empty log, and the index of it.
            logs = {f"{DATABASE}-wal", f"{DATABASE}-shm"} if _is_empty(path) else set()
            if extra := sorted({entry.name for entry in entries} - logs):
                faults.append(f"{path.parent.name} holds {', '.join(extra)}")
        return faults


def _is_empty(database: Path) -> bool:
    """Whether all that was written is in the file itself, and nothing in its log."""
    log = database.with_name(f"{database.name}-wal")
    return not log.exists() or log.stat().st_size == 0


class RunSubject(StoreSubject):
    """`branchwise run`, continued by `resume` as soon as there is something to continue."""

    def __init__(self, place: Place, name: str, options: Sequence[str]) -> None:
        super().__init__(place)
        self.name, self._options = name, options

    @property
    def store(self) -> Path:
        return self.folder / "R"

    def command(self) -> Sequence[str]:
        if (self.store / DATABASE).exists():
            return ["resume", "R", "--concurrency", "4"]
        questions = str(self.place.inputs / "q.jsonl")
        asked = ["run", "--questions", questions, "--concurrency", "4", "--out", "R"]
        return [*asked, "--model", f"openai:scripted@{self.place.server.url}", *self._options]


class StudySubject(StoreSubject):
    """`branchwise ablate`, continued by the same command."""

    name = "study of four systems"

    @property
    def store(self) -> Path:
        return self.folder / "S"

    def command(self) -> Sequence[str]:
        return ["ablate", str(self.place.inputs / "study.yaml"), "--out", "S"]


class ForkSubject(StoreSubject):
    """`branchwise fork` into a folder that it names itself, continued by `resume`."""

    name = "fork"

    def begin(self) -> None:
        shutil.copytree(self.place.inputs / "parent", self.folder / "parent")
        super().begin()

    @property
    def store(self) -> Path:
        return self.folder / "parent-fork-q1-s2"

    def command(self) -> Sequence[str]:
        if (self.store / DATABASE).exists():
            return ["resume", str(self.store)]
        return ["fork", "parent", "--question", "q1", "--step", "2", "--print"]

    def ended(self) -> list[str]:
        names = {path.name for path in self.folder.iterdir()} - {*OWN, "parent", self.store.name}
        extra = [f"more than one fork: {', '.join(sorted(names))}"] if names else []
        parent, original = (p / "parent" / DATABASE for p in (self.folder, self.place.inputs))
        if parent.read_bytes() != original.read_bytes():
            extra.append("the parent was changed")
        return super().ended() + extra


class ScoreSubject(StoreSubject):
    """`branchwise score` of a run that has ended, by a model; or of many items, by workers."""

    def __init__(self, place: Place, name: str, run: str, options: Sequence[str]) -> None:
        super().__init__(place)
        self.name, self._run, self._options = name, run, options

    def begin(self) -> None:
        shutil.copytree(self.place.inputs / self._run, self.folder / "R")
        super().begin()

    @property
    def store(self) -> Path:
        return self.folder / "R"

    def command(self) -> Sequence[str]:
        return ["score", "R", *self._options]
