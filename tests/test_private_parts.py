"""No product code leans on private parts of asyncio, threading or concurrent.futures."""

import ast

import pytest

from support.rooms import ROOMS, product_files

MODULES = ("asyncio", "threading", "concurrent")
OF_OBJECTS = {
    "_callbacks", "_coro", "_cancel_message", "_fut_waiter", "_is_stopped", "_log_destroy_pending",
    "_log_traceback", "_must_cancel", "_num_cancels_requested", "_ready", "_scheduled",
    "_selector", "_started", "_tstate_lock", "_work_queue",
}  # fmt: skip
"""Private attributes of tasks, futures, event loops, threads and pools, wherever they are held."""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _root(node: ast.expr) -> str:
    """The name that a dotted expression begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _asked_for(call: ast.Call) -> str:
    """The private name that `getattr(thing, "_name")` and its like ask for; "" of another call."""
    askers = ("getattr", "setattr", "hasattr", "delattr")
    if not (isinstance(call.func, ast.Name) and call.func.id in askers and len(call.args) > 1):
        return ""
    name = call.args[1]
    text = name.value if isinstance(name, ast.Constant) else None
    return text if isinstance(text, str) and _is_private(text) else ""


def private_parts(code: str) -> list[str]:
    """Every private name of those modules, and of their objects, that is read, set or imported."""
    tree, of_modules = ast.parse(code), set(MODULES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            of_modules |= {
                alias.asname for alias in node.names
                if alias.asname and alias.name.split(".")[0] in MODULES
            }  # fmt: skip
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            found += [alias.name for alias in node.names if _is_private(alias.name)]
        elif isinstance(node, ast.Attribute):
            of_module = _is_private(node.attr) and _root(node.value) in of_modules
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if of_module or (node.attr in OF_OBJECTS and not own):
                found.append(node.attr)
        elif isinstance(node, ast.Call):
            name = _asked_for(node)
            if name and (_root(node.args[0]) in of_modules or name in OF_OBJECTS):
                found.append(name)
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_private_part_is_used(room: str) -> None:
    sources = {str(file): file.read_text(encoding="utf-8") for file in product_files(room)}
    assert sources
    found = {file: private_parts(source) for file, source in sources.items()}
    assert {file: names for file, names in found.items() if names} == {}


def test_model_clients_have_their_private_parts_to_themselves() -> None:
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in product_files("agents")]
    found = {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and _is_private(node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    }
    assert found == {"_replace", "_generate", "_agenerate", "_Hash"}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import asyncio\nasyncio.tasks._unregister_task(task)", "_unregister_task"),
        ("import threading as t\nt._shutdown()", "_shutdown"),
        ("from concurrent.futures.thread import _python_exit", "_python_exit"),
        ("task._log_destroy_pending = False", "_log_destroy_pending"),
        ("import threading\ngetattr(threading, '_SHUTTING_DOWN', True)", "_SHUTTING_DOWN"),
        ("setattr(task, '_must_cancel', False)", "_must_cancel"),
    ],
)
def test_each_way_to_a_private_part_is_seen(code: str, name: str) -> None:
    assert private_parts(code) == [name]


def test_what_is_public_or_ones_own_is_no_private_part() -> None:
    own = "import asyncio\nself._ready = asyncio.Event()\nasyncio.__name__\nthing._name"
    assert private_parts(own) == []
