"""The tests that `make check` runs: those that start nothing and are not marked as slow.

A test or a fixture that starts a process, browser, terminal or encoder says so by asking for the
fixture of that name (`pytest.mark.usefixtures("process")` on a test or a module); every test that
uses it then carries the marker. Under `--quick` those tests are left out, and a test that starts
something unsaid fails.
"""

import functools
import sys
from typing import Any

import pytest

_KINDS = ("process", "browser", "terminal", "encoder")
_LEFT_OUT = (*_KINDS, "slow", "long")
_STARTS = {
    "subprocess.Popen": "process",
    "os.fork": "process",
    "os.forkpty": "terminal",
    "os.posix_spawn": "process",
}
_LISTS_FONTS = "fc-list"
"""What matplotlib starts once on a machine, when it is imported first."""
_IMPORTS = {"openvino": "encoder", "sentence_transformers": "encoder", "torch": "encoder"}


def mark(items: list[pytest.Item]) -> None:
    """Give each test the markers of what it starts."""
    for item in items:
        for kind in _KINDS:
            if kind in getattr(item, "fixturenames", ()):
                item.add_marker(kind)


def split(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    others = [item for item in items if any(map(item.get_closest_marker, _LEFT_OUT))]
    left_out = set(others)
    return [item for item in items if item not in left_out], others


@functools.cache
def forbid() -> None:
    """From here on, whatever starts a process or loads an encoder in this process fails."""

    def refuse(event: str, details: tuple[Any, ...]) -> None:
        kind = _IMPORTS.get(details[0]) if event == "import" else _STARTS.get(event)
        if kind and details[:1] != (_LISTS_FONTS,):
            raise RuntimeError(
                f"{event} {str(*details[:1])[:80]}: this test or its fixture starts something; "
                f'mark it with pytest.mark.usefixtures("{kind}")'
            )

    sys.addaudithook(refuse)
