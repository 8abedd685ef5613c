"""A place to name in a report."""

from typing import Any, NamedTuple


class Occasion(NamedTuple):
    """One item, by question id and epoch; `why` if there is a reason to give."""

    id: str
    epoch: int
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Without fields that are empty."""
        return {key: value for key, value in self._asdict().items() if value is not None}
