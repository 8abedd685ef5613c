"""One step of a trace in words: for `ask` as it happens, and for a finished item.

Passages and model output are data: each line is returned as plain text, without control
characters, for a console that does not interpret markup.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

MAX_LINE = 160
SHOWN_PASSAGES = 5


def describe(kind: str, data: Mapping[str, Any], *, passages: int = SHOWN_PASSAGES) -> list[str]:
    """The lines that say what a step did; of a search, the first `passages` results."""
    writer = _WRITERS.get(kind)
    if kind == "tool":
        lines = _tool(data, passages)
    else:
        lines = writer(data) if writer else iter([f"{kind}: {_short(data)}"])
    return [_plain(line) for line in lines]


def _start(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"question  {_first_line(data['content'])}"
    if given := data["artifact"]["passages"]:
        yield f"          with {len(given)} passages given"


def _model(data: Mapping[str, Any]) -> Iterator[str]:
    used = data["usage"]
    label = "repair" if data.get("role") == "repair" else f"turn {data.get('turn', '')}"
    notes = [f"{used['input']} tokens in, {used['output']} out"] if any(used.values()) else []
    notes += [f"{data['seconds']:.2f} s"]
    notes += ["replayed"] if data["replayed"] else []
    notes += [data["finish"]] if data["finish"] in ("length", "refusal", "content_filter") else []
    yield f"{label:<9} {', '.join(notes)}"
    if data["reasoning"]:
        yield f"          thinks: {_short(data['reasoning'])}"
    for call in [*data["tool_calls"], *data["invalid_tool_calls"]]:
        yield f"          calls {call['name']}({_arguments(call['args'])})"
    if data["text"] and not data["tool_calls"]:
        yield f"          says: {_short(data['text'])}"


def _tool(data: Mapping[str, Any], most: int) -> Iterator[str]:
    name = data["call"]["name"]
    if data["error"]:
        yield f"{'tool':<9} {name}: {data['error']}"
        return
    artifact = data["artifact"]
    if "rows" in artifact or "matches" in artifact:
        yield f"{'tool':<9} {name}: {_arguments(data['call']['args'])}"
        yield from _first_lines(data["content"], most)
        return
    passages = artifact.get("passages", [])
    if not passages:
        yield f"{'tool':<9} {name}: {_short(data['content'])}"
        return
    yield f"{'tool':<9} {name}: {len(passages)} passages for {_arguments(data['call']['args'])}"
    for passage in passages[:most]:
        yield f"          {passage['score']:.3f}  [{passage['id']}] {passage['title']}"
    if len(passages) > most:
        yield f"          … and {len(passages) - most} more"


def _first_lines(text: str, most: int) -> Iterator[str]:
    """Rows or matches, as the model read them."""
    lines = text.splitlines()
    for line in lines[: most + 1]:
        yield f"          {_short(line)}"
    if len(lines) > most + 1:
        yield f"          … and {len(lines) - most - 1} more lines"


def _answer(data: Mapping[str, Any]) -> Iterator[str]:
    if data["how"] == "failed":
        yield f"{'answer':<9} format error: {data['problem']}"
        yield f"          raw: {_short(data['raw'])}"
        return
    yield f"{'answer':<9} {_READ[data['how']]}".rstrip()
    for branch, entities in data["prediction"]["answers"].items():
        yield f"          {branch}: {'; '.join(entities) or '(none)'}"


_READ = {
    "strict": "",
    "tolerant": "(not quite in the right form, but read)",
    "repaired": "(after one repair call)",
}


def _budget(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'budget':<9} spent: {data['reason']}; told to answer"


def _retry(data: Mapping[str, Any]) -> Iterator[str]:
    wait = f", trying again in {data['wait']:.1f} s" if data.get("wait") is not None else ""
    yield f"{'retry':<9} {data['kind']}: {_short(data['message'])}{wait}"


def _trimmed(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'context':<9} too long for the model: {data['newly']} oldest tool results left out"


def _repair(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'repair':<9} the answer could not be read: {_short(data['problem'])}"


def _error(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'error':<9} {data['kind']}: {_short(data['message'])}"


_WRITERS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "start": _start,
    "model": _model,
    "answer": _answer,
    "budget": _budget,
    "retry": _retry,
    "context_trimmed": _trimmed,
    "repair": _repair,
    "error": _error,
}


def _arguments(args: Any) -> str:
    if not isinstance(args, Mapping):
        return _short(args)
    return ", ".join(
        f"{key}={_short(value, 80)!r}" if isinstance(value, str) else f"{key}={_short(value, 80)}"
        for key, value in args.items()
    )


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _short(value: Any, most: int = MAX_LINE) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _plain(line: str) -> str:
    """Without control and formatting characters: nothing in a passage can steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in line)
