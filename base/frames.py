"""Rows as a data frame of pandas, where that is installed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import require

if TYPE_CHECKING:
    from pandas import DataFrame


def frame_of(rows: Sequence[Mapping[str, Any]]) -> "DataFrame":
    """A row for each. Raises InputError without pandas."""
    require("notebook", "a data frame")
    from pandas import DataFrame

    return DataFrame(list(rows))
