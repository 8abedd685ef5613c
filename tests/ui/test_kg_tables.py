"""How rows of a graph are laid out, and how advice to models reads to people."""

from io import StringIO

import pytest
from rich.console import Console

from branchwise.base.text import counted
from branchwise.kg.answers import QueryResult, Term
from branchwise.report.terminal.kg_tables import (
    columns_as_mentioned,
    for_people,
    one_by_one,
    size,
    table_within,
)

HEADINGS = ("film", "what it is", "n")
ROWS = [
    ("wd:Q2000000665", "a film of Three Lanterns on the Shore", "1,234"),
    ("wd:Q7", "song", "5"),
]


def printed(width: int) -> list[str] | None:
    table = table_within(HEADINGS, ROWS, width)
    if table is None:
        return None
    screen = Console(file=StringIO(), width=width)
    screen.print(table)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def test_numbers_stand_at_the_right():
    assert printed(80) == [
        "film             what it is                                  n",
        "─" * 62,
        "wd:Q2000000665   a film of Three Lanterns on the Shore   1,234",
        "wd:Q7            song                                        5",
    ]


def test_text_is_wrapped_between_words_before_a_table_is_given_up():
    assert printed(50) == [
        "film             what it is                      n",
        "─" * 50,
        "wd:Q2000000665   a film of Three Lanterns    1,234",
        "                 on the Shore",
        "wd:Q7            song                            5",
    ]
    assert printed(48) is None


def test_rows_by_themselves_break_no_word():
    assert list(one_by_one(HEADINGS, ROWS, 40)) == [
        "film        wd:Q2000000665",
        "what it is  a film of Three Lanterns on",
        "            the Shore",
        "n           1,234",
        "",
        "film        wd:Q7",
        "what it is  song",
        "n           5",
    ]
    iri = "http://example.org/" + "a-" * 40
    assert list(one_by_one(("x", "y"), [(iri, "")], 40)) == [f"x  {iri}", "y"]


def test_columns_of_a_star_are_ordered_and_those_that_are_named_are_not():
    answer = QueryResult(("a", "m", "zLabel", "z"), ((Term("1", "literal"), None, None, None),))
    star = "# ?m\nPREFIX a: <http://x?m>\nSELECT DISTINCT * { ?z a: ?a . ?m a: '?zLabel' }"
    ordered = columns_as_mentioned(answer, star)
    assert ordered.variables == ("z", "a", "m", "zLabel")
    assert ordered.rows == ((None, Term("1", "literal"), None, None),)
    for other in ("SELECT ?a ?m ?zLabel ?z { ?z ?m ?a }", "SELECT (COUNT(*) AS ?a) { ?z ?m ?a }"):
        assert columns_as_mentioned(answer, other) == answer
    inner = "SELECT ?a ?m { { SELECT * { ?m ?z ?a } } }"
    assert columns_as_mentioned(answer, inner) == answer


@pytest.mark.parametrize(
    ("said", "reads"),
    [
        (
            'Look it up with wikidata_search(kind="property").',
            "Look it up with `branchwise kg search 'my W' \"...\" --kind property`.",
        ),
        (
            "to find an entity by name call wikidata_search, and",
            "to find an entity by name use `branchwise kg search 'my W' \"...\"`, and",
        ),
        ("nothing to do with it", "nothing to do with it"),
    ],
)
def test_advice_is_for_people(said, reads):
    assert for_people(said, "my W") == reads


def test_counts_and_sizes_read_well():
    assert [counted(n, "name") for n in (0, 1, 1200)] == ["0 names", "1 name", "1,200 names"]
    assert counted(2, "entity", "entities") == "2 entities"
    sizes = (1, 1023, 1024, 1536, 5 * 2**20, 3 * 2**30, 2**51)
    assert [size(n) for n in sizes] == [
        "1 byte", "1,023 bytes", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 GiB", "2,048.0 TiB"
    ]  # fmt: skip
