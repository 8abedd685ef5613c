"""Schemas: what is left out of a part, and what is refused in the whole."""

import pytest

from branchwise.base.errors import InputError
from branchwise.kg.schema import Domain, check_schema, load_domain, merge

FILM = {"class": "Q11424", "noun": "film", "plural": "films", "share": 1, "years": (1950, 2020)}
PERSON = {"class": "Q5", "noun": "person", "plural": "people", "name": "person"}
ACTOR = {"is": "person", "occupation": "Q33999", "noun": "actor", "plural": "actors"}
CAST = {"property": "P161", "label": "cast member", "subject": "film", "object": "actor"}
ITEMS = {"class": {"Q11424": "film", "Q5": "human"}, "occupation": {"Q33999": "actor"}}


def schema(film=None, actor=None, cast=None, items=ITEMS):
    domain = Domain.model_validate(
        {
            "types": {
                "film": FILM | (film or {}),
                "person": PERSON,
                "actor": ACTOR | (actor or {}),
            },
            "relations": {"cast": CAST | (cast or {})},
            "items": items,
        }
    )
    return merge({"test": domain}, keep=True)


def test_a_type_has_what_its_parent_has():
    made = schema()
    assert made.resolved("actor").class_id == "Q5"
    assert made.resolved("actor").name == "person"
    assert made.concrete == ("film", "actor")
    assert made.is_a("actor", "person")
    assert not made.is_a("person", "actor")


def test_a_whole_schema_passes():
    check_schema(schema())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cast": {"object": ["actor", "directr"]}}, "relation 'cast': unknown type 'directr'"),
        ({"cast": {"subject": "flim"}}, "relation 'cast': unknown type 'flim'"),
        ({"cast": {"chance": {"flim": 3}}}, "relation 'cast': unknown type 'flim'"),
        ({"cast": {"via": ["born"]}}, "relation 'cast': unknown relation 'born'"),
        ({"cast": {"count": [3, 1]}}, r"its count \[3, 1\] runs backwards"),
        ({"cast": {"count": [0, 3]}}, "its count begins below 1"),
        ({"cast": {"era": [9, 1]}}, r"its era \[9, 1\] runs backwards"),
        ({"cast": {"chance": 250}}, "its chance is not a percentage"),
        ({"cast": {"object": [], "items": "gnre"}}, "unknown list of items 'gnre'"),
        ({"actor": {"second": {"singr": 3}}}, "type 'actor': unknown type 'singr'"),
        ({"actor": {"is": "persn"}}, "type 'actor': unknown type 'persn'"),
        ({"film": {"years": [2000, 1990]}}, r"its years \[2000, 1990\] run backwards"),
        ({"film": {"class": ""}}, "type 'film': has no class"),
        ({"film": {"class": "Q99"}}, "unknown item of `class` 'Q99'"),
        ({"items": ITEMS | {"occupation": {}}}, "unknown item of `occupation` 'Q33999'"),
    ],
)
def test_a_slip_in_a_schema_is_refused(changes, says):
    with pytest.raises(InputError, match=says):
        check_schema(schema(**changes))


def test_a_part_leaves_out_what_refers_to_the_rest():
    films = Domain.model_validate({"types": {"film": FILM}, "relations": {"cast": CAST}})
    assert merge({"films": films}).relations == {}


def test_one_name_is_declared_once():
    films = Domain.model_validate({"types": {"film": FILM}})
    with pytest.raises(InputError, match="more: 'film' is declared twice"):
        merge({"films": films, "more": films})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("types: [", "is not YAML"),
        ("types: {film: {noun: film}}", r"types\.film\.plural: Field required"),
        ("kinds: {}", "kinds: Extra inputs are not permitted"),
        ("relations: {x: {property: P1, label: x, subject: a}}", "exactly one of object, items"),
    ],
)
def test_a_file_that_is_no_schema_is_one_line(tmp_path, text, says):
    (tmp_path / "d.yaml").write_text(text)
    with pytest.raises(InputError, match=says):
        load_domain(tmp_path / "d.yaml")
