import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.common_text import text_f1


def test_shared_tokens_over_all_tokens_by_hand() -> None:
    # Tokens: spain won in 2010 (4) and spain won world cup in 2010 (6); 4 shared.
    assert text_f1("Spain won in 2010.", "Spain won the World Cup in 2010") == 2 * 4 / 10


def test_repeated_tokens_count_as_often_as_both_have_them() -> None:
    assert text_f1("tora tora tora", "tora tora") == 2 * 2 / 5


@pytest.mark.parametrize(("one", "other"), [("", "a word"), ("a word", ""), ("", "")])
def test_a_text_without_tokens_shares_nothing(one: str, other: str) -> None:
    assert text_f1(one, other) == 0


def test_scripts_without_spaces_share_characters() -> None:
    assert text_f1("北京大学", "北京") == pytest.approx(2 * 2 / 6)


@given(st.text(), st.text())
def test_is_symmetric_and_one_only_for_the_same_tokens(one: str, other: str) -> None:
    assert text_f1(one, other) == text_f1(other, one)
    assert 0 <= text_f1(one, other) <= 1
    assert text_f1(one, one) == (1 if text_f1(one, one) else 0)
