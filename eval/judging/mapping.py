"""Asking a model which of some values each key stands for, if any: the request and its reading.

A reply that cannot be used is repaired once; a request that fails alone raises nothing.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from branchwise.agents.prediction import FormatError
from branchwise.agents.reply import ModelError, Reply
from branchwise.agents.response_bodies import split_thinking
from branchwise.base.files import json_kind
from branchwise.base.text import one_line
from branchwise.eval.judging.consultant import DECLINED, Consultant

MAX_SHOWN, MAX_QUESTION = 300, 2_000
"""Characters of a name or an answer, and of a question, that a model sees."""
_CUT = " … "
REPAIR = "mapping_repair"
_MAX_RETURNED = 20_000
"""Characters of an unusable reply that are sent back with the request to repair it."""


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    """The text on one line of at most `limit` characters, perhaps empty. Control and format
    characters are removed, so that a name cannot start a line, change the writing direction or
    contain hidden text. A long text keeps both ends: readings of a question may start alike and end
    differently."""

    def visible(character: str) -> str:
        if character.isprintable() or character.isspace():
            return character
        return " " if unicodedata.category(character) == "Cc" else ""

    line = one_line(text if text.isprintable() else "".join(map(visible, text)))
    if len(line) <= limit:
        return line
    head = (limit - len(_CUT)) * 2 // 3
    return f"{line[:head]}{_CUT}{line[head + len(_CUT) - limit :]}"


MAX_REPLY = 100_000
"""Characters of a reply that are read as JSON."""
_FENCE = "```"

Indices = tuple[int | None, ...]
"""For each key of a request the index of its value, None if it stands for none."""


@dataclass(frozen=True)
class MappingRequest:
    """A user message that asks to map `keys` to `values`, both as the model sees them, by ids: a
    letter and a number from 1 (`n1`, `r1`). So a name can neither be miscopied nor pose as an
    instruction."""

    message: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    key_letter: str
    value_letter: str

    @property
    def key_ids(self) -> list[str]:
        return [f"{self.key_letter}{n}" for n in range(1, len(self.keys) + 1)]

    @property
    def value_ids(self) -> list[str]:
        return [f"{self.value_letter}{n}" for n in range(1, len(self.values) + 1)]

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of the reply: exactly one entry for each key, a value's id or null."""
        value = {"type": ["string", "null"], "enum": [*self.value_ids, None]}
        return {
            "type": "object",
            "properties": dict.fromkeys(self.key_ids, value),
            "required": self.key_ids,
            "additionalProperties": False,
        }


def listed(letter: str, texts: Sequence[str]) -> str:
    return "\n".join(f"{letter}{n}: {text}" for n, text in enumerate(texts, start=1))


def read_mapping(reply: str, request: MappingRequest) -> Indices:
    """The mapping that a reply gives, key by key.

    It is one JSON object, perhaps in one code fence, with exactly one entry for each key. Only
    these deviations are accepted: ids in another case, the exact text of a key or of a value in
    place of its id (an id that is also a text is the id), and the text "null" for null.

    Raises:
        FormatError: for anything else; the message says what, in one line.
    """
    keys = _Ids(request.key_ids, request.keys)
    values = _Ids(request.value_ids, request.values)
    indices: dict[int, int | None] = {}
    for key, value in _object(reply):
        index = keys.index(key)
        if index is None:
            raise FormatError(f"{_quoted(key)} is not one of {_range(request.key_ids)}")
        if index in indices:
            raise FormatError(f"{request.key_ids[index]} has more than one entry")
        indices[index] = _value(value, values, request.value_ids)
    missing = [id for index, id in enumerate(request.key_ids) if index not in indices]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise FormatError(f"there is no entry for {', '.join(missing[:5])}{more}")
    return tuple(indices[index] for index in range(len(request.keys)))


