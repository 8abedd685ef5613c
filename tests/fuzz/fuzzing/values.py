"""Mutations of values as JSON and YAML have them: the shape stays, something in it is wrong."""

import copy
import random
from typing import Any

from fuzzing.hostile import SCALARS


def mutated_value(value: Any, rng: random.Random) -> Any:
    """A copy of `value` with one to three things changed somewhere in it."""
    holder = [copy.deepcopy(value)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        container, key = rng.choice(_places(holder))
        _change(container, key, rng)
        if not holder:
            holder = [rng.choice(SCALARS)]
    return holder[0]


def _places(holder: list[Any]) -> list[tuple[Any, Any]]:
    """Every value as the container that holds it and its key there, from the outside in."""
    places: list[tuple[Any, Any]] = []
    waiting: list[Any] = [holder]
    while waiting and len(places) < 5_000:
        container = waiting.pop(0)
        for key in _keys(container):
            places.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return places


def _keys(container: Any) -> list[Any]:
    return list(container) if isinstance(container, dict) else list(range(len(container)))


def _change(container: Any, key: Any, rng: random.Random) -> None:
    value, is_list = container[key], isinstance(container, list)
    match rng.randrange(12):
        case 0 | 1 | 2:
            container[key] = copy.deepcopy(rng.choice(SCALARS))
        case 3:
            del container[key]
        case 4 if is_list:
            container[key:key] = [copy.deepcopy(value) for _ in range(rng.choice((1, 3, 40)))]
        case 4:
            container[_name(rng)] = copy.deepcopy(value)
        case 5 if not is_list:
            container[_name(rng, str(key))] = container.pop(key)
        case 6:
            ways = ([value], {"value": value}, str(value)[:10_000], [value, value])
            container[key] = rng.choice(ways)
        case 7 if isinstance(value, dict | list) and value:
            container[key] = value[rng.choice(_keys(value))]
        case 8:
            for _ in range(rng.choice((10, 60, 300))):
                value = [value] if rng.random() < 0.5 else {"a": value}
            container[key] = value
        case 9:
            other = rng.choice(_keys(container))
            container[key], container[other] = container[other], container[key]
        case 10 | 11:
            container[key] = _nudged(value, rng)


def _nudged(value: Any, rng: random.Random) -> Any:
    """A text or a number that is a little different."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return rng.choice((-value, value + 1, value * 10**9, -1 - value, f"{value}"))
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        extra = rng.choice(("\x00", "\ud83d", "\n", " ", "'", '"', "\\", "\u200b", "(", "é", "9"))
        return rng.choice((value[:at] + extra + value[at:], value[:at], value * 2))
    return value


def _name(rng: random.Random, old: str = "") -> str:
    return rng.choice(("", " ", old.upper(), old + "x", "\x00", "\ud800", "id", "__class__", "1"))
