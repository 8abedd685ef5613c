"""Strings: written so that all parsers read them alike, and nothing hides in them."""

import random

import pyoxigraph
import pytest

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.prepare import prepare
from support.kg.string_attacks import Listener, attack, one_triple, run, run_prepared

STORE = one_triple()
HIDING = 'SELECT * { VALUES ?x { """a" } { SERVICE <URL> { ?s ?p ?o } #\\d"""\n } }'


def values(*strings: str) -> list[str]:
    """What strings of a query say, by their SPARQL text, after preparing."""
    solutions = STORE.query(prepare(f"SELECT * {{ VALUES ?x {{ {''.join(strings)} }} }}").text)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    return [solution["x"].value for solution in solutions]


@pytest.mark.parametrize(
    ("written", "sent", "value"),
    [
        ('"a"', '"a"', "a"),
        ("'a'", '"a"', "a"),
        ("''", '""', ""),
        ("''''''", '""', ""),
        ('"""a"""', '"a"', "a"),
        ("'''it's \"so\"'''", '"it\'s \\"so\\""', 'it\'s "so"'),
        ('"""two\nlines\r"""', '"two\\nlines\\r"', "two\nlines\r"),
        ("'\\'\\\"\\\\\\t'", '"\'\\"\\\\\\t"', "'\"\\\t"),
        ("'''\\''''", '"\'"', "'"),
        ("'\\\\'", '"\\\\"', "\\"),
        ("'\\u00e9'", '"é"', "é"),
        ("'\\\\Users'", '"\\\\Users"', "\\Users"),
    ],
)
def test_a_string_is_sent_in_one_form(written: str, sent: str, value: str) -> None:
    prepared = prepare(f"SELECT * {{ ?s ?p {written} }}")
    assert prepared.text == f"SELECT * {{ ?s ?p {sent} }}"
    assert prepared.patterns == (f"?s ?p {sent}",)
    assert values(written) == [value]


def test_strings_side_by_side_stay_apart() -> None:
    assert values("''", '"a"', "'b'", '""', "'''c'''", '""') == ["", "a", "b", "", "c", ""]


def test_strings_that_are_copied_are_written_so_too() -> None:
    query = (
        "SELECT ?s (GROUP_CONCAT(?o; SEPARATOR='''; ''') AS ?all) ?sAltLabel "
        "{ ?s ?p ?o FILTER(?o != 'x') } GROUP BY ?s ?sAltLabel HAVING (?all != '')"
    )
    text = prepare(query).text
    assert text.count('SEPARATOR="; "') == 2
    assert text.count('!= "x"') == 2
    assert "'" not in text


@pytest.mark.parametrize("expression", ["\\d+", "^\\w", "a\\.b", "a\\\nb", "\\x41"])
def test_an_escape_of_regular_expressions_is_explained(expression: str) -> None:
    line = f'  FILTER(REGEX(?o, """{expression}"""))'
    with pytest.raises(KgError) as error:
        prepare(f"SELECT * {{ ?s ?p ?o\n{line} }}")
    assert error.value.kind == "syntax"
    assert f"line 2, column {line.index(chr(92)) + 1}: write a backslash twice" in str(error.value)


def test_the_escape_to_write_is_shown() -> None:
    with pytest.raises(KgError, match=r"write a backslash twice in a string: \\\\d\n"):
        prepare('ASK { ?s ?p ?o FILTER(REGEX(?o, "\\d+")) }')
    assert prepare('ASK { ?s ?p ?o FILTER(REGEX(?o, "\\\\d+")) }').text.count("\\\\d+") == 1


@pytest.mark.parametrize("text", ["\ud800", 'ASK { ?s ?p "\udfff" }', "ASK { } # \ud83d"])
def test_half_a_character_is_an_error(text: str) -> None:
    with pytest.raises(KgError) as error:
        prepare(text)
    assert error.value.kind == "syntax"
    str(error.value).encode()


def test_what_is_hidden_in_a_string_would_be_asked_without_preparing() -> None:
    with Listener() as listener:
        run(STORE, HIDING.replace("URL", listener.address))
        assert listener.seen == 1
        assert not run_prepared(STORE, HIDING.replace("URL", listener.address))
        assert listener.seen == 1


@pytest.mark.slow
def test_no_attack_that_is_prepared_asks_anyone() -> None:
    rng = random.Random(7)
    with Listener() as listener:
        ran = sum(run_prepared(STORE, attack(rng, listener.address)) for _ in range(100))
        assert listener.seen == 0
    assert ran >= 5


def test_a_clause_that_only_oxigraph_sees_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if our own reading missed an escape: Oxigraph is asked how it reads the words."""
    module = "branchwise.kg.sparql"
    monkeypatch.setattr(f"{module}.prepare.check_escapes", lambda text, tokens: None)
    monkeypatch.setattr(f"{module}.prepare.write_plainly", lambda edits, tokens: None)
    monkeypatch.setattr(f"{module}.refusals.all_plain", lambda tokens: True)
    for clause in ("SERVICE <URL>", "SERVICE SILENT <URL>", "GRAPH <urn:g>"):
        with pytest.raises(KgError, match="in two ways"):
            prepare(HIDING.replace("SERVICE <URL>", clause).replace("URL", "http://127.0.0.1:9/"))
