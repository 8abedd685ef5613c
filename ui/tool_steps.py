"""Calls of tools and what they returned, in lines of a trace."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MAX_LINE = 160
MAX_QUERY_LINES = 12
SHOWN_RESULTS = 5
_QUERY_WIDTH = 66
"""So that a query, indented twice, fits on a terminal of 80 columns, also in the demo."""
_MAX_WORD = 400
_INDENT = " " * 10


def call_lines(call: Mapping[str, Any]) -> Iterator[str]:
    """A call with its arguments; a SPARQL query whole, on lines of its own."""
    args = call["args"]
    query = _sparql(call)
    if query is None:
        yield indented(f"calls {call['name']}({_arguments(args)})")
        return
    others = {key: value for key, value in args.items() if key != "query"}
    yield indented(f"calls {call['name']}" + (f"({_arguments(others)})" if others else ""))
    lines = [part for line in query.strip().splitlines() for part in _wrapped(line)]
    shown = (line if len(line) <= _MAX_WORD else f"{line[:_MAX_WORD]}…" for line in lines)
    yield from (indented(f"  {line}") for line in few([*shown], MAX_QUERY_LINES))


def result_lines(data: Mapping[str, Any], most: int) -> Iterator[str]:
    """What a tool returned: the first `most` passages, matches or rows, or its error."""
    call = data["call"]
    head = f"{'tool':<9} {call['name']}:"
    if data["error"]:
        first, *more = str(data["error"]).splitlines() or [""]
        yield f"{head} {first}"
        yield from map(indented, few(more, MAX_QUERY_LINES))
        return
    artifact = data["artifact"]
    passages = artifact.get("passages", [])
    if "rows" in artifact:
        first, *more = data["content"].splitlines() or [""]
        yield f"{head} {short(first)}"
        yield from (indented(short(line)) for line in few(more, most))
    elif "matches" in artifact:
        yield f"{head} {_matches(data)}{_arguments(call['args'])}"
        lines = data["content"].splitlines()
        headed = bool(lines) and lines[0].endswith(":")
        yield from (indented(short(line)) for line in few(lines, most + headed))
    elif passages:
        yield f"{head} {len(passages)} passages for {_arguments(call['args'])}"
        titles = [f"{p['score']:.3f}  [{p['id']}] {p['title']}" for p in passages]
        yield from map(indented, few(titles, most, "more"))
    else:
        yield f"{head} {short(data['content'])}"


def _matches(data: Mapping[str, Any]) -> str:
    """How many things bear the name; nothing where the text says that none does."""
    if data["content"].startswith("nothing is called"):
        return ""
    found = len(data["artifact"]["matches"])
    return f"{found} match{'' if found == 1 else 'es'} for "


def few(lines: Sequence[str], most: int, rest: str = "more lines") -> Iterator[str]:
    """The first `most` and how many there are besides; a single one besides is shown itself."""
    kept = most if len(lines) > most + 1 else len(lines)
    yield from lines[:kept]
    if kept < len(lines):
        yield f"… and {len(lines) - kept} {rest}"


def indented(line: str) -> str:
    """Below the word that begins a step."""
    return f"{_INDENT}{line}"


def short(value: Any, most: int = MAX_LINE) -> str:
    """On one line, cut where it is too long."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _sparql(call: Mapping[str, Any]) -> str | None:
    args = call["args"]
    query = args.get("query") if isinstance(args, Mapping) else None
    return query if "sparql" in str(call["name"]).lower() and isinstance(query, str) else None


def _wrapped(line: str) -> list[str]:
    """A line of a query in pieces that a terminal does not cut; words, and IRIs, stay whole."""
    line = line.expandtabs(2).rstrip()
    margin = line[: len(line) - len(line.lstrip())][: _QUERY_WIDTH // 2]
    return textwrap.wrap(
        line.lstrip(),
        _QUERY_WIDTH,
        initial_indent=margin,
        subsequent_indent=f"{margin}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _arguments(args: Any) -> str:
    if not isinstance(args, Mapping):
        return short(args)
    return ", ".join(
        f"{key}={short(value, 80)!r}" if isinstance(value, str) else f"{key}={short(value, 80)}"
        for key, value in args.items()
    )