class _Ids:
    """Finds what an id, or a text in its place, stands for."""

    def __init__(self, ids: Iterable[str], texts: Sequence[str]) -> None:
        self._by_id = {id: index for index, id in enumerate(ids)}
        # A text that several share names none of them.
        counts = Counter(texts)
        self._by_text = {text: i for i, text in enumerate(texts) if counts[text] == 1}

    def index(self, text: str) -> int | None:
        by_id = self._by_id.get(text.strip().casefold())
        return self._by_text.get(shown(text)) if by_id is None else by_id


def _value(value: object, values: _Ids, ids: Sequence[str]) -> int | None:
    if value is None:
        return None
    index = values.index(value) if isinstance(value, str) else None
    if index is None and not (isinstance(value, str) and value.strip().casefold() == "null"):
        raise FormatError(f"{_quoted(value)} is neither null nor one of {_range(ids)}")
    return index


def _object(reply: str) -> list[tuple[str, Any]]:
    text = _without_fence(split_thinking(reply)[0].strip())
    if not text:
        raise FormatError("the reply is empty")
    if len(text) > MAX_REPLY:
        raise FormatError(f"the reply is longer than {MAX_REPLY} characters")
    try:
        # As pairs: a repeated key must not go unnoticed.
        data = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        raise FormatError("the reply is not one JSON object") from None
    if not isinstance(data, _Pairs):
        raise FormatError("the reply is not one JSON object")
    return data


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as the pairs that were written."""


def _without_fence(text: str) -> str:
    if len(text) < 2 * len(_FENCE) or not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    language, brace, rest = text.strip("`").partition("{")
    is_fence = brace and (language.strip() or "json").isalnum()
    return brace + rest.strip() if is_fence else text


def _quoted(value: object) -> str:
    """What the model wrote, short and on one line."""
    if isinstance(value, str):
        return json.dumps(shown(value, 60), ensure_ascii=False)
    return "an object" if isinstance(value, _Pairs) else json_kind(value)


def _range(ids: Sequence[str]) -> str:
    return ids[0] if len(ids) == 1 else f"{ids[0]} to {ids[-1]}"


@dataclass(frozen=True)
class MappingOutcome:
    """The result of a request. `indices` is None if no reply could be used; `problem` says why.
    `repaired`: the second reply was usable. `failed`: a call got no reply, which the next scoring
    repeats."""

    indices: Indices | None
    problem: str | None = None
    repaired: bool = False
    failed: bool = False

    @property
    def is_usable(self) -> bool:
        return self.indices is not None

    @property
    def is_to_one(self) -> bool:
        """Whether several keys were all mapped to one value."""
        indices = self.indices or ()
        return len(indices) > 1 and len(set(indices)) == 1 and indices[0] is not None


class Mapper(Consultant):
    """A model that maps; the prompt of its role (`matcher`, `judge`) has the role's name."""

    async def map(self, request: MappingRequest) -> MappingOutcome:
        """One call, and a second if the first reply cannot be used. Raises ModelError where every
        other request would fail as well, and InputError where the model cannot be asked at all."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        prompts = self.prompts
        messages = [SystemMessage(prompts.render(self._role)), HumanMessage(request.message)]
        try:
            reply = await self.ask(messages, schema=request.schema)
            first = _read(reply, request)
            if first.indices is not None or reply.finish in DECLINED:
                return first
            schema = orjson.dumps(request.schema).decode()
            note = prompts.render(REPAIR, problem=first.problem or "", schema=schema)
            answer = AIMessage(reply.message.text[:_MAX_RETURNED] or "(no answer)")
            reply = await self.ask([*messages, answer, HumanMessage(note)], schema=request.schema)
        except ModelError as error:
            if error.is_everywhere:
                raise
            return MappingOutcome(None, f"the model failed: {error}", failed=True)
        second = _read(reply, request)
        return MappingOutcome(second.indices, second.problem, repaired=second.indices is not None)


def _read(reply: Reply, request: MappingRequest) -> MappingOutcome:
    if declined := DECLINED.get(reply.finish):
        return MappingOutcome(None, declined)
    try:
        return MappingOutcome(read_mapping(reply.message.text, request))
    except FormatError as error:
        cut = " (it was cut at the limit of tokens)" if reply.finish == "length" else ""
        return MappingOutcome(None, f"{error}{cut}")
