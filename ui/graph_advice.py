"""What a graph says to the model that asks it, said to a person."""

import dataclasses
import re
import shlex

from branchwise.corpora.graph.answers import QueryResult

_NO_MENTION = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|<[^<>\s]*>|#[^\n]*')
_EVERYTHING = re.compile(r"[^{]*?\bSELECT\s+(?:(?:DISTINCT|REDUCED)\s+)?\*", re.IGNORECASE)
_VARIABLE = re.compile(r"[?$](\w+)")


def for_people(text: str, source: str) -> str:
    """Advice to call a tool becomes advice to give a command. `source`: the graph asked."""
    command = f'branchwise kg search {shlex.quote(source)} "..."'
    text = text.replace('wikidata_search(kind="property")', f"`{command} --kind property`")
    text = text.replace("call wikidata_search", "use wikidata_search")
    return text.replace("wikidata_search", f"`{command}`")


def columns_as_mentioned(answer: QueryResult, sparql: str) -> QueryResult:
    """Columns of `SELECT *`, which SPARQL leaves in any order, as the query mentions them first."""
    query = _NO_MENTION.sub(" ", sparql)
    if _EVERYTHING.match(query) is None:
        return answer
    mentioned = list(dict.fromkeys(_VARIABLE.findall(query)))
    places = {name: place for place, name in enumerate(mentioned)}
    order = sorted(
        range(len(answer.variables)),
        key=lambda column: places.get(answer.variables[column], len(places)),
    )
    return dataclasses.replace(
        answer,
        variables=tuple(answer.variables[column] for column in order),
        rows=tuple(tuple(row[column] for column in order) for row in answer.rows),
    )
