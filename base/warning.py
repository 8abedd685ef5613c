"""Warnings of bad or lost input, told of the user's own line and not of one of ours."""

import sys
import warnings

_OURS = "branchwise"


class StoppedWarning(UserWarning):
    """A run stopped before its end. Commands say so in their own way."""


def warn(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn of something that is not refused; in Python at the line that called the package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _OURS:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
