"""Mutations of values as JSON and YAML have them: the shape stays, something in it is wrong."""

import copy
import random
from collections.abc import Callable
from typing import Any

from fuzzing.hostile import SCALARS


def mutated_value(value: Any, rng: random.Random) -> Any:
    """A copy of `value` with one to three things changed somewhere in it."""
    holder = [copy.deepcopy(value)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        container, key = rng.choice(_places(holder))
        rng.choice(_CHANGES)(container, key, rng)
        if not holder:
            holder = [rng.choice(SCALARS)]
    return holder[0]


def _places(holder: list[Any]) -> list[tuple[Any, Any]]:
    """Every value as the container that holds it and its key there, from the outside in."""
    found: list[tuple[Any, Any]] = []
    waiting: list[Any] = [holder]
    while waiting and len(found) < 5_000:
        container = waiting.pop(0)
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for key in keys:
            found.append((container, key))
            if isinstance(container[key], dict | list):
                waiting.append(container[key])
    return found


def _replace(container: Any, key: Any, rng: random.Random) -> None:
    container[key] = copy.deepcopy(rng.choice(SCALARS))


def _remove(container: Any, key: Any, rng: random.Random) -> None:
    del container[key]


def _repeat(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container, list):
        times = rng.choice((1, 3, 40))
        container[key:key] = [copy.deepcopy(container[key]) for _ in range(times)]
    else:
        container[_name(rng)] = copy.deepcopy(container[key])


def _rename(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container, dict):
        container[_name(rng, str(key))] = container.pop(key)


def _wrap(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    container[key] = rng.choice(([value], {"value": value}, str(value)[:10_000], [value, value]))


def _unwrap(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    if isinstance(value, dict | list) and value:
        container[key] = rng.choice(list(value.values()) if isinstance(value, dict) else value)


def _nest(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    for _ in range(rng.choice((10, 60, 300))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    container[key] = value


def _swap(container: Any, key: Any, rng: random.Random) -> None:
    keys = list(container) if isinstance(container, dict) else list(range(len(container)))
    other = rng.choice(keys)
    container[key], container[other] = container[other], container[key]


def _nudge(container: Any, key: Any, rng: random.Random) -> None:
    """A text or a number that is a little different."""
    value = container[key]
    if isinstance(value, bool) or value is None:
        container[key] = not value
    elif isinstance(value, int | float):
        container[key] = rng.choice((-value, value + 1, value * 10**9, -1 - value, f"{value}"))
    elif isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        extra = rng.choice(("\x00", "\ud83d", "\n", " ", "'", '"', "\\", "\u200b", "(", "é", "9"))
        container[key] = rng.choice((value[:at] + extra + value[at:], value[:at], value * 2))


def _name(rng: random.Random, old: str = "") -> str:
    return rng.choice(("", " ", old.upper(), old + "x", "\x00", "\ud800", "id", "__class__", "1"))


_CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    _replace,
    _replace,
    _replace,
    _remove,
    _repeat,
    _rename,
    _wrap,
    _unwrap,
    _nest,
    _swap,
    _nudge,
    _nudge,
)
