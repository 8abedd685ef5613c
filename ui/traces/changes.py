"""What changed in a run's file since somebody last looked."""

from branchwise.eval.store.item_rows import ItemRows


class Watch:
    """Compares a run's items with how they were: by status, by a running item's last event, and by
    how a failed one failed (it may have been tried again)."""

    def __init__(self, rows: ItemRows) -> None:
        self._rows = rows
        self._version = rows.version()
        self.statuses = rows.statuses()
        self._last = rows.last_events(self._running())
        self._failures = rows.failures()

    @property
    def failures(self) -> int:
        """How many items had failed."""
        return len(self._failures)

    def changed(self) -> set[int] | None:
        """Items that are not as they were; None where nobody has written."""
        version = self._rows.version()
        if version == self._version:
            return None
        before, last, failures = self.statuses, self._last, self._failures
        self._version, self.statuses = version, self._rows.statuses()
        self._last = self._rows.last_events(self._running())
        self._failures = self._rows.failures()
        return {
            item
            for item, status in self.statuses.items()
            if status != before.get(item)
            or self._last.get(item) != last.get(item)
            or self._failures.get(item) != failures.get(item)
        }

    def _running(self) -> list[int]:
        return [item for item, status in self.statuses.items() if status == "running"]
