"""Where something happened that a report should name."""

from typing import Any, NamedTuple


class Occasion(NamedTuple):
    """One item, a question's id and the epoch; `why` where there is something to say about it."""

    id: str
    epoch: int
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Without what there is nothing to say about."""
        return {key: value for key, value in self._asdict().items() if value is not None}
