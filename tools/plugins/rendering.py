"""How a plug-in shows its own call in the trace: rendered once, when the call is made.

The result is stored with the call, so that opening a trace imports and runs nothing: a run may come
from elsewhere, and its plug-ins may be gone.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from branchwise.corpora.plugins.isolator import PluginFailure, isolator
from branchwise.corpora.text import storable
from branchwise.tools.plugins.declared import Render

RENDERED = "rendered"
"""The key of the artifact that holds the lines."""
SECONDS = 5.0
MAX_LINES, MAX_CHARS = 1000, 20_000


async def rendered(
    render: Render,
    name: str,
    arguments: Mapping[str, Any],
    content: str,
    artifact: Mapping[str, Any],
) -> list[str]:
    """The lines that a renderer shows for a call, bounded; if it fails, one line that says so."""

    def lines(arguments: Any, content: str, artifact: Any) -> str:
        shown = render(arguments, content, artifact)
        parts = [shown] if isinstance(shown, str) else islice(shown, MAX_LINES)
        return "\n".join(map(str, parts))

    given = {"arguments": dict(arguments), "content": content, "artifact": dict(artifact)}
    try:
        called = await isolator(f"the renderer of {name}").call(
            lines, given, seconds=SECONDS, read=str
        )
    except PluginFailure as failure:
        return [storable(failure.line)]
    text = called.value
    shown = storable(text)[:MAX_CHARS].splitlines()[:MAX_LINES]
    return [*shown, f"[cut: {len(text)} characters]"] if len(text) > MAX_CHARS else shown
