"""What a plan's steps come to, and the facts behind each member: sets and loops over statements."""

from collections.abc import Iterable

from support.synthesis.plain_graph_file import Fact, PlainGraph, PlainSchema

Held = dict[str, frozenset[Fact]]  # member -> the facts that lead to it


def evaluate(plan: list[dict], graph: PlainGraph, schema: PlainSchema) -> list[Held]:
    """The set of each step in turn."""
    sets: list[Held] = []
    for step in plan:
        sets.append(STEPS[step["op"]](step, sets, graph, schema))
    return sets


def neighbours(
    relation: str, inverse: bool, member: str, graph: PlainGraph, schema: PlainSchema
) -> dict[str, Fact]:
    """What a member is related to, each with the statement that says so."""
    declared = schema.relations[relation]
    prop = declared["property"]
    there = graph.having(member, prop) if inverse else graph.of(member, prop)
    found = {}
    for other in there:
        subject, value = (other, member) if inverse else (member, other)
        if schema.fits(graph, subject, declared["subject"]) and (
            "object" not in declared or schema.fits(graph, value, declared["object"])
        ):
            found[other] = (subject, prop, value)
    return found


def atomic(step: dict, sets: list[Held], graph: PlainGraph, schema: PlainSchema) -> Held:
    there = neighbours(step["relation"], step.get("inverse", False), step["entity"], graph, schema)
    return {member: frozenset([fact]) for member, fact in there.items()}


def steps_from(
    step: dict, source: Held, graph: PlainGraph, schema: PlainSchema
) -> dict[str, dict[str, frozenset[Fact]]]:
    """What is reached -> each member that it is reached from -> the facts of that way."""
    ways: dict[str, dict[str, frozenset[Fact]]] = {}
    for member, known in source.items():
        there = neighbours(step["relation"], step.get("inverse", False), member, graph, schema)
        for other, fact in there.items():
            ways.setdefault(other, {})[member] = known | {fact}
    return ways


def join(step: dict, sets: list[Held], graph: PlainGraph, schema: PlainSchema) -> Held:
    ways = steps_from(step, sets[step["of"]], graph, schema)
    return {other: together(from_.values()) for other, from_ in ways.items()}


def group_by(step: dict, sets: list[Held], graph: PlainGraph, schema: PlainSchema) -> Held:
    ways = steps_from(step, sets[step["of"]], graph, schema)
    enough = {other: from_ for other, from_ in ways.items() if len(from_) >= step["at_least"]}
    return {other: together(from_.values()) for other, from_ in enough.items()}


def filtered(step: dict, sets: list[Held], graph: PlainGraph, schema: PlainSchema) -> Held:
    kept = {}
    for member, known in sets[step["of"]].items():
        there = neighbours(step["relation"], False, member, graph, schema)
        met = {fact for value, fact in there.items() if meets(value, step["condition"])}
        if met:
            kept[member] = known | met
    return kept


def meets(value: str, condition: dict) -> bool:
    if condition["kind"] == "holds":
        return value == condition["value"]
    if condition["kind"] == "years":
        sign = -1 if value.startswith("-") else 1
        number = sign * int(value.lstrip("+-").split("-")[0])
        low, high = condition.get("first"), condition.get("last")
    else:
        number, low, high = float(value), condition.get("least"), condition.get("most")
    return (low is None or low <= number) and (high is None or number <= high)


def union(step: dict, sets: list[Held], graph: PlainGraph, schema: PlainSchema) -> Held:
    left, right = sets[step["of"]], sets[step["other"]]
    none: frozenset[Fact] = frozenset()
    return {m: left.get(m, none) | right.get(m, none) for m in [*left, *right]}


def intersection(step: dict, sets: list[Held], graph: PlainGraph, schema: PlainSchema) -> Held:
    left, right = sets[step["of"]], sets[step["other"]]
    return {m: left[m] | right[m] for m in left if m in right}


def difference(step: dict, sets: list[Held], graph: PlainGraph, schema: PlainSchema) -> Held:
    left, right = sets[step["of"]], sets[step["other"]]
    return {m: facts for m, facts in left.items() if m not in right}


def together(groups: Iterable[frozenset[Fact]]) -> frozenset[Fact]:
    return frozenset(fact for facts in groups for fact in facts)


STEPS = {
    "atomic": atomic,
    "join": join,
    "filter": filtered,
    "group_by": group_by,
    "union": union,
    "intersection": intersection,
    "difference": difference,
}
