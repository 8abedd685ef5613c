"""No product code leans on private parts of asyncio, threading or concurrent.futures."""

import re

import pytest

from support.rooms import ROOMS, product_files

OF_OBJECTS = (
    "_callbacks _coro _cancel_message _fut_waiter _is_stopped _log_destroy_pending _log_traceback "
    "_must_cancel _num_cancels_requested _ready _scheduled _selector _started _tstate_lock "
    "_work_queue"
)
"""Private attributes of tasks, futures, event loops, threads and pools, wherever they are held."""
_OBJECT = "|".join(OF_OBJECTS.split())
_MODULE = r"(?:asyncio|threading|concurrent)"
USES = re.compile(
    rf"\b{_MODULE}(?:\.\w+)*\.(_[a-z]\w+)|from {_MODULE}[\w.]* import [^\n]*?\b(_[a-z]\w+)"
    rf"|(?<!\bself)(?<!\bcls)\.({_OBJECT})\b"
    rf"|[gs]etattr\({_MODULE}[\w.]*, ['\"](_[A-Za-z]\w+)|attr\(\w+, ['\"]({_OBJECT})['\"]"
)


def private_parts(code: str) -> list[str]:
    return ["".join(groups) for groups in USES.findall(code)]


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_no_private_part_is_used(room: str) -> None:
    found = {str(file): private_parts(file.read_text("utf-8")) for file in product_files(room)}
    assert found
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.slow
def test_model_clients_have_their_private_parts_to_themselves() -> None:
    """LangChain's models are called by methods that each defines; the others are public."""
    text = "\n".join(file.read_text("utf-8") for file in product_files("agents"))
    code = re.sub(r'"""[\s\S]*?"""|#.*|f?"[^"\n]*"', "", text)
    found = {*re.findall(r"(?<!\bself)(?<!\bcls)(?<=[\w)\]])\.(_[A-Za-z]\w*)(?!_)\b", code)}
    assert found == {"_replace", "_generate", "_agenerate", "_Hash"}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import asyncio\nasyncio.tasks._unregister_task(task)", "_unregister_task"),
        ("from concurrent.futures.thread import _python_exit", "_python_exit"),
        ("task._log_destroy_pending = False", "_log_destroy_pending"),
        ("import threading\ngetattr(threading, '_SHUTTING_DOWN', True)", "_SHUTTING_DOWN"),
        ("setattr(task, '_must_cancel', False)", "_must_cancel"),
        ("import asyncio\nself._ready = asyncio.Event()\nasyncio.__name__\nthing._name", ""),
    ],
)
def test_each_way_to_a_private_part_is_seen(code: str, name: str) -> None:
    assert private_parts(code) == ([name] if name else [])
