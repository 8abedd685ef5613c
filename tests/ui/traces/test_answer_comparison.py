"""The answers of two traces beside each other."""

from branchwise.ui.traces.comparison import compare_answers, only
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.trace import AnswerLine, AnswerVerdict, BranchLines, Trace


def lines(*given: tuple[str, AnswerVerdict]) -> tuple[AnswerLine, ...]:
    return tuple(AnswerLine(text, verdict) for text, verdict in given)


def made(*branches: BranchLines) -> Trace:
    return Trace(ItemLine(0, "q", 0, "?", True, "done"), (), (), branches)


A = made(
    BranchLines("1995", ("Heat (1995)",), lines(("Mann", "right"), ("Bay", "missing")),
                lines(("Mann", "right"), ("Scott", "wrong"), ("Nolan", "wrong"))),
    BranchLines(None, ("Heat II",), (), lines(("Mann", "wrong"))),
)  # fmt: skip
B = made(
    BranchLines("1995", ("1995 film",), lines(("Mann", "right"), ("Bay", "right")),
                lines(("Mann", "right"), ("Bay", "right"), ("nolan", "wrong"))),
    BranchLines(None, ("The Heat",), (), lines(("Lee", "wrong"))),
)  # fmt: skip


def test_gold_answers_stand_with_both_verdicts_then_what_stands_for_none() -> None:
    branch, *alone = pairs = compare_answers(A, B)
    assert (branch.name, branch.keys) == ("1995", (("Heat (1995)",), ("1995 film",)))
    assert [(p.text, p.a and p.a.verdict, p.b and p.b.verdict) for p in branch.answers] == [
        ("Mann", "right", "right"),
        ("Bay", "missing", "right"),
        ("Scott", "wrong", None),
        ("Nolan", "wrong", "wrong"),
    ]
    assert [(pair.name, pair.keys) for pair in alone] == [
        (None, (("Heat II",), ())),
        (None, ((), ("The Heat",))),
    ]
    assert [answer.text for answer in only(pairs, 0)] == ["Scott", "Mann"]
    assert [answer.text for answer in only(pairs, 1)] == ["Bay", "Lee"]


def test_a_gold_answer_under_a_wrong_branch_is_not_had_there() -> None:
    moved = made(BranchLines("1995", (), lines(("Mann", "wrong_branch")), ()))
    right = made(BranchLines("1995", (), lines(("Mann", "right")), ()))
    pairs = compare_answers(moved, right)
    assert [only(pairs, side) for side in (0, 1)] == [[], list(pairs[0].answers)]


def test_no_predicted_branch_hides_another_of_the_same_key() -> None:
    twice = [BranchLines(None, (key,), (), lines((key, "wrong"))) for key in ("Heat!", "heat")]
    pairs = compare_answers(made(*twice), made(twice[1]))
    assert [pair.keys for pair in pairs] == [(("Heat!",), ("heat",)), (("heat",), ())]


def test_where_nobody_decided_only_what_was_given_is_compared() -> None:
    def sentences(*given: str) -> Trace:
        predicted = lines(*((text, "open") for text in given))
        return made(
            BranchLines("in 1995", ("in 1995",), lines(("It was Mann.", "open")), predicted)
        )

    pairs = compare_answers(sentences("Mann did.", "Bay did."), sentences("mann did"))
    assert [(p.text, p.has(0), p.has(1)) for p in pairs[0].answers] == [
        ("Mann did.", True, True),
        ("Bay did.", True, False),
    ]


def test_a_trace_without_answers_so_far_has_none() -> None:
    open_trace = made(BranchLines("1995", (), lines(("Mann", "open"), ("Bay", "open")), ()))
    pairs = compare_answers(A, open_trace)
    assert [answer.text for answer in only(pairs, 0)] == ["Mann", "Scott", "Nolan", "Mann"]
    assert only(pairs, 1) == []
