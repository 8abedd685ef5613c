"""MDCR's folder as its authors publish it: a small one, and gold by the paper's text alone.

The paper asks whether the outcomes of some documents can be had: whether there is an assignment of
true and false to the conditions in play that (1) gives what the scenario says to those it mentions,
(2) keeps every relation between them (of conflicting ones not both are true, equivalent ones are
the same, where the subset of an inclusive pair is true the superset is) and (3) makes each
document's expression true. In play are the documents' conditions, and those that the scenario
mentions. Nothing here knows the product.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

Relation = tuple[str, str, str]
"""A label, and two conditions; `including`: the first is the superset."""

SMALL: dict[str, Any] = {
    "docs.json": [
        {"title": "Alder Grant", "contents": ["Either:", "a first degree,", "or a GED.", "Women."]},
        {"title": "Birch Award", "contents": ["A degree and a grade above 3.", "No pupils."]},
    ],
    "parsed.json": [
        {"title": "Alder Grant", "url": "", "conditions": {
            "c1": [0, 1], "c2": [0, 2], "c3": 3, "or_1": ["c1", "c2"],
            "all (and)": ["or_1", "c3"]}},
        {"title": "Birch Award", "url": "", "conditions": {
            "c1": "A degree", "c2": "a grade above 3", "c3": 1, "and_1": ["c1", "c2"],
            "all (and)": ["and_1", "c3"]}, "mapping": {"c1": 0, "c2": [0]}},
    ],
    "rels.json": {
        "0-1": {
            "c1-c1": {"rel": "included"},
            "c2-c1": {"rel": "conflicting"},
            "c3-c2": {"rel": "choose one"},
            "c3-c1": {"rel": "potentially conflicting"},
            "c3-c3": {},
        },
        "0-0": {"c1-c2": {"rel": "conflicting"}},
        "0-7": {"c1-c1": {"rel": "equivalent"}},
    },
    "qs.json": [
        {"doc_idxs": [0, 1], "given_conditions": ["doc0-c3"], "given_values": [True],
         "scenario": "I am a woman."},
        {"doc_idxs": [1], "given_conditions": ["doc0-c2", "doc1-c3"], "given_values": [True, True],
         "scenario": "I have a GED."},
    ],
}  # fmt: skip


def written(folder: Path, files: Mapping[str, Any] = SMALL) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text)
    return folder


def gold_of(folder: Path) -> Iterator[tuple[str | int, str | int, str | int]]:
    """Of each scenario: at least one, all, the maximum."""
    read = {name: json.loads((folder / name).read_text()) for name in SMALL}
    parsed, scenarios = read["parsed.json"], read["qs.json"]
    relations: list[Relation] = []
    for pair, labelled in read["rels.json"].items():
        one, other = pair.split("-")
        for names, entry in labelled.items():
            first, second = names.split("-")
            ends = f"doc{one}-{first}", f"doc{other}-{second}"
            relations.append((entry.get("rel", ""), *ends))
    for scenario in scenarios:
        said = dict(zip(scenario["given_conditions"], scenario["given_values"], strict=True))
        numbers = scenario["doc_idxs"]
        own = {
            f"doc{n}-{name}"
            for n in numbers
            for name in parsed[n]["conditions"]
            if name.startswith("c")
        }
        in_play = [one for one in relations if {one[1], one[2]} <= own | said.keys()]
        expressions = [(n, parsed[n]["conditions"]) for n in numbers]

        def can_have(
            chosen: Sequence[tuple[int, Any]],
            said: Mapping[str, bool] = said,
            in_play: Sequence[Relation] = in_play,
        ) -> bool:
            goals = [(number, groups, "all (and)") for number, groups in chosen]
            return _satisfiable(goals, dict(said), in_play)

        sizes = range(len(numbers), 0, -1)
        most = next((n for n in sizes if any(map(can_have, combinations(expressions, n)))), 0)
        any_of = any(can_have([one]) for one in expressions)
        yield "yes" if any_of else "no", "yes" if can_have(expressions) else "no", most


def _satisfiable(
    goals: list[tuple[int, Any, str]], values: dict[str, bool], relations: Sequence[Relation]
) -> bool:
    """Whether some assignment makes all goals (parts of documents' expressions) true. Alternatives
    are tried one by one; the conditions that no goal needs are then assigned by brute force, which
    is a search among those that a relation ties to a true one: all others may be false."""
    if not goals:
        return _completable(values, relations)
    (number, groups, name), *others = goals
    if name.startswith("c"):
        id = f"doc{number}-{name}"
        return values.get(id, True) and _satisfiable(others, {**values, id: True}, relations)
    parts = [(number, groups, part) for part in groups[name]]
    if name.startswith("or"):
        return any(_satisfiable([part, *others], values, relations) for part in parts)
    return _satisfiable([*parts, *others], values, relations)


def _completable(values: dict[str, bool], relations: Sequence[Relation]) -> bool:
    if any(_is_broken(relation, values) for relation in relations):
        return False
    for _, one, other in relations:
        for open, tied in ((one, other), (other, one)):
            if open not in values and tied in values:
                return any(
                    _completable({**values, open: value}, relations) for value in (False, True)
                )
    return True


def _is_broken(relation: Relation, values: Mapping[str, bool]) -> bool:
    label, one, other = relation[0], values.get(relation[1]), values.get(relation[2])
    if one is None or other is None:
        return False
    match label:
        case "conflicting":
            return one and other
        case "equivalent":
            return one != other
        case "including":
            return other and not one
        case "included":
            return one and not other
    return False
