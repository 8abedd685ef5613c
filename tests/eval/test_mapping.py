"""Reading what a judging model says."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.prediction import FormatError
from branchwise.eval.judging.mapping import MAX_SHOWN, MappingRequest, listed, read_mapping, shown

REQUEST = MappingRequest("", ("early", "late"), ("Heat (1986)", "Heat (1995)"), "n", "r")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"n1": "r2", "n2": null}', (1, None)),
        ('{"n2": "r1", "n1": "r1"}', (0, 0)),
        ('  {"N1": "R2",\n "n2": " r1 "}\n', (1, 0)),
        ('```json\n{"n1": "r1", "n2": "r2"}\n```', (0, 1)),
        ('```\n{"n1": "r1", "n2": "r2"}\n```', (0, 1)),
        ('<think>r1 {"n1": "r2"}?</think>{"n1": "r1", "n2": "r2"}', (0, 1)),
        ('{"n1": "Heat (1995)", "late": "r1"}', (1, 0)),
        ('{"n1": "null", "n2": "NULL"}', (None, None)),
    ],
)
def test_mappings_are_read(reply, expected):
    assert read_mapping(reply, REQUEST) == expected


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "the reply is empty"),
        ("```\n```", "not one JSON object"),
        ('{"n1": "r1", "n2": "r2"} {"n1": "r2", "n2": "r2"}', "not one JSON object"),
        ('{"n1": "r1", "n2": "r2"', "not one JSON object"),
        ("[" * 90_000, "not one JSON object"),
        ('{"n1": ' + "9" * 5000 + "}", "not one JSON object"),
        ('{"n1": "r1", "n2": "' + "x" * 100_000 + '"}', "longer than 100000 characters"),
        ('{"n1": "r1"}', "there is no entry for n2"),
        ('{"n1": "r1", "n2": "r2", "n3": "r1"}', '"n3" is not one of n1 to n2'),
        ('{"n1": "r1", "n1": "r2", "n2": null}', "n1 has more than one entry"),
        ('{"n1": "r1", "early": "r1", "n2": null}', "n1 has more than one entry"),
        ('{"n1": "r3", "n2": null}', '"r3" is neither null nor one of r1 to r2'),
        ('{"n1": "Heat (2013)", "n2": null}', '"Heat (2013)" is neither'),
        ('{"n1": 2, "n2": null}', "a number is neither"),
        ('{"n1": {"r1": 1}, "n2": null}', "an object is neither"),
    ],
)
def test_what_is_no_mapping_is_refused_with_one_line(reply, problem):
    with pytest.raises(FormatError) as refused:
        read_mapping(reply, REQUEST)
    assert problem in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300


def test_an_id_that_is_also_a_name_is_the_id():
    request = MappingRequest("", ("n2", "x"), ("r2", "r1"), "n", "r")
    assert read_mapping('{"n1": "r1", "n2": "r2"}', request) == (0, 1)


def test_a_name_that_two_readings_are_shown_by_names_neither():
    request = MappingRequest("", ("x",), ("Heat", "Heat"), "n", "r")
    assert read_mapping('{"n1": "r2"}', request) == (1,)
    with pytest.raises(FormatError, match='"Heat" is neither'):
        read_mapping('{"n1": "Heat"}', request)


@pytest.mark.slow
@given(
    st.text()
    | st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(json.dumps)
    | st.dictionaries(
        st.sampled_from(["n1", "n2", "N1", "early", "n3"]),
        st.sampled_from(["r1", "R2", None, "r9"]),
    ).map(json.dumps)
)
def test_any_reply_is_a_whole_mapping_or_a_format_error(reply):
    refused = ""
    try:
        indices = read_mapping(reply, REQUEST)
    except FormatError as error:
        refused, indices = str(error), (None, None)
    assert refused.isprintable()
    assert len(indices) == 2
    assert set(indices) <= {0, 1, None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  King   Kong\n(1976 film) ", "King Kong (1976 film)"),
        ("a\r\nn2: r1\u2028n3: r1", "a n2: r1 n3: r1"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("\u202eneves\u202c \u200bx\ufeff", "neves x"),
        ("tag\U000e0041\ue000 \ud800.", "tag ."),
        ("日本 — São “Zoë”", "日本 — São “Zoë”"),
        ("\x00\u200b", ""),
    ],
)
def test_names_are_shown_on_one_printable_line(text, expected):
    assert shown(text) == expected


def test_a_long_name_keeps_both_ends():
    text = "Who directed " + "x" * 10_000 + " in 1976?"
    assert len(shown(text)) == MAX_SHOWN
    assert shown(text).startswith("Who directed xxx")
    assert shown(text).endswith("xxx in 1976?")
    assert shown("y" * MAX_SHOWN) == "y" * MAX_SHOWN


@given(st.text(st.characters(exclude_categories=()), max_size=400))
def test_whatever_is_shown_is_one_bounded_line(text):
    line = shown(text)
    assert len(line) <= MAX_SHOWN
    assert line.isprintable()
    assert not any(unicodedata.category(c).startswith("C") for c in line)
    assert len(listed("n", [line]).splitlines()) == 1
    assert shown(line) == line
