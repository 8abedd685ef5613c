"""What is killed: a command, how it goes on after a kill, and what must be there then."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from killing.server import CountingServer

LEFT = "*.partial"
OWN = ("said", "complained", "tmp")


@dataclass
class Place:
    """Where cases are played: `inputs` are made once and only read, `folder` is one case's own."""

    inputs: Path
    server: CountingServer
    scratch: Path
    folder: Path = field(default_factory=Path)


class Subject(ABC):
    """A command that is killed again and again until it ends; faults are told in one line each."""

    name: str
    again = 0
    """Requests of the case that were sent once more."""
    to_do = 1.0
    """The share of the work that is left to the next process."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @property
    def folder(self) -> Path:
        """The case's own folder."""
        return self.place.folder

    def begin(self) -> None:
        """Lay out the folder of a case, which is empty."""
        return

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What to type now: at first, or after a kill."""

    @abstractmethod
    def watched(self) -> Sequence[Path]:
        """Files and folders whose changes are moments to kill at."""

    def killed(self) -> list[str]:
        """What is wrong after a kill."""
        return []

    @abstractmethod
    def learn(self) -> None:
        """Remember what an undisturbed case has made."""

    @abstractmethod
    def ended(self) -> list[str]:
        """What is wrong at the end, beside an undisturbed case."""

    def left_behind(self, allowed: int) -> list[str]:
        """Complain of more unfinished folders than one killed process leaves."""
        left = sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob(LEFT))
        outermost = [name for name in left if name.count(LEFT[1:]) == 1]
        return [f"left behind: {', '.join(outermost)}"] if len(outermost) > allowed else []


def difference(found: Mapping[Any, object], whole: Mapping[Any, object]) -> list[str]:
    """In one line each: how many are missing, too many, and not the same."""
    counts = {
        "lost": len(whole.keys() - found.keys()),
        "too many": len(found.keys() - whole.keys()),
        "different": sum(found[key] != whole[key] for key in found.keys() & whole.keys()),
    }
    return [f"{count} {what}" for what, count in counts.items() if count]
