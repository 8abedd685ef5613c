"""An extractor's requests: concurrent, bounded, in an order that a replay finds again.

Several passages are read with one request, and alone those for which that brought nothing: one
request for each passage takes ten times the agent's own requests.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import ModelError
from branchwise.graphs.extraction.materials import Material, asked_about, passage_message
from branchwise.graphs.extraction.replies import Sections, Spans, read_sections, read_spans
from branchwise.graphs.ledger import EXTRACTOR
from branchwise.graphs.module_call import NO_USAGE, ModuleReply, ask_module
from branchwise.graphs.state import ItemContext
from branchwise.trace.parts import Dropped, Extracted, ExtractionRequest

MAX_AT_ONCE = 32
"""Concurrent extraction calls of one item."""


async def ask_all(
    caller: ModelCaller, requests: Sequence[tuple[str, str]], context: ItemContext
) -> list[ModuleReply]:
    """The extractor's replies to requests (system's and user's message), in order. After an error
    that every call would meet, no further call starts; calls in flight are awaited, because their
    replies are recorded and paid for."""
    replies: dict[int, ModuleReply] = {}
    errors: list[ModelError] = []
    waiting = iter(enumerate(requests))

    async def work() -> None:
        # A message is sent in the step that takes it, so the journal's slots are in the order of
        # the messages, however fast the replies come, and a replay finds its own.
        for number, (system, message) in waiting:
            try:
                replies[number] = await ask_module(caller, EXTRACTOR, system, message, context)
            except ModelError as error:
                errors.append(error)
            if errors:
                return

    await asyncio.gather(*(work() for _ in range(min(MAX_AT_ONCE, len(requests)))))
    if errors:
        raise errors[0]
    # They wait concurrently: together no longer than the one that waited longest.
    context.waited += max((reply.waited for reply in replies.values()), default=0.0)
    return [replies[number] for number in range(len(requests))]


MAX_TOGETHER, MAX_TOGETHER_CHARS = 30, 30_000
"""Passages, and characters of them, in one request; a longer passage is asked about alone."""


@dataclass(frozen=True)
class Sought:
    """A passage to read, and the searches that found it. `dropped`: of replies that were of no use
    for it."""

    material: Material
    searches: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True)
class PassageGroup:
    """Passages of one request. `again`: another reply passed them over."""

    sought: tuple[Sought, ...]
    again: bool = False

    @property
    def first(self) -> str:
        return self.sought[0].material.key


@dataclass
class PassagesRead:
    """What became of passages, by their keys; `requests`: shared ones, by their first passage's."""

    passages: dict[str, Extracted] = field(default_factory=dict)
    requests: dict[str, list[ExtractionRequest]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True)
class ExtractionBrief:
    question: str
    readings: Sequence[str]
    searches: Sequence[str]

    def request(self, group: PassageGroup, prompts: Prompts) -> tuple[str, str]:
        if len(group.sought) == 1:
            (alone,) = group.sought
            search = "; ".join(alone.searches)
            message = passage_message(self.question, self.readings, search, alone.material)
            return prompts.render("extractor"), message
        head = "\n".join(asked_about(self.question, self.readings, self.searches))
        # A line begins with what we say of it: no passage can pose as the start of another.
        passages = (
            f"Passage {number}: {one.material.title}\nText: {one.material.text}"
            for number, one in enumerate(group.sought, start=1)
        )
        return prompts.render("extractor_several"), "\n\n".join([head, *passages])


async def read_together(
    caller: ModelCaller,
    prompts: Prompts,
    brief: ExtractionBrief,
    sought: Sequence[Sought],
    context: ItemContext,
) -> PassagesRead:
    """Read passages, each once. Those for which a shared reply is of no use are asked about alone:
    the call failed, the reply names no passage, was cut before the passage's end, or says only what
    is not in the passage. Those that a reply passes over are asked about together once more; passed
    over again, nothing in them helps."""
    read, waiting = PassagesRead(), list(grouped(sought))
    while waiting:
        requests = [brief.request(group, prompts) for group in waiting]
        replies = await ask_all(caller, requests, context)
        answered = zip(waiting, replies, strict=True)
        waiting = [later for group, reply in answered for later in _read(group, reply, read)]
    return read


def grouped(sought: Sequence[Sought]) -> Iterator[PassageGroup]:
    """The passages in their order, as many to a group as may be asked about together."""
    group: list[Sought] = []
    size = 0
    for one in sought:
        length = len(one.material.title) + len(one.material.text)
        if group and (len(group) == MAX_TOGETHER or size + length > MAX_TOGETHER_CHARS):
            yield PassageGroup(tuple(group))
            group, size = [], 0
        group.append(one)
        size += length
    if group:
        yield PassageGroup(tuple(group))


def _read(group: PassageGroup, reply: ModuleReply, read: PassagesRead) -> list[PassageGroup]:
    """Note what a reply brought; what is to be asked about again."""
    if len(group.sought) == 1:
        (alone,) = group.sought
        read.passages[group.first] = read_alone(alone.material, reply, alone.dropped)
        return []
    materials = [sought.material for sought in group.sought]
    sections = Sections() if reply.error else read_sections(reply.text, materials)
    later, passed_over = list[Sought](), list[Sought]()
    for number, one in enumerate(group.sought):
        record = _of_section(one, number, sections, reply)
        is_named, is_dropped = number in sections.named, bool(record.dropped)
        is_cut = reply.cut and (not is_named or number in sections.last)
        is_useless = not record.spans and (is_dropped or number in sections.strayed)
        if sections.named and not (is_named or reply.cut or group.again):
            passed_over.append(one)
        elif not sections.named or is_cut or is_useless:
            later.append(replace(one, dropped=(*one.dropped, *record.dropped)))
        else:
            read.passages[one.material.key] = record
    used = len(group.sought) - len(later) - len(passed_over)
    request = ExtractionRequest(passages=len(group.sought), used=used, **reply.facts)
    read.requests[group.first].append(request)
    together = [PassageGroup(tuple(passed_over), again=True)] if passed_over else []
    return [*together, *(PassageGroup((one,)) for one in later)]


def _of_section(one: Sought, number: int, sections: Sections, reply: ModuleReply) -> Extracted:
    """What a shared reply says of a passage; that it passes it over says that nothing helps."""
    spans = read_spans("\n".join(sections.said.get(number, ())), one.material.text)
    return Extracted(
        id=one.material.id,
        spans=spans.kept,
        dropped=(*one.dropped, *spans.dropped),
        how="spans" if spans.kept else "none",
        whole=spans.whole,
        error=None,
        usage=NO_USAGE,
        seconds=0.0,
        shared=True,
        replayed=reply.replayed,
    )


def read_alone(
    material: Material, reply: ModuleReply, dropped: tuple[Dropped, ...] = ()
) -> Extracted:
    """What the reply about one passage brought; `dropped`: of earlier replies."""
    spans = Spans() if reply.error else read_spans(reply.text, material.text)
    return Extracted(
        id=material.id,
        spans=spans.kept,
        dropped=(*dropped, *spans.dropped),
        how="failed" if reply.error else "spans" if spans.kept else "none",
        whole=spans.whole,
        **reply.facts,
    )
