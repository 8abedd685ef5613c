"""What a file calls its fields, and the options that say it."""

import pytest

from branchwise.commands.options import spread_fields
from branchwise.corpora.errors import InputError
from branchwise.corpora.rows import Row
from branchwise.corpora.rows.fields import FieldNames

KNOWN = ("id", "title", "text")


def test_named_fields_get_our_names_and_the_others_keep_theirs() -> None:
    names = FieldNames.parse(["text=body", "title=doc.name"], KNOWN)
    row = Row("f:1", {"body": "b", "text": "other", "doc": {"name": "n", "x": 1}, "z": 2})
    names.check(row)
    assert names.read(row) == {"text": "b", "title": "n", "doc": {"name": "n", "x": 1}, "z": 2}
    assert names.wanted(KNOWN) == {"id", "body", "doc", "doc.name"}


def test_a_name_with_a_dot_comes_before_a_path() -> None:
    names = FieldNames.parse(["text=a.b"], KNOWN)
    assert names.read(Row("f:1", {"a.b": 1, "a": {"b": 2}}))["text"] == 1


def test_a_path_through_a_list_takes_the_value_of_each() -> None:
    names = FieldNames.parse(["text=answers.text"], KNOWN)
    listed = Row("f:1", {"answers": [{"text": "a"}, {"other": 1}, {"text": ["b"]}]})
    assert names.read(listed)["text"] == ["a", ["b"]]
    assert names.read(Row("f:1", {"answers": {"text": ["a", "b"]}}))["text"] == ["a", "b"]


def test_a_row_that_lacks_a_named_field_has_none_under_our_name() -> None:
    assert FieldNames.parse(["text=body"], KNOWN).read(Row("f:1", {"text": "x"})) == {}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["text"], "--field text: is not OURS=THEIRS"),
        (["text="], "--field text=: is not OURS=THEIRS"),
        (["txt=body"], "--field txt=body: there is no field 'txt'; did you mean text?"),
        (["text=a", "text=b"], "--field text=b: 'text' is given twice"),
    ],
)
def test_what_names_no_field_is_refused(given: list[str], line: str) -> None:
    with pytest.raises(InputError) as caught:
        FieldNames.parse(given, KNOWN)
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize(
    ("named", "remedy"),
    [
        ("text=bdy", "did you mean --field text=body?"),
        ("text=name", "did you mean --field text=doc.name?"),
        ("text=quux", "its fields are body, doc, doc.name"),
    ],
)
def test_a_field_that_is_not_there_is_refused_with_those_that_are(named: str, remedy: str) -> None:
    row = Row("f:1", {"body": "b", "doc": {"name": "n"}})
    with pytest.raises(InputError) as caught:
        FieldNames.parse([named], KNOWN).check(row)
    assert str(caught.value) == f"f:1: has no field {named.partition('=')[2]!r}; {remedy}"


def test_an_option_takes_several_names() -> None:
    once = ["x", "--field", "a=b", "c_d=e", "--out", "f=g", "--field=h=i", "j=k", "l"]
    assert spread_fields(once) == [
        *("x", "--field", "a=b", "--field", "c_d=e", "--out", "f=g"),
        *("--field=h=i", "--field", "j=k", "l"),
    ]
