"""What a file calls its fields, and the options that say it."""

from branchwise.commands.options import spread_fields
from branchwise.corpora.rows import FieldNames

KNOWN = ("id", "title", "text")


def test_named_fields_are_told_from_the_rest() -> None:
    names = FieldNames.of(["text=body", "title=doc.name", "id=ids.1"], KNOWN)
    row = {"body": "b", "text": "other", "doc": {"name": "n", "x": 1}, "ids": ["i", "j"]}
    assert names.missing(row) is None
    found, rest = names.split(row)
    assert found == {"text": "b", "title": "n", "id": "j"}
    assert rest == {"text": "other", "doc": {"x": 1}, "ids": ["i", "j"]}


def test_a_name_with_a_dot_comes_before_a_path() -> None:
    names = FieldNames.of({"text": "a.b"}, KNOWN)
    assert names.split({"a.b": 1, "a": {"b": 2}}) == ({"text": 1}, {"a": {"b": 2}})


def test_a_row_that_lacks_a_column_has_no_such_field() -> None:
    names = FieldNames.of(["text=body"], KNOWN)
    assert names.missing({"text": "x"}) == ("text", "body")
    assert names.split({"text": "x"}) == ({}, {"text": "x"})


def test_an_option_takes_several_names() -> None:
    once = ["x", "--field", "a=b", "c_d=e", "--out", "f=g", "--field=h=i", "j=k", "l"]
    assert spread_fields(once) == [
        *("x", "--field", "a=b", "--field", "c_d=e", "--out", "f=g"),
        *("--field=h=i", "--field", "j=k", "l"),
    ]
