"""What is made of files: there as a whole or not at all, and made by the same command again."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from killing.subjects import OWN, Place, Subject, difference

Digests = dict[str, str]
Works = Callable[[Path], object]
# Made when a corpus is first opened, and anew when its file has another time.
_LEFT_OUT = {"corpus.json", "offsets.npy", "checksums.npy", "files.json"}
"""Made on opening, or with times of files in it."""


class BuildSubject(Subject):
    """A command that makes `target` (a file or a folder) in the case's folder.

    `copied`: an input that it works in. `works` uses what was made: it says what came of it, and
    raises where it cannot. `earlier`: the target is there before, and whole after each kill.
    """

    def __init__(
        self,
        place: Place,
        name: str,
        command: Sequence[str],
        target: str,
        works: Works,
        *,
        copied: str | None = None,
        earlier: bool = False,
    ) -> None:
        super().__init__(place)
        self.name, self._command, self._works = name, command, works
        self._copied, self._earlier, self._target = copied, earlier, target
        self._whole: Digests = {}
        self._worked: object = None

    @property
    def target(self) -> Path:
        """What is made."""
        return self.folder / self._target

    def begin(self) -> None:
        if self._copied is not None:
            shutil.copytree(self.place.inputs / self._copied, self.folder / self._copied)
        if self._earlier and self._whole:
            kept = self.place.inputs / self._kept
            shutil.copytree(kept, self.target, dirs_exist_ok=True)

    @property
    def _kept(self) -> str:
        return f"kept {self.name}"

    def command(self) -> Sequence[str]:
        return self._command

    def watched(self) -> Sequence[Path]:
        parent = self.target.parent
        return [parent, self.folder / "said", *parent.glob(".*.partial"), *parent.glob(".*/*")]

    def killed(self) -> list[str]:
        return [*self._not_whole(required=self._earlier), *self.left_behind(1)]

    def learn(self) -> None:
        self._worked, self._whole = self._works(self.target), digests(self.target)
        if self._earlier:
            shutil.copytree(self.target, self.place.inputs / self._kept)

    def ended(self) -> list[str]:
        left = self.left_behind(0)
        parents = {self._target.split("/", maxsplit=1)[0], *OWN}
        if extra := {path.name for path in self.folder.iterdir()} - parents:
            left.append(f"left behind: {', '.join(sorted(extra))}")
        return [*self._not_whole(required=True), *left]

    def _not_whole(self, *, required: bool) -> list[str]:
        if not self.target.exists():
            return ["what stood there before is gone"] if required else []
        faults = difference(digests(self.target), self._whole)
        try:
            if self._works(self.target) != self._worked:
                faults.append("it works otherwise")
        except Exception as error:  # noqa: BLE001 - what is there must work
            faults.append(f"it does not work: {type(error).__name__}: {error}")
        return faults


def digests(path: Path) -> Digests:
    """What the files hold; a graph's two stores and tantivy's files are no two times the same, and
    are asked."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if not {"store", "tantivy"} & {*file.relative_to(path).parts}
        and file.suffix != ".sqlite"
        and file.name not in _LEFT_OUT
    }
