"""What a plan's steps come to, and the facts behind each member: sets and loops over statements."""

from collections.abc import Iterable

from support.synthesis.plain_kg_file import Fact, PlainKg, PlainSchema

Held = dict[str, frozenset[Fact]]  # member -> the facts that lead to it


def evaluate(plan: list[dict], kg: PlainKg, schema: PlainSchema) -> list[Held]:
    sets: list[Held] = []
    for step in plan:
        sets.append(STEPS[step["op"]](step, sets, kg, schema))
    return sets


def neighbours(
    relation: str, inverse: bool, member: str, kg: PlainKg, schema: PlainSchema
) -> dict[str, Fact]:
    """What a member is related to, each with the statement that says so."""
    declared = schema.relations[relation]
    prop = declared["property"]
    there = kg.having(member, prop) if inverse else kg.of(member, prop)
    found = {}
    for other in there:
        subject, value = (other, member) if inverse else (member, other)
        if schema.fits(kg, subject, declared["subject"]) and (
            "object" not in declared or schema.fits(kg, value, declared["object"])
        ):
            found[other] = (subject, prop, value)
    return found


def atomic(step: dict, sets: list[Held], kg: PlainKg, schema: PlainSchema) -> Held:
    there = neighbours(step["relation"], step.get("inverse", False), step["entity"], kg, schema)
    return {member: frozenset([fact]) for member, fact in there.items()}


def steps_from(
    step: dict, source: Held, kg: PlainKg, schema: PlainSchema
) -> dict[str, dict[str, frozenset[Fact]]]:
    """What is reached -> each member that it is reached from -> the facts of that way."""
    ways: dict[str, dict[str, frozenset[Fact]]] = {}
    for member, known in source.items():
        there = neighbours(step["relation"], step.get("inverse", False), member, kg, schema)
        for other, fact in there.items():
            ways.setdefault(other, {})[member] = known | {fact}
    return ways


def join(step: dict, sets: list[Held], kg: PlainKg, schema: PlainSchema) -> Held:
    ways = steps_from(step, sets[step["of"]], kg, schema)
    return {other: together(from_.values()) for other, from_ in ways.items()}


def group_by(step: dict, sets: list[Held], kg: PlainKg, schema: PlainSchema) -> Held:
    ways = steps_from(step, sets[step["of"]], kg, schema)
    enough = {other: from_ for other, from_ in ways.items() if len(from_) >= step["at_least"]}
    return {other: together(from_.values()) for other, from_ in enough.items()}


def filtered(step: dict, sets: list[Held], kg: PlainKg, schema: PlainSchema) -> Held:
    kept = {}
    for member, known in sets[step["of"]].items():
        there = neighbours(step["relation"], False, member, kg, schema)
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


def union(step: dict, sets: list[Held], kg: PlainKg, schema: PlainSchema) -> Held:
    left, right = sets[step["of"]], sets[step["other"]]
    none: frozenset[Fact] = frozenset()
    return {m: left.get(m, none) | right.get(m, none) for m in [*left, *right]}


def intersection(step: dict, sets: list[Held], kg: PlainKg, schema: PlainSchema) -> Held:
    left, right = sets[step["of"]], sets[step["other"]]
    return {m: left[m] | right[m] for m in left if m in right}


def difference(step: dict, sets: list[Held], kg: PlainKg, schema: PlainSchema) -> Held:
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
