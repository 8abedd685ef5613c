"""An extractor's requests: concurrent, bounded, in an order that a replay finds again."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from branchwise.agents.caller import ModelCaller, ModelError
from branchwise.agents.prompt_files import Prompts
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
    """The extractor's replies to requests (system's and user's message), in order.

    After an error that every call would meet, no further call starts; calls in flight are awaited,
    because their replies are recorded and paid for.
    """
    said: dict[int, ModuleReply] = {}
    errors: list[ModelError] = []
    waiting = iter(enumerate(requests))

    async def work() -> None:
        # A message is sent in the step that takes it, so the journal's slots are in the order of
        # the messages, however fast the replies come, and a replay finds its own.
        for number, (system, message) in waiting:
            try:
                said[number] = await ask_module(caller, EXTRACTOR, system, message, context)
            except ModelError as error:
                errors.append(error)
            if errors:
                return

    await asyncio.gather(*(work() for _ in range(min(MAX_AT_ONCE, len(requests)))))
    if errors:
        raise errors[0]
    replies = [said[number] for number in range(len(requests))]
    # They wait concurrently: together no longer than the one that waited longest.
    context.waited += max((one.waited for one in replies), default=0.0)
    return replies


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
        """The key of its first passage."""
        return self.sought[0].material.key


@dataclass
class PassagesRead:
    """What became of passages, by their keys: as the trace keeps it. `requests`: shared ones, each
    with the key of its first passage."""

    passages: dict[str, Extracted] = field(default_factory=dict)
    requests: list[tuple[str, ExtractionRequest]] = field(default_factory=list)


@dataclass(frozen=True)
class ExtractionBrief:
    """What the passages of a turn are read for."""

    question: str
    readings: Sequence[str]
    searches: Sequence[str]

    def request(self, group: PassageGroup, prompts: Prompts) -> tuple[str, str]:
        """The system's and the user's message about a group."""
        if len(group.sought) > 1:
            return prompts.render("extractor_several"), self._message(group.sought)
        (alone,) = group.sought
        search = "; ".join(alone.searches)
        message = passage_message(self.question, self.readings, search, alone.material)
        return prompts.render("extractor"), message

    def _message(self, sought: Sequence[Sought]) -> str:
        """Each passage behind an empty line, its title and its text on one line each.

        A line begins with what we say of it: no passage can pose as the start of another.
        """
        head = "\n".join(asked_about(self.question, self.readings, self.searches))
        passages = (
            f"Passage {number}: {one.material.title}\nText: {one.material.text}"
            for number, one in enumerate(sought, start=1)
        )
        return "\n\n".join([head, *passages])


async def read_together(
    caller: ModelCaller,
    prompts: Prompts,
    brief: ExtractionBrief,
    sought: Sequence[Sought],
    context: ItemContext,
) -> PassagesRead:
    """Read passages, each once.

    Those for which a shared reply is of no use are asked about alone: the call failed, the reply
    names no passage, was cut before the passage's end, or says only what is not in the passage.
    Those that a reply passes over are asked about together once more; passed over again, nothing in
    them helps.
    """
    found, waiting = PassagesRead(), list(grouped(sought))
    while waiting:
        requests = [brief.request(group, prompts) for group in waiting]
        replies = await ask_all(caller, requests, context)
        answered = zip(waiting, replies, strict=True)
        waiting = [later for group, said in answered for later in _read(group, said, found)]
    return found


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


def _read(group: PassageGroup, said: ModuleReply, found: PassagesRead) -> list[PassageGroup]:
    """Note what a reply brought; what is to be asked about again."""
    if len(group.sought) == 1:
        found.passages[group.first] = _alone(group.sought[0], said)
        return []
    sections = Sections() if said.error else read_sections(said.text, _materials(group))
    later, passed_over = list[Sought](), list[Sought]()
    for number, one in enumerate(group.sought):
        record = _of_section(one, number, sections, said)
        if number not in sections.named and sections.named and not said.cut and not group.again:
            passed_over.append(one)
        elif _is_useless(number, sections, said, record):
            later.append(replace(one, dropped=(*one.dropped, *record.dropped)))
        else:
            found.passages[one.material.key] = record
    used = len(group.sought) - len(later) - len(passed_over)
    request = ExtractionRequest(passages=len(group.sought), used=used, **said.facts)
    found.requests.append((group.first, request))
    together = [PassageGroup(tuple(passed_over), again=True)] if passed_over else []
    return [*together, *(PassageGroup((one,)) for one in later)]


def _materials(group: PassageGroup) -> list[Material]:
    return [one.material for one in group.sought]


def _is_useless(number: int, sections: Sections, said: ModuleReply, record: Extracted) -> bool:
    if not sections.named:
        return True
    if said.cut and (number not in sections.named or number in sections.last):
        return True
    return not record.spans and (bool(record.dropped) or number in sections.strayed)


def _of_section(one: Sought, number: int, sections: Sections, said: ModuleReply) -> Extracted:
    """What a shared reply says of a passage; that it passes it over says that nothing helps."""
    spans = read_spans("\n".join(sections.said.get(number, ())), one.material.text)
    how = "spans" if spans.kept else "none"
    return _record(one, spans, how).changed(shared=True, replayed=said.replayed)


def _alone(one: Sought, said: ModuleReply) -> Extracted:
    spans = Spans() if said.error else read_spans(said.text, one.material.text)
    how = "failed" if said.error else "spans" if spans.kept else "none"
    return _record(one, spans, how).changed(**said.facts)


def _record(one: Sought, spans: Spans, how: str) -> Extracted:
    return Extracted(
        id=one.material.id,
        spans=spans.kept,
        dropped=(*one.dropped, *spans.dropped),
        how=how,
        whole=spans.whole,
        error=None,
        usage=NO_USAGE,
        seconds=0.0,
    )


def by_first(
    requests: Sequence[tuple[str, ExtractionRequest]],
) -> Mapping[str, list[ExtractionRequest]]:
    """Shared requests by the key of their first passage."""
    found: dict[str, list[ExtractionRequest]] = {}
    for key, request in requests:
        found.setdefault(key, []).append(request)
    return found
