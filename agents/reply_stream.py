"""What a model server sends, byte by byte and chunk by chunk: within one size, unpacked, in time.

Events: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation.
Servers cut replies into chunks in many ways (docs/compatibility.md): `StreamFold` makes the body of
them that the server would have sent at once.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.agents.reasoning import DETAILS, TEXT_FIELDS, USUAL_FIELD
from branchwise.agents.reply import ModelError
from branchwise.base.text import storable
from branchwise.trace.parts import Usage

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 64 * 2**20
"""Of a reply, as it is sent and unpacked; far more than the longest that models write."""
MAX_TOKENS = 32
"""Tokens of a reply that are kept with their log-probabilities, the last ones."""
ENCODINGS = "gzip, deflate"
"""What requests accept; a reply in another encoding is none."""
_PIECE = 2**16
_DONE = b"[DONE]"
_GROWING = frozenset({"text", "summary", "data"})
"""Fields of a reasoning block that come in pieces."""


async def pieces_of(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The unpacked body in pieces of at most 64 KiB.

    Raises ModelError (`invalid_response`) if it is larger than `MAX_BYTES`, or badly packed.
    """
    names = response.headers.get("content-encoding", "").lower().split(",")
    packings = [name.strip() for name in reversed(names)]
    unpackers = [_Unpacker(name) for name in packings if name not in ("", "identity")]
    packed = unpacked = 0
    async for data in response.aiter_raw():
        packed += len(data)
        for piece in _through(unpackers, data):
            unpacked += len(piece)
            if max(packed, unpacked) > MAX_BYTES:
                what = f"the reply is larger than {MAX_BYTES // 2**20} MiB"
                raise ModelError("invalid_response", what)
            yield piece
            # A body that never waits would keep time-outs from being looked at.
            await asyncio.sleep(0)


def _through(unpackers: list[_Unpacker], data: bytes) -> Iterator[bytes]:
    if not unpackers:
        yield data
        return
    for piece in unpackers[0].pieces(data):
        yield from _through(unpackers[1:], piece)


class _Unpacker:
    """Unpacks gzip or deflate, never more than a piece at a time."""

    def __init__(self, name: str) -> None:
        if name not in ("gzip", "x-gzip", "deflate"):
            what = f"the reply is packed as {name[:40]!r}, which was not asked for"
            raise ModelError("invalid_response", what)
        # Recognises gzip and zlib by their heads; `deflate` may come without one.
        self._inner, self._may_be_raw = zlib.decompressobj(47), name == "deflate"

    def pieces(self, data: bytes) -> Iterator[bytes]:
        is_full = False
        while data or is_full:
            try:
                piece = self._inner.decompress(data, _PIECE)
            except zlib.error as error:
                if not self._may_be_raw:
                    what = f"the reply cannot be unpacked ({error})"
                    raise ModelError("invalid_response", what, retryable=True) from None
                self._inner, self._may_be_raw = zlib.decompressobj(-zlib.MAX_WBITS), False
                continue
            self._may_be_raw = False
            data, is_full = self._inner.unconsumed_tail, len(piece) == _PIECE
            if piece:
                yield piece


class StreamEvent:
    """An event of a stream: its name and its data, which is JSON or `[DONE]`."""

    def __init__(self, name: str, data: list[bytes]) -> None:
        self.name, self._data = name, data

    @property
    def is_end(self) -> bool:
        return self._data[0].lstrip().startswith(_DONE)

    @property
    def value(self) -> Any:
        """Raises ValueError for what is not JSON."""
        return decoded(b"\n".join(self._data))


async def events_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[StreamEvent | bytearray]:
    """The events of a stream; or as the only one the body, where it holds JSON or a page in place
    of events."""
    rest = bytearray()
    name, data = "", list[bytes]()
    is_stream = False
    async for piece in pieces:
        rest += piece
        if not is_stream:
            start = bytes(rest[:64]).removeprefix(b"\xef\xbb\xbf").lstrip()
            if not start:
                continue
            if start[:1] in b"{[<":
                async for more in pieces:
                    rest += more
                yield rest
                return
            is_stream = True
            rest = rest.removeprefix(b"\xef\xbb\xbf")
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        if end == -1:
            continue
        end += len(rest) - len(piece) + 1
        lines, rest = bytes(rest[:end]).splitlines(), rest[end:]
        for line in lines:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data" and value.strip():
                if data and data[-1].endswith(b"}") and value.startswith((b"{", _DONE)):
                    # Some servers leave out the blank lines.
                    yield StreamEvent(name, data)
                    data = []
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace").strip()
            elif not line and data:
                yield StreamEvent(name, data)
                name, data = "", []
    if rest.startswith(b"data:"):
        if data and _is_whole(data):
            yield StreamEvent(name, data)
            data = []
        data.append(bytes(rest[5:]).strip())
    if data and _is_whole(data):
        yield StreamEvent(name, data)


