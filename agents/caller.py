"""Asking a model: recall, send, retry, record."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from branchwise.agents.decoding import Decoding
from branchwise.agents.endpoints import Endpoint, InProcess, ModelServer
from branchwise.agents.headers import NO_HEADERS
from branchwise.agents.journal import (
    CallKey,
    ConversationDigest,
    Journal,
    ToolSet,
    canonical,
    fingerprint,
    item_of,
    sample_of,
)
from branchwise.agents.outages import Sleep
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reasoning import DETAILS, ITEMS, native_of
from branchwise.agents.refusals import demands_reasoning_back
from branchwise.agents.replay import RecordedModel
from branchwise.agents.reply import Completion, ModelError, Reply
from branchwise.agents.restraints import UNRESTRAINED, Restraints, with_retries, within_limits
from branchwise.agents.spec import ModelSpec
from branchwise.agents.text_protocol import (
    describe_tools,
    is_written_call,
    read_calls,
    render_messages,
)
from branchwise.base.backoff import Sign
from branchwise.base.keys import NO_KEYS, Keys, headers_for
from branchwise.trace.events import LeftOut, Retry
from branchwise.trace.parts import Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

_MAX_TOOL_SETS = 64
# What a server's template may add to a request's own text: its default prompt, how to call tools.
_TEMPLATE_TOKENS = 1_000


class ModelCaller:
    """Asks one model, for all items of a run at once. Holds one client; cheap to call.

    `model` puts an in-process chat model in the place of the spec's (for embedding and
    benchmarks); `sleep` is how retries wait, in seconds; `restraints` hold requests back.
    A spec without an address is asked at `OPENAI_BASE_URL` where that is set; `keys` say which key
    its server gets, and `headers` go with every request. `recorded` answers where the spec is a
    replay: its identity is the caller's, so that equal requests have the digests under which they
    were recorded.
    """

    def __init__(
        self,
        spec: ModelSpec,
        decoding: Decoding,
        prompts: Prompts,
        *,
        model: BaseChatModel | None = None,
        sleep: Sleep = asyncio.sleep,
        restraints: Restraints = UNRESTRAINED,
        recorded: RecordedModel | None = None,
        keys: Keys = NO_KEYS,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        assert recorded is not None or model is not None or spec.provider != "replay"
        spec = spec if model else spec.addressed()
        self.spec, self.decoding, self.prompts = spec, decoding, prompts
        self._sleep = sleep
        self._limiter = restraints.limiter(spec) if model is None else None
        self._watch = restraints.watch(spec) if model is None else None
        self._allowance = restraints.allowance
        self._recorded = recorded
        # In-process models take calls as they are: no server is involved that might not support
        # them.
        has_server = model is None and spec.service is not None
        self._text = decoding.tool_protocol == "text" and has_server
        self._endpoint: Endpoint
        if has_server:
            own = headers_for(headers, spec.url, of_model=True)
            self._endpoint = ModelServer(spec, decoding, keys, own)
        else:
            from branchwise.agents.offline.model import OfflineChatModel

            # Of a replay it is never asked.
            self._endpoint = InProcess(model or OfflineChatModel())
        # By item: the roles and fields of which its trace says already that they are left out, and
        # its conversations by their roles.
        self._told = WeakKeyDictionary[Journal, set[tuple[str, str]]]()
        self._hashed = WeakKeyDictionary[Journal, defaultdict[str, ConversationDigest]]()
        if recorded is not None:
            self._text = recorded.speaks_text
        # Whether requests hold the reasoning of earlier turns by choice: what a server demands is
        # in no digest, as little as what it refuses.
        self._sends_back = self.identity.get("reasoning_back") == "on"
        shown = prompts.render("text_protocol", tools="") if self._text else ""
        self._prefix = canonical([*self.identity.items(), shown])
        self._tool_sets: dict[tuple[int, ...], ToolSet] = {}

    @property
    def gone_seconds(self) -> float:
        """For how long its server was gone so far, all in all."""
        return self._watch.gone_seconds if self._watch else 0.0

    @property
    def identity(self) -> Mapping[str, Any]:
        """Model and decoding, as they enter the system digest. Holds no key and no address."""
        if self._recorded is not None:
            return self._recorded.identity
        return {"model": self.spec.model, **self.decoding.identity}

    async def ask(
        self,
        messages: Sequence[BaseMessage],
        *,
        tools: Sequence[BaseTool] = (),
        schema: Mapping[str, Any] | None = None,
        role: str = "agent",
        journal: Journal,
        time_left: float | None = None,
    ) -> Reply:
        """The model's next message: the recorded one where the journal has it.

        `schema` (JSON schema of the answer) goes only with calls without tools: under a grammar
        several servers stop calling tools. `time_left`, in seconds, bounds every request and every
        wait. A fresh reply is recorded before it returns. Raises ModelError if no attempt brought
        one.
        """
        tool_set = self._tool_set(tools)
        conversations = self._hashed.setdefault(journal, defaultdict(ConversationDigest))
        digest = self._digest(conversations[role], messages, tool_set, schema)
        slot = journal.recall(CallKey("model", role, digest))
        if slot.value is not None:
            recorded = Completion.from_payload(slot.value)
            return Reply.of(recorded, slot.value["seconds"], replayed=True)
        if self._recorded is not None:
            completion, seconds = self._recorded.answer(slot)
            await journal.keep(slot, completion.payload(seconds))
            return Reply.of(completion, seconds, replayed=False)
        deadline = None if time_left is None else time.monotonic() + time_left
        request = _Request(list(messages), tool_set, schema, role, journal, deadline)
        completion, seconds = await self._answer(request)
        await journal.keep(slot, completion.payload(seconds))
        return Reply.of(completion, seconds, replayed=False, waited=request.waited)

    def key(self, messages: Sequence[BaseMessage], *, role: str) -> CallKey:
        """Under which `ask` records the reply to these messages, without tools and schema."""
        digest = self._digest(ConversationDigest(), messages, self._tool_set(()), None)
        return CallKey("model", role, digest)

    async def aclose(self) -> None:
        """Close the connections; the next `ask` opens new ones."""
        if self._recorded is not None:
            self._recorded.close()
        await self._endpoint.aclose()

    def _digest(
        self,
        conversation: ConversationDigest,
        messages: Sequence[BaseMessage],
        tools: ToolSet,
        schema: Mapping[str, Any] | None,
    ) -> str:
        before = self._prefix + tools.canonical
        return conversation.of(before, schema, messages, reasoning=self._sends_back)

    def _tool_set(self, tools: Sequence[BaseTool]) -> ToolSet:
        key = tuple(map(id, tools))
        known = self._tool_sets.get(key)
        if known is None:
            # The set holds its tools, so that their ids stay theirs while it is known.
            if len(self._tool_sets) >= _MAX_TOOL_SETS:
                self._tool_sets.clear()
            known = self._tool_sets[key] = ToolSet.of(tools)
        return known

    @property
    def _speaks_text(self) -> bool:
        """Whether tools go in the text: by choice, or since the server refused them.

        Digests follow the choice alone, so that a run can be continued whatever its server refuses.
        Without its tools the agent could not search, and would be another system.
        """
        return self._text or "tools" in self._endpoint.refused

    def _instructions(self, tools: ToolSet) -> str:
        if not tools.schemas:
            return ""
        return self.prompts.render("text_protocol", tools=describe_tools(tools.schemas))

    async def _answer(self, request: _Request) -> tuple[Completion, float]:
        """The completion and the seconds that its own request took."""

        async def send() -> tuple[Completion, float]:
            if self._watch is None:
                return await self._timed(request)
            return await self._watch.asked(
                lambda: self._timed(request),
                of=item_of(request.journal),
                sign=request.sign,
                on_wait=request.add_wait,
            )

        async def attempt() -> tuple[Completion, float]:
            return await within_limits(
                self._limiter,
                send,
                sleep=self._sleep,
                on_retry=request.tell_retry,
                on_wait=request.add_wait,
            )

        return await with_retries(
            attempt,
            attempts=self.decoding.attempts,
            time_left=request.time_left,
            sleep=self._sleep,
            on_retry=request.tell_retry,
        )

    async def _timed(self, request: _Request) -> tuple[Completion, float]:
        """Sent again without each field that the server refuses, and with the reasoning that it
        demands: at most once each."""
        while True:
            started = time.perf_counter()
            try:
                if self._allowance is None:
                    completion = await self._send(request)
                else:
                    most = self._most_tokens(request)
                    async with self._allowance.request(self.spec, most) as payment:
                        completion = await self._send(request)
                        payment.usage = completion.usage
            except ModelError as error:
                if error.demands_reasoning:
                    request.tell_retry(1, error, 0.0)
                    continue
                if error.refused is None:
                    raise
                refused, words = error.refused, str(error)
            else:
                self._tell_left_out(request, completion.left_out)
                return completion, time.perf_counter() - started
            self._tell_left_out(request, [refused], words)

    async def _send(self, request: _Request) -> Completion:
        """One request, in the tool protocol that the decoding names and the server takes."""
        messages, schemas, schema = request.messages, request.tools.schemas, request.schema
        seconds, left = self.decoding.timeout, request.time_left()
        sample = sample_of(request.journal)
        if left is not None:
            seconds = min(seconds, left)
        if seconds <= 0:
            raise ModelError("timeout", f"{self.spec}: no time is left for the request")
        names = [schema["function"]["name"] for schema in schemas]
        if not self._speaks_text:
            completion = await self._endpoint.complete(messages, schemas, schema, seconds, sample)
            has_calls = completion.tool_calls or completion.invalid_tool_calls
            is_over = completion.finish in ("stop", "tool_calls", "unknown")
            if is_over and not has_calls and is_written_call(completion.text, names):
                completion = replace(completion, finish="text_calls")
            return completion
        turn = sum(message.type == "ai" for message in messages)
        rendered = render_messages(messages, self._instructions(request.tools))
        completion = await self._endpoint.complete(rendered, (), schema, seconds, sample)
        if names and not self._text:
            completion = replace(completion, left_out=(*completion.left_out, "tools"))
        return read_calls(completion, turn, names) if names else completion

    def _most_tokens(self, request: _Request) -> Usage:
        """More than a request can take: every token is a byte of its text at least."""
        sends_back = self._sends_back or demands_reasoning_back(self.spec)
        messages = [
            fingerprint(
                message, reasoning=sends_back or not {ITEMS, DETAILS}.isdisjoint(native_of(message))
            )
            for message in request.messages
        ]
        body = canonical([request.schema, messages])
        instructions = self._instructions(request.tools) if self._speaks_text else ""
        words = len(instructions.encode("utf-8", "replace"))
        read = len(body) + len(request.tools.canonical) + words
        return Usage(read + _TEMPLATE_TOKENS, self.decoding.max_tokens or 0)

    def _tell_left_out(self, request: _Request, fields: Sequence[str], words: str = "") -> None:
        """Say in the item's trace, once a role, which fields its requests lack, and why: in the
        server's `words`, if it has not said so before."""
        role, journal = request.role, request.journal
        known = self._told.setdefault(journal, set()) if fields else set()
        for field in fields:
            if (role, field) not in known:
                known.add((role, field))
                message = self._endpoint.refused.get(field, words)
                journal.event(*LeftOut(role=role, field=field, message=message).written())


@dataclass
class _Request:
    """What `ask` was asked, and what is left of its time. `deadline` is of `time.monotonic`;
    `waited`: seconds for slots of its server, and until that was back, are not its own time."""

    messages: list[BaseMessage]
    tools: ToolSet
    schema: Mapping[str, Any] | None
    role: str
    journal: Journal
    deadline: float | None
    waited: float = 0.0

    def time_left(self) -> float | None:
        if self.deadline is None:
            return None
        return self.deadline + self.waited - time.monotonic()

    def add_wait(self, seconds: float) -> None:
        self.waited += seconds

    def sign(self, error: Exception) -> Sign | None:
        """What a failure says of the server; a question's own end of time says nothing."""
        left = self.time_left()
        if not isinstance(error, ModelError) or (left is not None and left <= 0):
            return None
        return error.sign

    def tell_retry(self, attempt: int, error: ModelError, wait: float) -> None:
        retry = Retry(
            role=self.role,
            attempt=attempt,
            kind=error.kind,
            message=str(error),
            wait=round(wait, 3),
        )
        self.journal.event(*retry.written())
