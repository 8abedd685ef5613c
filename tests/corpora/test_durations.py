"""Spans of time, read and told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.base.numbers import duration, read_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0), ("90s", 90.0), ("2m", 120.0), ("2min", 120.0), ("1.5h", 5400.0),
        ("1d", 86400.0),
        (" 5 M ", 300.0), ("0", 0.0), (".5s", 0.5), (7, 7.0), (2.5, 2.5),
    ],
)  # fmt: skip
def test_durations_are_read(text: str | float, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "-1", "2x", "1h30", "inf", "nan", "1e3", "1_0", "soon", "9" * 30, "٣"]
)
def test_what_is_no_duration_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match="is not a duration; write seconds, or a number with s, m"):
        read_duration(text, "--patience")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s"), (0.4, "0 s"), (1, "1 s"), (45.6, "46 s"), (59.6, "1 min"), (90, "90 s"),
        (120, "2 min"), (125, "2 min 5 s"), (3600, "1 h"), (3900, "1 h 5 min"), (90_000, "25 h"),
    ],
)  # fmt: skip
def test_durations_are_told_in_short(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@given(st.floats(0, 1e7))
def test_what_is_told_is_never_far_off(seconds: float) -> None:
    parts = duration(seconds).split()
    units = {"s": 1, "min": 60, "h": 3600}
    told = sum(
        int(number) * units[unit] for number, unit in zip(parts[::2], parts[1::2], strict=True)
    )
    assert abs(told - seconds) <= (0.5 if seconds < 3599 else 61)
