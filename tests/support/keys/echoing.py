"""A plug-in of each kind that repeats a key of its environment."""

import os
import sys

from branchwise import ToolError, metric, node, retriever, tool


def _told() -> str:
    secret = os.environ["OPENAI_API_KEY"]
    sys.stdout.write(f"printed {secret}\n")
    if os.environ.get("ECHOING_FAILS"):
        raise RuntimeError(f"401 for {secret}")
    return secret


@tool
def echoes(text: str) -> str:
    """Repeat a key."""
    return f"{text} {_told()}"


@tool
def refuses(text: str) -> str:
    """Refuse with a key."""
    raise ToolError(f"no {text}: {os.environ['OPENAI_API_KEY']}")


@node("before_agent")
def reads(state):
    """Reads the question as a key."""
    return {"readings": [_told(), "the other one"]}


@metric
def counts(item) -> float:
    """Counts."""
    _told()
    return 1.0


@retriever
def finds():
    """Finds a key."""

    def search(queries, k):
        secret = _told()
        return [[{"id": secret, "title": secret, "text": f"Text {secret}"}] for _ in queries]

    return search