def decoded(content: bytes | bytearray) -> Any:
    """The JSON value of a body. Raises ValueError."""
    try:
        return orjson.loads(content)
    except ValueError:
        # The standard parser takes half characters, which models that break off do write.
        return json.loads(content)


def _is_whole(data: list[bytes]) -> bool:
    """Whether the last event of a stream without its blank line was not cut off."""
    try:
        decoded(b"\n".join(data))
    except ValueError:
        return data[0].startswith(_DONE)
    return True


class StreamFold:
    """Folds the chunks of a stream into the body that the server would have sent at once."""

    def __init__(self) -> None:
        self._choices: dict[int, _ChoiceFold] = {}
        self._usage: Any = None
        self.is_ended = False
        """Set where the stream says `[DONE]`: it is then whole without a finish reason."""

    def add(self, chunk: Any) -> None:
        """Take one chunk; what is not understood is ignored."""
        if not isinstance(chunk, Mapping):
            return
        usage = chunk.get("usage")
        # Counts grow; some servers close with zeros.
        if usage and (not self._usage or read_usage(usage).total >= read_usage(self._usage).total):
            self._usage = usage
        for choice in mappings_in(chunk.get("choices")):
            self._choices.setdefault(number_of(choice), _ChoiceFold()).add(choice)

    def message(self) -> dict[str, Any]:
        """The first choice's message."""
        return self._choices[min(self._choices)].message() if self._choices else {}

    def body(self) -> dict[str, Any]:
        """The folded body. Raises ModelError (`cut`) if the stream ended before the server said why
        it stopped."""
        first = self._choices[min(self._choices)] if self._choices else _ChoiceFold()
        if first.finish is None and not (self.is_ended and self._choices):
            raise ModelError("cut", "the stream ended before its end", retryable=True)
        choice = {
            "message": first.message(),
            "finish_reason": first.finish,
            "logprobs": {"content": [*first.tokens]},
        }
        return {"choices": [choice], "usage": self._usage}


