"""The steps of two traces in paired rows, and where they part."""

from branchwise.ui.trace_app.widgets.paired_lines import PairedLine, PairedLines
from branchwise.ui.traces.comparison import StepPair, TraceComparison
from branchwise.ui.traces.trace import Step

PARTED = "─── here they part "
_NOTHING = PairedLine(across="nothing recorded yet", looks=("same", ""), chosen=False)
_SEVERAL_DIGITS = 3


class StepPairs(PairedLines):
    """Rows of a comparison; the first difference has a line of its own above it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.compared = TraceComparison(())

    def show(self, compared: TraceComparison, row: int | None = None) -> None:
        """Show these rows, the cursor on `row` or where it was."""
        self.compared = compared
        lines = [_line(pair) for pair in compared.pairs] or [_NOTHING]
        if compared.parted is not None:
            lines.insert(compared.parted, PairedLine(across=PARTED, fill="─", chosen=False))
        self.set_lines(lines, None if row is None else self._line_of(row))

    def go_to_row(self, row: int) -> None:
        """Put the cursor on a row of the comparison, with those before it in view."""
        self.go_to(self._line_of(row))

    @property
    def row(self) -> int:
        """The row that the cursor is on."""
        parted = self.compared.parted
        return self.cursor - (parted is not None and self.cursor > parted)

    @property
    def step(self) -> Step | None:
        """The step of the focused side in that row; None where this side has none."""
        return self.step_of(self.side)

    def step_of(self, side: int) -> Step | None:
        """The step of a side in the cursor's row."""
        pairs = self.compared.pairs
        return pairs[self.row].side(side) if self.row < len(pairs) else None

    def _line_of(self, row: int) -> int:
        parted = self.compared.parted
        return row + (parted is not None and row >= parted)


def _line(pair: StepPair) -> PairedLine:
    both = pair.a is not None and pair.b is not None
    sign = "=" if pair.same else "≠" if both else " "
    looks = (_look(pair, pair.a), _look(pair, pair.b))
    return PairedLine(_words(pair.a), sign, _words(pair.b), looks, (_gold(pair.a), _gold(pair.b)))


def _look(pair: StepPair, step: Step | None) -> str:
    if step is not None and step.failed:
        return "failed"
    return "same" if pair.same else "differs"


def _words(step: Step | None) -> str:
    """A sign for an error, the number, the label indented below the step that it belongs to."""
    if step is None:
        return ""
    sign = "✗" if step.failed else " "
    return f"{sign}{step.seq:>{_SEVERAL_DIGITS}} {'  ' * step.depth}{step.label}"


def _gold(step: Step | None) -> str:
    return f" ●{step.gold}" if step and step.gold else ""
