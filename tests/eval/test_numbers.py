"""Numbers and money as every output prints them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.numbers import (
    as_text,
    count,
    interval,
    number,
    p_value,
    percent,
    rounded,
    short_count,
    signed,
    times,
    usd,
)


def test_numbers_are_printed_as_papers_print_them():
    assert [number(v) for v in (0.5, -0.5, 1.0, -1.25, 0.0, 0.999, 12.3)] == [
        ".50", "-.50", "1.00", "-1.25", ".00", "1.00", "12.30",
    ]  # fmt: skip
    assert [signed(v) for v in (0.5, -0.5, 0.0, 0.001, -0.0)] == [
        "+.50", "-.50", "±.00", ".00", "±.00",
    ]  # fmt: skip
    assert signed(0.0834, 3) == "+.083"
    assert number(3.4, 0) == "3"
    assert [p_value(p) for p in (0.0001, 0.001, 0.0342, 0.5, 0.9996, 1.0)] == [
        "p < .001", "p = .001", "p = .034", "p = .500", "p > .999", "p = 1",
    ]  # fmt: skip


def test_zero_has_no_sign() -> None:
    assert [number(v) for v in (-0.001, 0.005, -0.4)] == [".00", ".01", "-.40"]
    assert (signed(-0.001), interval(-0.0049, 0.18)) == (".00", "[.00, .18]")
    assert number(None) == "–"


def test_halves_are_rounded_away_from_zero_in_every_form() -> None:
    # Of these floats .475, .575 and .285 lie below the decimal, the difference above it.
    values = (0.475, 0.575, 0.375, 0.285, 0.025, 0.475 - 0.5, -0.025)
    assert [number(v) for v in values] == [".48", ".58", ".38", ".29", ".03", "-.03", "-.03"]
    assert [percent(*of) for of in ((19, 40), (23, 40), (1, 40))] == ["48%", "58%", "3%"]
    assert (count(7.25), usd(0.00125), times(12.25)) == ("7.3", ".0013", "×12.3")
    assert (short_count(12_250), p_value(0.0125)) == ("12.3k", "p = .013")


@given(st.integers(-(10**6), 10**6), st.integers(1, 2000), st.integers(0, 4))
def test_a_quotient_is_rounded_as_its_exact_value(part: int, whole: int, digits: int) -> None:
    scaled = abs(Fraction(part, whole)) * 10**digits
    assert rounded(abs(part) / whole, digits).replace(".", "").lstrip("0") == str(
        (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    ).lstrip("0")
    assert rounded(part / whole, digits).lstrip("-") == rounded(abs(part) / whole, digits)


def test_an_interval_has_both_ends_or_is_nothing() -> None:
    assert interval(0.03, 1.0) == "[.03, 1.00]"
    assert interval(-0.1, 0.0321, 3) == "[-.100, .032]"
    assert interval(None, 0.1) == interval(0.1, None) == ""


def test_shares_are_whole_per_cents() -> None:
    found = [percent(*pair) for pair in ((1, 3), (1, 1000), (0, 5), (0, 0))]
    assert found == ["33%", "<1%", "0%", "–"]


def test_multiples_have_three_digits_or_one_after_the_point() -> None:
    assert [times(v) for v in (1, 2.104, 9.999, 123.44, None)] == [
        "×1.00", "×2.10", "×10.0", "×123.4", "–",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0004, "p", "<.001"),
        (0.5, "p", ".500"),
        (-0.034, "change", "-.03"),
        (0.0, "change", "±.00"),
        (1_234_567, "tokens", "1,234,567"),
        (0.0174, "seconds", ".02"),
        (0.0035, "usd", ".0035"),
        (0.714, "share", ".71"),
        (None, "usd", "–"),
    ],
)
def test_a_unit_says_how_its_numbers_are_printed(value, unit, shown):
    assert as_text(value, unit) == shown


@given(st.floats(0, 1e15, allow_subnormal=False))
def test_a_count_is_short_only_where_it_is_long(value: float) -> None:
    assert len(short_count(value)) <= 6
    assert value >= 9999.5 or short_count(value) == count(value)


@given(st.floats(1e-6, 1e9))
def test_money_is_shown_to_two_digits_at_least(value: float) -> None:
    assert float(usd(value).replace(",", "")) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (0, "0"), (7.26, "7.3"), (9999, "9,999"), (10_000, "10.0k"), (99_960, "100k"),
        (999_600, "1.00M"), (1_234_567, "1.23M"),
    ],
)  # fmt: skip
def test_counts_have_three_digits_or_are_whole(value: float | None, shown: str) -> None:
    assert short_count(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (0, "0"), (9e-7, "<.000001"), (1e-6, ".0000010"), (0.0000996, ".00010"),
        (0.000996, ".0010"), (0.5, ".5000"), (0.99996, "1.00"), (1234.5, "1,234.50"),
        (12_345.6, "12,346"),
    ],
)  # fmt: skip
def test_money_that_was_spent_is_never_shown_as_0(value: float | None, shown: str) -> None:
    assert usd(value) == shown