class _ChoiceFold:
    """The pieces of one choice in a stream."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._calls: list[_CallFold] = []
        self._open: dict[int, _CallFold] = {}
        self.tokens: deque[Any] = deque(maxlen=MAX_TOKENS)
        self.finish: Any = None

    def add(self, choice: Mapping[str, Any]) -> None:
        reason = choice.get("finish_reason")
        # The first reason is the end's own; some servers close with a stop.
        if reason is not None and self.finish in (None, "", "stop", "null"):
            self.finish = reason
        tokens = mapping_in(choice, "logprobs").get("content")
        self.tokens.extend(tokens if isinstance(tokens, list) else [])
        delta = mapping_in(choice, "delta")
        is_whole = not delta and isinstance(choice.get("message"), Mapping)
        delta = choice["message"] if is_whole else delta
        texts = [(name, text_in(delta.get(name))) for name in ("content", *TEXT_FIELDS, "refusal")]
        for name, text in (*texts, (USUAL_FIELD, thinking_in(delta.get("content")))):
            if text:
                pieces = self._texts.setdefault(name, [])
                if is_whole and text.startswith("".join(pieces)):
                    pieces.clear()
                pieces.append(text)
        for detail in mappings_in(delta.get(DETAILS)):
            self._add_detail(detail)
        for call in mappings_in(calls_in(delta)):
            self._add_call(call)

    def _add_detail(self, part: Mapping[str, Any]) -> None:
        """Pieces of one block have its number and type, and a part of its text each."""
        last = self._details[-1] if self._details else {}
        if not last or any(part.get(key) != last.get(key) for key in ("index", "type")):
            self._details.append(dict(part))
            return
        for key, value in part.items():
            if key in _GROWING and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value

    def _add_call(self, part: Mapping[str, Any]) -> None:
        """Join a piece to its call: by number, by id, or the last one where it has neither."""
        function, id = mapping_in(part, "function"), text_in(part.get("id"))
        name, arguments = text_in(function.get("name")), function.get("arguments")
        # An object is the whole of the arguments.
        arguments = json.dumps(arguments) if isinstance(arguments, Mapping) else arguments
        arguments = arguments if isinstance(arguments, str) else ""
        has_number = re.fullmatch(r"[0-9]{1,9}", str(part.get("index")))
        if has_number:
            call = self._open.get(number_of(part))
        else:
            named = [other for other in self._calls if id and other.id == id]
            call = next(iter(named), None if id or not self._calls else self._calls[-1])
        if call is not None and arguments == call.arguments and _is_object(arguments):
            return  # the whole call once more
        # Some servers number every call 0: another id, or a whole call before, begins another.
        if call is None or (id and call.id not in ("", id)) or call.is_followed_by(name, arguments):
            call = _CallFold()
            self._calls.append(call)
        if has_number:
            self._open[number_of(part)] = call
        call.add(id, name, arguments)

    def message(self) -> dict[str, Any]:
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        calls = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
            for call in self._calls
        ]
        return {**texts, DETAILS: self._details, "tool_calls": calls}


class _CallFold:
    """The pieces of one tool call in a stream."""

    def __init__(self) -> None:
        self.id = self.name = ""
        self._pieces: list[str] = []

    @property
    def arguments(self) -> str:
        """The text so far; the last piece, where each repeats what came before."""
        text = "".join(self._pieces)
        if len(self._pieces) > 1 and not _is_object(text):
            last = self._pieces[-1]
            if _is_object(last) and last.startswith(self._pieces[-2]):
                return last
        return text

    def is_followed_by(self, name: str, arguments: str) -> bool:
        """Whether a piece begins another call: this one is whole, or is another tool's."""
        if name and self.name and name != self.name and self._pieces:
            return not name.startswith(self.name)
        return arguments.lstrip().startswith("{") and _is_object(self.arguments)

    def add(self, id: str, name: str, arguments: str) -> None:
        """Join a piece. A name may come whole, in pieces, or again with each piece."""
        self.id = self.id or id
        if name.startswith(self.name):
            self.name = name or self.name
        elif not self._pieces:
            self.name += name
        if arguments:
            self._pieces.append(arguments)


def _is_object(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(orjson.loads(text), dict)
    except ValueError:
        return False


def mapping_in(mapping: Any, name: str) -> Mapping[str, Any]:
    """The mapping under `name`, or an empty one."""
    part = mapping.get(name) if isinstance(mapping, Mapping) else None
    return part if isinstance(part, Mapping) else {}


def mappings_in(values: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; none in anything else."""
    values = values if isinstance(values, list) else []
    return [value for value in values if isinstance(value, Mapping)]


def text_in(value: Any) -> str:
    """A string, or the texts of a list of content parts; anything else is empty."""
    if isinstance(value, str):
        return storable(value)
    parts = value if isinstance(value, list) else []
    return "".join(
        storable(part) if isinstance(part, str) else text_in(part.get("text"))
        for part in parts
        if isinstance(part, str | Mapping)
    )


def thinking_in(content: Any) -> str:
    """The texts of thinking parts in a list of content parts (Mistral, Anthropic)."""
    thoughts = (text_in(part.get("thinking")) for part in mappings_in(content))
    return "\n".join(filter(None, thoughts))


def calls_in(message: Mapping[str, Any]) -> Any:
    """Its tool calls; a deprecated `function_call` as a list of one."""
    old = message.get("function_call")
    return message.get("tool_calls") or ([{"function": old}] if isinstance(old, Mapping) else [])


def number_of(part: Mapping[str, Any]) -> int:
    """The number of a choice or a call; 0 where it has none."""
    index = str(part.get("index"))
    return int(index) if re.fullmatch(r"[0-9]{1,9}", index) else 0


def read_usage(usage: Any) -> Usage:
    """The token counts of `usage`, 0 for what is missing or not a whole number."""

    def count(counts: Any, name: str) -> int:
        value = counts.get(name) if isinstance(counts, Mapping) else None
        return value if type(value) is int and 0 < value < 2**53 else 0

    read, written = (
        mapping_in(usage, f"{side}_tokens_details") for side in ("prompt", "completion")
    )
    return Usage(
        input=count(usage, "prompt_tokens"),
        output=count(usage, "completion_tokens"),
        cached=count(read, "cached_tokens"),
        reasoning=count(written, "reasoning_tokens"),
        written=count(read, "cache_write_tokens"),
    )
