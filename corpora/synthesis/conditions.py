"""Whether a value meets a filter's condition."""

from branchwise.corpora.synthesis.plans import Amount, Condition, Years


def meets(condition: Condition, value: str) -> bool:
    """Whether one value does; bounds belong to what they bound.

    A date has the year that its text begins with, which may be before Christ ("-0044-03-15").
    """
    if isinstance(condition, Years):
        return _between(condition.first, year(value), condition.last)
    if isinstance(condition, Amount):
        return _between(condition.least, float(value), condition.most)
    return value == condition.value


def year(date: str) -> int:
    """The year of a date or of the part of it that is known."""
    sign, digits = (-1, date[1:]) if date.startswith("-") else (1, date)
    return sign * int(digits.partition("-")[0])


def _between(least: float | None, value: float, most: float | None) -> bool:
    return (least is None or least <= value) and (most is None or value <= most)
