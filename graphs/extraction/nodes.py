"""The node `extract`: one request for each passage of each result, as in the paper, or one for the
passages of a turn's searches."""

from collections.abc import Mapping, Sequence

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.base.text import cut
from branchwise.graphs.compaction import in_view
from branchwise.graphs.extraction.materials import (
    GAP,
    NOTHING_YET,
    Material,
    PassageResult,
    all_spans,
    asked_words,
    asks_for_more,
    has_before_it,
    materials_of,
    passage_message,
    passage_results,
    searched,
    stands_in,
)
from branchwise.graphs.extraction.requests import (
    ExtractionBrief,
    PassagesRead,
    Sought,
    ask_all,
    read_alone,
    read_together,
)
from branchwise.graphs.module_call import NO_USAGE
from branchwise.graphs.reduce import StateUpdate, extracted, folded
from branchwise.graphs.state import AgentState, GraphNode, ItemContext, PassageExtract
from branchwise.tools.artifacts import RepeatRecord
from branchwise.tools.result_text import block, blocks
from branchwise.tools.tool_results import bounded
from branchwise.trace.events import Extraction
from branchwise.trace.parts import Call, Extracted, ExtractionRequest

MAX_NAMED, MAX_NAMED_CHARS = 20, 200
"""Passages with nothing that helps which are named, and characters of the title of each."""


def make_extract_by_passage_node(caller: ModelCaller, prompts: Prompts) -> GraphNode:
    """The node `extract`: tool results with passages become what was copied out of them. The
    extractor reads each passage in its own call; the calls of a turn are concurrent. A passage
    whose call failed is shown whole."""
    system = prompts.render("extractor")

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        results = [result for result in passage_results(state) if result.materials]
        readings = state.get("readings", ())
        materials = [material for result in results for material in result.materials]
        searches = [searched(result.call, in_lists=False) for result in results]
        messages = [
            passage_message(context.question, readings, search, material)
            for result, search in zip(results, searches, strict=True)
            for material in result.materials
        ]
        replies = await ask_all(caller, [(system, message) for message in messages], context)
        records = iter([read_alone(m, r) for m, r in zip(materials, replies, strict=True)])
        change = StateUpdate()
        for result in results:
            own = tuple(next(records) for _ in result.materials)
            extraction = Extraction(
                call=Call(result.call["id"], result.call["name"]),
                of=result.of,
                passages=own,
                content=_content(result.materials, own),
            )
            context.event(extraction)
            change = extracted(extraction, folded(state, change))
        return change

    return extract


def _content(materials: Sequence[Material], records: Sequence[Extracted]) -> str:
    """The tool result that the agent sees, whole passages where a call failed; the last line says
    how many passages are left out."""
    shown = []
    for material, record in zip(materials, records, strict=True):
        text = material.text if record.how == "failed" else GAP.join(record.spans)
        if text or record.how == "failed":
            shown.append(f"[{material.id}] {material.title}\n{text}")
    if missing := len(materials) - len(shown):
        passages = "1 passage" if missing == 1 else f"{missing} passages"
        shown.append(f"[left out: {passages} without anything that helps]")
    return bounded("\n\n".join(shown))


def make_extract_by_search_node(caller: ModelCaller, prompts: Prompts) -> GraphNode:
    """The node `extract`: tool results with passages become what was copied out of them. A passage
    of several results is read once, one that was read at an earlier turn only if a search asks for
    something else; what the agent has before it is not shown again, and what a search only names
    stays named. A passage whose calls failed is shown whole."""

    async def extract(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, results = runtime.context, list(passage_results(state))
        readings = state.get("readings", ())
        found_by = _searches_by_passage(results)
        searches = list(dict.fromkeys(searched(result.call) for result in results))
        known, extracts = asked_words(context.question, readings), state.get("extracts") or {}
        # The passages that were not read yet, or not for what is searched for now, each once.
        materials = {material.key: material for result in results for material in result.materials}
        sought = [
            Sought(material, tuple(found_by[key]))
            for key, material in materials.items()
            if key not in extracts or asks_for_more(found_by[key], known, extracts[key])
        ]
        brief = ExtractionBrief(context.question, readings, searches)
        read = await read_together(caller, prompts, brief, sought, context)
        messages = [*state["messages"], *state["pending"]]
        by_id = {one.id: one for message in messages for one in materials_of(message)}
        seen = in_view(state["messages"], state)
        shown = [str(message.text) for message in seen if isinstance(message, ToolMessage)]
        turn, change = _Turn(read, shown, by_id), StateUpdate()
        for result in results:
            now = folded(state, change)
            extraction = turn.extraction(result, now.get("extracts") or {})
            context.event(extraction)
            change = extracted(extraction, now)
        return change

    return extract


def _searches_by_passage(results: Sequence[PassageResult]) -> dict[str, list[str]]:
    searches: dict[str, dict[str, None]] = {}
    key_of: dict[str, str] = {}
    for result in results:
        key_of |= {material.id: material.key for material in result.materials}
        named = [key_of[repeat.id] for repeat in result.repeats if repeat.id in key_of]
        for key in [*(material.key for material in result.materials), *named]:
            searches.setdefault(key, {})[searched(result.call)] = None
    return {key: list(texts) for key, texts in searches.items()}


class _Turn:
    """A turn's extractions, made in the order of its calls. `shown`: results before each; `by_id`:
    passages that a result may name."""

    def __init__(self, read: PassagesRead, shown: list[str], by_id: Mapping[str, Material]) -> None:
        self._fresh, self._requests = dict(read.passages), dict(read.requests)
        self._read, self._shown, self._by_id = read.passages, shown, by_id

    def extraction(
        self, result: PassageResult, extracts: Mapping[str, PassageExtract]
    ) -> Extraction:
        content = _Content(self._shown)
        records, requests = list[Extracted](), list[ExtractionRequest]()
        materials = [(one, extracts.get(one.key, NOTHING_YET)) for one in result.materials]
        for material, before in materials:
            requests += self._requests.pop(material.key, ())
            records.append(self._record(material, before))
        for (material, before), record in zip(materials, records, strict=True):
            content.add(material, record, before)
        here = {material.id for material in result.materials}
        for repeat in result.repeats:
            # What a plug-in's node took away before it was read was never shown.
            if repeat.id not in here and (named := self._by_id.get(repeat.id)):
                # Of one whose calls failed nothing was extracted.
                earlier = extracts.get(named.key)
                content.name(named, helps=earlier is None or bool(earlier.spans))
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
        spans = record.spans or all_spans(before, material.text)
        text = material.text if record.how == "failed" else GAP.join(spans)
        shown = [*self._shown, *map(block, self._new)]
        is_shown = stands_in(shown, material, text) or has_before_it(shown, material, spans, before)
        if text and not is_shown:
            self._new.append({**material.record, "text": text})
        else:
            self.name(material, helps=bool(text))

    def name(self, material: Material, *, helps: bool) -> None:
        """A passage that is not shown: by its title, among those that help or those that do not."""
        if helps:
            self._repeats.append(RepeatRecord(id=material.id, title=material.title))
        else:
            self._nothing.append(f"[{material.id}] {cut(material.title, MAX_NAMED_CHARS)}")

    @property
    def text(self) -> str:
        named = self._nothing[:MAX_NAMED]
        if more := len(self._nothing) - len(named):
            named.append(f"and {more} more")
        nothing = [f"[left out, nothing found in: {'; '.join(named)}]"] if named else []
        shown = blocks(self._new, self._repeats)
        return bounded("\n\n".join([*([shown] if shown else []), *nothing]))
