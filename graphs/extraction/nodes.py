"""Extraction with one request for each passage of each result: the paper's way."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.base.text import cut
from branchwise.graphs.extraction.materials import (
    GAP,
    Material,
    PassageResult,
    all_spans,
    asked_words,
    asks_for_more,
    has_before_it,
    materials_of,
    passage_message,
    passage_results,
    results_in_view,
    searched,
    searched_all,
    stands_in,
)
from branchwise.graphs.extraction.replies import Spans, read_spans
from branchwise.graphs.extraction.requests import (
    ExtractionBrief,
    PassagesRead,
    Sought,
    ask_all,
    by_first,
    read_together,
)
from branchwise.graphs.module_call import NO_USAGE, ModuleReply
from branchwise.graphs.reduce import StateUpdate, extracted, folded
from branchwise.graphs.state import AgentState, GraphNode, ItemContext, PassageExtract
from branchwise.graphs.tool_node import bounded
from branchwise.tools.artifacts import RepeatRecord
from branchwise.tools.passage_blocks import block, blocks
from branchwise.trace.events import Extraction
from branchwise.trace.parts import Call, Extracted


@dataclass(frozen=True)
class _PassageSpans:
    """The result for a passage. If the call failed, the agent sees the passage whole."""

    material: Material
    said: ModuleReply
    spans: Spans

    @classmethod
    def of(cls, material: Material, said: ModuleReply) -> "_PassageSpans":
        """Read what an extractor said about `material`."""
        return cls(material, said, Spans() if said.error else read_spans(said.text, material.text))

    @property
    def how(self) -> str:
        """`spans`, `none` or `failed`."""
        if self.said.error:
            return "failed"
        return "spans" if self.spans.kept else "none"

    @property
    def shown(self) -> str | None:
        """What the agent sees of it; None if nothing."""
        text = self.material.text if self.said.error else GAP.join(self.spans.kept)
        head = f"[{self.material.id}] {self.material.title}"
        return f"{head}\n{text}" if text or self.said.error else None

    @property
    def event(self) -> Extracted:
        """As the trace keeps it."""
        return Extracted(
            id=self.material.id,
            spans=tuple(self.spans.kept),
            dropped=self.spans.dropped,
            how=self.how,
            whole=self.spans.whole,
            **self.said.facts,
        )


def _shown_extractions(extractions: Sequence[_PassageSpans]) -> str:
    """The tool result that the agent sees; the last line says how many passages are left out."""
    blocks = [shown for extraction in extractions if (shown := extraction.shown) is not None]
    if missing := len(extractions) - len(blocks):
        passages = "1 passage" if missing == 1 else f"{missing} passages"
        blocks.append(f"[left out: {passages} without anything that helps]")
    return bounded("\n\n".join(blocks))


def make_extract_by_passage_node(caller: ModelCaller, prompts: Prompts) -> GraphNode:
    """The node `extract`: tool results with passages become what was copied out of them.

    The extractor reads each passage in its own call; the calls of a turn are concurrent. A passage
    whose call failed is shown whole.
    """
    system = prompts.render("extractor")

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        results = [result for result in passage_results(state) if result.materials]
        readings = state.get("readings", ())
        asked = [
            (material, passage_message(context.question, readings, search, material))
            for result in results
            for search in [searched(result.call)]
            for material in result.materials
        ]
        said = await ask_all(caller, [(system, message) for _, message in asked], context)
        read = iter([_PassageSpans.of(m, s) for (m, _), s in zip(asked, said, strict=True)])
        change = StateUpdate()
        for result in results:
            extraction = _extraction(result, [next(read) for _ in result.materials])
            context.event(extraction)
            change = extracted(extraction, folded(state, change))
        return change

    return extract


def _extraction(result: PassageResult, read: Sequence[_PassageSpans]) -> Extraction:
    """Of one tool call."""
    return Extraction(
        call=Call(result.call["id"], result.call["name"]),
        of=result.of,
        passages=tuple(one.event for one in read),
        content=_shown_extractions(read),
    )


MAX_NAMED, MAX_NAMED_CHARS = 20, 200
"""Passages with nothing that helps which are named, and characters of the title of each."""
_NEW = PassageExtract()


def make_extract_by_search_node(caller: ModelCaller, prompts: Prompts) -> GraphNode:
    """The node `extract`: tool results with passages become what was copied out of them.

    A passage of several results is read once, one that was read at an earlier turn only if a search
    asks for something else; what the agent has before it is not shown again, and what a search
    only names stays named. A passage whose calls failed is shown whole.
    """

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, results = runtime.context, list(passage_results(state))
        readings = state.get("readings", ())
        found_by = _searches_by_passage(results)
        searches = list(dict.fromkeys(searched_all(result.call) for result in results))
        known = asked_words(context.question, readings)
        sought = list(_to_read(results, found_by, known, state.get("extracts") or {}))
        brief = ExtractionBrief(context.question, readings, searches)
        read = await read_together(caller, prompts, brief, sought, context)
        turn, change = _Turn(read, results_in_view(state), _by_id(state)), StateUpdate()
        for result in results:
            now = folded(state, change)
            extraction = turn.extraction(result, now.get("extracts") or {})
            context.event(extraction)
            change = extracted(extraction, now)
        return change

    return extract


def _searches_by_passage(results: Sequence[PassageResult]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    key_of: dict[str, str] = {}
    for result in results:
        search = searched_all(result.call)
        key_of |= {material.id: material.key for material in result.materials}
        named = [key_of[one.id] for one in result.repeats if one.id in key_of]
        for key in [*(material.key for material in result.materials), *named]:
            searches = found.setdefault(key, [])
            if search not in searches:
                searches.append(search)
    return found


def _by_id(state: AgentState) -> dict[str, Material]:
    """The passages of all results."""
    messages = [*state["messages"], *state["pending"]]
    return {one.id: one for message in messages for one in materials_of(message)}


def _to_read(
    results: Sequence[PassageResult],
    found_by: Mapping[str, Sequence[str]],
    known: frozenset[str],
    extracts: Mapping[str, PassageExtract],
) -> Iterator[Sought]:
    """The passages that were not read yet, or not for what is searched for now, each once."""
    materials = {one.key: one for result in results for one in result.materials}
    for key, material in materials.items():
        before = extracts.get(key)
        if before is None or asks_for_more(found_by[key], known, before):
            yield Sought(material, tuple(found_by[key]))


class _Turn:
    """A turn's extractions, made in the order of its calls. `shown`: results before each; `by_id`:
    passages that a result may name."""

    def __init__(self, read: PassagesRead, shown: list[str], by_id: Mapping[str, Material]) -> None:
        self._fresh = dict(read.passages)
        self._read = read.passages
        self._requests = dict(by_first(read.requests))
        self._shown = shown
        self._by_id = by_id

    def extraction(
        self, result: PassageResult, extracts: Mapping[str, PassageExtract]
    ) -> Extraction:
        """Of one tool call."""
        before = [extracts.get(material.key, _NEW) for material in result.materials]
        requests = [
            request
            for material in result.materials
            for request in self._requests.pop(material.key, ())
        ]
        pairs = zip(result.materials, before, strict=True)
        records = [self._record(material, earlier) for material, earlier in pairs]
        content = _Content(self._shown)
        for material, record, earlier in zip(result.materials, records, before, strict=True):
            content.add(material, record, earlier)
        here = {material.id for material in result.materials}
        for id in (one.id for one in result.repeats if one.id not in here):
            # What a plug-in's node took away before it was read was never shown.
            if named := self._by_id.get(id):
                content.name(named, extracts.get(named.key))
        self._shown.append(content.text)
        return Extraction(
            call=Call(result.call["id"], result.call["name"]),
            of=result.of,
            passages=tuple(records),
            content=content.text,
            requests=tuple(requests),
        )

    def _record(self, material: Material, before: PassageExtract) -> Extracted:
        """What became of the passage: read for this turn, found once more, or read earlier."""
        if fresh := self._fresh.pop(material.key, None):
            return fresh
        if now := self._read.get(material.key):
            again = {"usage": NO_USAGE, "seconds": 0.0, "reasoning": "", "dropped": ()}
            return now.changed(**again, shared=False, reused=True)
        spans = all_spans(before, material.text)
        return Extracted(
            id=material.id,
            spans=spans,
            how="spans" if spans else "none",
            whole=spans == (material.text,),
            error=None,
            usage=NO_USAGE,
            seconds=0.0,
            reused=True,
        )


class _Content:
    """A tool result as the agent reads it: what is new, what it was shown before, and what has
    nothing that helps, by their titles. `shown`: the results that it has before it."""

    def __init__(self, shown: Sequence[str]) -> None:
        self._shown = shown
        self._new: list[dict[str, object]] = []
        self._repeats: list[RepeatRecord] = []
        self._nothing: list[str] = []

    def add(self, material: Material, record: Extracted, before: PassageExtract) -> None:
        """The next passage of the result."""
        spans = record.spans or all_spans(before, material.text)
        text = material.text if record.how == "failed" else GAP.join(spans)
        shown = [*self._shown, *map(block, self._new)]
        is_shown = stands_in(shown, material, text) or has_before_it(shown, material, spans, before)
        if text and not is_shown:
            self._new.append({**material.record, "text": text})
        else:
            self._name(material, helps=bool(text))

    def name(self, material: Material, before: PassageExtract | None) -> None:
        """A passage that a search named only; of one whose calls failed nothing was extracted."""
        self._name(material, helps=before is None or bool(before.spans))

    def _name(self, material: Material, *, helps: bool) -> None:
        if helps:
            self._repeats.append(RepeatRecord(id=material.id, title=material.title))
        else:
            self._nothing.append(f"[{material.id}] {cut(material.title, MAX_NAMED_CHARS)}")

    @property
    def text(self) -> str:
        """The result, bounded."""
        named = self._nothing[:MAX_NAMED]
        if more := len(self._nothing) - len(named):
            named.append(f"and {more} more")
        nothing = [f"[left out, nothing found in: {'; '.join(named)}]"] if named else []
        found = blocks(self._new, self._repeats)
        return bounded("\n\n".join([*([found] if found else []), *nothing]))
