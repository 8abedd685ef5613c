"""How scoring goes, where it takes long: models are asked, or a corpus is read."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from branchwise.commands.passage_progress import showing

if TYPE_CHECKING:
    from branchwise.corpora.progress import Progress


class ScoringProgress:
    """Shows one kind of work at a time, from the first that is told of it."""

    def __init__(self) -> None:
        self._shown = ExitStack()
        self._what = ""

    def requests(self, role: str, done: int, total: int) -> None:
        """So many of a role's requests are answered."""
        self._told(f"asking the {role}", "requests", done, total)

    def passages(self, done: int, total: int) -> None:
        """So many passages of the corpus are read."""
        self._told("reading the corpus for what gold names", "passages", done, total)

    def close(self) -> None:
        """End what is shown."""
        self._shown.close()
        self._what = ""

    def _told(self, what: str, unit: str, done: int, total: int) -> None:
        if what != self._what:
            self.close()
            self._what = what
            self._update: Progress = self._shown.enter_context(showing(what, unit))
        self._update(done, total)


@contextmanager
def scoring_progress() -> Iterator[ScoringProgress]:
    """Progress that ends with the block."""
    progress = ScoringProgress()
    try:
        yield progress
    finally:
        progress.close()
