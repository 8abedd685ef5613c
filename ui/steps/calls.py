"""A tool call as the model made it; a SPARQL query stands whole, on lines of its own."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import few, indented, short
from branchwise.trace.parts import Call
from branchwise.ui.steps import parts
from branchwise.ui.steps.parts import MAX_FACT

MAX_QUERY_LINES = 12
_QUERY = "query"
_QUERY_WIDTH = 66
"""So that a query, indented twice, fits on a terminal of 80 columns, also in the demo."""
_MAX_WORD = 400


def call_lines(call: Call) -> Iterator[str]:
    """A call with its arguments."""
    query = call.args[_QUERY] if _has_query(call) else None
    if query is None:
        yield indented(f"calls {call.tool}({arguments(call.args)})")
        return
    others = {key: value for key, value in call.args.items() if key != _QUERY}
    yield indented(f"calls {call.tool}" + (f"({arguments(others)})" if others else ""))
    lines = [part for line in query.strip().splitlines() for part in _wrapped(line)]
    shown = (line if len(line) <= _MAX_WORD else f"{line[:_MAX_WORD]}…" for line in lines)
    yield from (indented(f"  {line}") for line in few([*shown], MAX_QUERY_LINES))


def arguments(args: Any) -> str:
    """The arguments of a call on one line."""
    if not isinstance(args, Mapping):
        return short(args)
    return ", ".join(
        f"{key}={short(value, 80)!r}" if isinstance(value, str) else f"{key}={short(value, 80)}"
        for key, value in args.items()
    )


def call_blocks(call: Call, title: str) -> Iterator[Block]:
    """A call's name and arguments; texts of several lines stand each on its own, too."""
    head = f"{title} {parts.line(call.name, MAX_FACT)}"
    head += f" · {parts.line(call.id, MAX_FACT)}" if call.id else ""
    args = call.args
    if not isinstance(args, Mapping):
        yield from parts.text(args if isinstance(args, str) else parts.pretty(args), head)
    else:
        query = _QUERY if _has_query(call) else None
        apart = {k: v for k, v in args.items() if k == query or (isinstance(v, str) and "\n" in v)}
        others = {key: value for key, value in args.items() if key not in apart}
        if others or not apart:
            yield parts.as_json(others, head)
            head = ""
        for key, value in apart.items():
            own = " ".join(filter(None, [head, f"· {key}" if head else key]))
            yield from [parts.sparql(value, own)] if key == query else parts.text(value, own)
            head = ""
    yield from parts.overlong(name=call.name, id=call.id)
    yield from parts.rest(call.more)


def _has_query(call: Call) -> bool:
    is_sparql = isinstance(call.args, Mapping) and "sparql" in call.tool.lower()
    return is_sparql and isinstance(call.args.get(_QUERY), str)


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
