"""What the list shows of a run, in words."""

from textual.content import Content
from textual.widget import Widget

from branchwise.base.text import counted
from branchwise.eval.errors.labels import label_words
from branchwise.eval.tasks import DEFAULT, TASKS
from branchwise.ui.trace_app.cells import drawn, fitted
from branchwise.ui.traces.order import Arrangement

_ENDS = {
    "id": ("from A", "from Z"),
    "question": ("from A", "from Z"),
    "status": ("running first", "done first"),
    "labels": ("fewest first", "most first"),
}


class FilterBar(Widget):
    """One line: how many rows of how many, what was filtered, how it is sorted."""

    def __init__(self) -> None:
        super().__init__()
        self._text, self._end = "", ""

    def show(self, text: str, end: str = "") -> None:
        """Show a line that holds text from outside; `end` stands at its right."""
        self._text, self._end = drawn(text), end
        self.refresh()

    def render(self) -> Content:
        room = self.content_size.width - len(self._end)
        return Content(fitted(self._text, max(0, room - 2)) + "  " + self._end)


def in_words(
    how: Arrangement, shown: int, total: int, other: str | None = None, task: str = ""
) -> str:
    """A sentence about an arrangement; `other`: the run that shown questions differ from; `task`:
    the run's, which says what its subsets are called."""
    filters = list(_filters(how, other, task))
    whole = counted(total, "question")
    count = f"{shown:,} of {whole}" if filters else whole
    return f"{count}{': ' if filters else ''}{', '.join(filters)} · {_sorted(how)}"


def filtered(how: Arrangement) -> bool:
    """Whether anything is left out."""
    return any(_filters(how, None, ""))


def _filters(how: Arrangement, other: str | None, task: str) -> list[str]:
    words = TASKS.get(task, DEFAULT).subset_words
    said = [words[how.subset]] if how.subset != "all" else []
    said += [how.status] if how.status else []
    said += [f"with {label_words(how.label)}"] if how.label else []
    said += [f"“{how.text}”"] if how.text else []
    said += [f"different in {other or 'another run'}"] if how.differs else []
    return said


def _sorted(how: Arrangement) -> str:
    if how.sort == "order":
        return "in the run's order" + (", last first" if how.descending else "")
    ends = _ENDS.get(how.sort, ("lowest first", "highest first"))
    return f"by {how.sort}, {ends[how.descending]}"
