"""Expressions as texts: what is read, what is refused and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.conditions.documents import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Atom,
    ExpressionError,
    all_of,
    any_of,
    names,
    parse_expression,
)

A, B, C = Atom("a"), Atom("b"), Atom("c")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("a", A),
        (" ((a)) ", A),
        ("a AND b", AllOf((A, B))),
        ("a OR b AND c", AnyOf((A, AllOf((B, C))))),
        ("(a OR b) AND c", AllOf((AnyOf((A, B)), C))),
        ("a and(b or c)", AllOf((A, AnyOf((B, C))))),
        ("a AND (b AND c)", AllOf((A, B, C))),
        ("android OR\tORCHID\nOR a", AnyOf((Atom("android"), Atom("ORCHID"), A))),
        ("c4a AND c_4", AllOf((Atom("c4a"), Atom("c_4")))),
    ],
)
def test_a_text_is_read(text, expression):
    assert parse_expression(text) == expression


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a condition or (, found the end"),
        ("a AND", "column 6: expected a condition or (, found the end"),
        ("a b", "column 3: expected AND, OR or the end, found 'b'"),
        ("(a OR b", "column 8: expected AND, OR or ), found the end"),
        ("a)", "column 2: expected AND, OR or the end, found ')'"),
        ("a AND OR b", "column 7: expected a condition or (, found 'OR'"),
        ("a & b", "column 3: '& b' is not a condition"),
        ("4a", "column 1: '4a' is not a condition"),
        ("NOT a", "column 5: expected AND, OR or the end, found 'a'"),
        ("a" * 51, f"column 1: '{'a' * 20}' is not a condition"),
        ("a " * MAX_CHARACTERS, f"is longer than {MAX_CHARACTERS:,} characters"),
        ("(" * 9_999, f"nests brackets more than {MAX_DEPTH} deep"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_place(text, message):
    with pytest.raises(ExpressionError) as refused:
        parse_expression(text)
    assert str(refused.value) == message


def expressions():
    atoms = st.sampled_from("abcdef").map(Atom)
    return st.recursive(
        atoms,
        lambda inner: st.builds(
            lambda join, parts: join(*parts),
            st.sampled_from([all_of, any_of]),
            st.lists(inner, min_size=2, max_size=4),
        ),
    )


@pytest.mark.slow
@given(expressions())
def test_what_is_written_is_read_back(expression):
    assert parse_expression(str(expression)) == expression


def test_names_come_in_the_expressions_order():
    assert list(names(parse_expression("b AND (a OR b)"))) == ["b", "a", "b"]


@given(st.text(max_size=60) | st.text("()ab ANDOR", max_size=60))
def test_any_text_is_read_or_refused_in_one_line(text):
    said = ""
    try:
        parse_expression(text)
    except ExpressionError as error:
        said = str(error)
    assert "\n" not in said
