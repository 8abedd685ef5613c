"""What may not run does not run, and nothing connects to anywhere."""

import re
from pathlib import Path

import pytest
import yaml

from branchwise.kg.answers import MAX_QUERY_BYTES, KgError
from branchwise.kg.sparql.prepare import prepare
from branchwise.kg.sparql.refusals import MAX_DEPTH
from support.kg.string_attacks import Listener, one_triple, run_prepared

CASES: list[dict[str, str]] = yaml.safe_load(
    Path(__file__).with_name("hostile_queries.yaml").read_text()
)


def written_out(query: str, port: int = 9) -> str:
    """The query of a case: REPEAT(x) is x a hundred times."""
    query = re.sub(r"REPEAT\((.+?)\)(?!\))", lambda match: match[1] * 100, query)
    return query.replace("PORT", str(port))


def outcome(query: str) -> tuple[str, str]:
    try:
        prepare(query)
    except KgError as error:
        return error.kind, str(error)
    return "ok", ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
def test_hostile_and_broken_queries(case: dict[str, str]) -> None:
    kind, message = outcome(written_out(case["query"]))
    assert kind == case["outcome"], message
    assert case.get("says", "") in message
    assert "127.0.0.1" not in message.split("\n")[0]


def test_what_may_run_connects_to_nothing() -> None:
    store = one_triple()
    with Listener() as listener:
        port = int(listener.address.rpartition(":")[2].strip("/"))
        ran = [run_prepared(store, written_out(case["query"], port)) for case in CASES]
        assert sum(ran) == len([case for case in CASES if case["outcome"] == "ok"])
        assert listener.seen == 0


def test_a_query_that_is_too_long_is_refused() -> None:
    query = "SELECT * { ?s ?p ?o } #"
    assert outcome(query + "x" * (MAX_QUERY_BYTES - len(query)))[0] == "ok"
    kind, message = outcome(query + "é" * (MAX_QUERY_BYTES // 2))
    assert (kind, "16384 bytes" in message) == ("refused", True)


@pytest.mark.parametrize("opening", ["{ ", "{ OPTIONAL "])
def test_the_deepest_query_that_may_run_runs(opening: str) -> None:
    for deep, kind in ((MAX_DEPTH, "ok"), (MAX_DEPTH + 1, "resources")):
        query = "SELECT * " + opening * (deep - 1) + "{ ?s ?p ?o }" + " }" * (deep - 1)
        assert outcome(query)[0] == kind


def test_recursion_of_the_parser_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(text: str) -> None:
        raise RecursionError

    monkeypatch.setattr("rdflib.plugins.sparql.parser.parseQuery", too_deep)
    assert outcome("SELECT * { ?s ?p ?o }")[0] == "resources"
