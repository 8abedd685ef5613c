"""A difference in words."""

from branchwise.eval.comparison import ScoreDifference, summary_line
from branchwise.eval.paired_tests import LeftOutQuestions


def difference(**changes) -> ScoreDifference:
    known = {
        "metric": "strict_recall", "subset": "ambiguous", "n": 120, "base": 0.4, "other": 0.48,
        "difference": 0.08, "low": 0.03, "high": 0.13, "higher": 30, "lower": 12, "same": 78,
        "test": "permutation", "p": 0.002, "left_out": LeftOutQuestions(), "p_holm": 0.004,
        "family": 2,
    }  # fmt: skip
    return ScoreDifference(**known | changes)


def test_effect_and_interval_come_first_and_p_last():
    line = "recall on ambiguous questions +.08 [.03, .13] (p = .004 after Holm, n = 120)"
    assert summary_line(difference(), name="recall") == line
    assert summary_line(difference()).startswith("strict recall on ambiguous questions +.08")
    assert "(p = .002, n = 120)" in summary_line(difference(p_holm=None, family=1))
    assert "(p = .002, n = 120)" in summary_line(difference(p_holm=0.002, family=1))
    assert "strict EM on all questions" in summary_line(
        difference(metric="strict_em", subset="all")
    )


def test_a_loss_has_its_sign_and_what_is_left_out_is_said():
    line = summary_line(
        difference(
            difference=-0.004, low=-0.02, high=0.012, left_out=LeftOutQuestions(unscored_both=3)
        )
    )
    assert "-.00 [-.02, .01]" in line
    assert line.endswith("n = 120; left out: 3 unscored in both)")


def test_what_could_not_be_compared_is_said():
    nothing = difference(
        n=0, difference=None, low=None, high=None, p=None, left_out=LeftOutQuestions(only_base=9)
    )
    assert summary_line(nothing) == (
        "strict recall on ambiguous questions: nothing to compare "
        "(n = 0; left out: 9 only in the base)"
    )
    one = difference(n=1, difference=1.0, low=None, high=None, p=None)
    assert summary_line(one).endswith("questions +1.00 (no interval, no test, n = 1)")
