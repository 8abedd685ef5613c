"""Query expansion: the question's readings, written by one model call, go into the prompt.

Where there are tools to look with (`--readings-from`), the expander chooses among what is found for
the names in the question.
"""

import asyncio
import hashlib
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import orjson
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import CallKey, Slot
from branchwise.agents.outages import PassEndedError
from branchwise.agents.prompt_files import Prompts
from branchwise.base.text import cut, one_line, printable, whole_characters
from branchwise.corpora.names_in_text import QuestionNames, folded
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import MAX_K, RetrieverError
from branchwise.graphs.ledger import EXPANDER
from branchwise.graphs.list_replies import NOT_MEANT, Readings, read_readings
from branchwise.graphs.module_call import ask_module
from branchwise.graphs.reduce import StateUpdate, expanded
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.graphs.tool_node import waited_for
from branchwise.kg.answers import Graph, KgError
from branchwise.tools.batcher import Batcher
from branchwise.tools.registry import NAMES_TOOL, SEARCH_TOOL
from branchwise.trace.events import Expansion
from branchwise.trace.parts import FoundTitle, TitleSearch

PROMPTS = frozenset({"expander", "expander_with_titles", "not_meant"})
"""What an expander reads: where nothing was found, the first. What it rules out of what was found
is told to the agent."""
MAX_SEARCHES = 6
"""Of a question, over all its names and both tools."""
DEPTH = MAX_K
"""Passages a search: several pages, of which the titles alone are read."""
MAX_NAMES_FOUND = 4
"""Names a search of the graph; each has up to twenty bearers."""
MAX_SECONDS = 30.0
"""Of all searches together, which run at once; at most a quarter of the time that is left."""
MAX_QUERY_CHARS, MAX_TITLE_CHARS, MAX_ABOUT_CHARS, MAX_ERROR_CHARS = 500, 200, 160, 300
MAX_FOUND = 40
"""Titles that one search keeps."""
_AT_ONCE = 32
_IS_SAID = re.compile(r"[^.]{0,80}?\b(is|was|are|were) (an?|the|one)\b")
"""Behind a name: what bears it follows."""
_SENTENCE_END = re.compile(r"(?<=[\w)\"”’][.!?])\s+(?=[\"“‘(]?[^\W\d_a-z])")
MAX_LISTED = 20
"""Namesakes of one name; readings are fewer."""
BETWEEN = " — "
"""Between a title and what is said of it."""


def namesakes(question: str, looked: Iterable[TitleSearch]) -> Mapping[str, Sequence[FoundTitle]]:
    """By name, in the order of the question, what bears it; each thing once. Without names that the
    question itself tells apart ("King Kong (1976 film)")."""
    names = QuestionNames(question)
    of_name: dict[str, list[FoundTitle]] = {}
    for thing in _titles_then_bearers(list(looked)):
        known = of_name.setdefault(thing.name, [])
        if not any(_is_same(thing, other) for other in known):
            known.append(thing)
    whole = sorted(names.whole(of_name), key=question.find)
    return {
        name: of_name[name][:MAX_LISTED]
        for name in whole
        if f"{name} (" not in question
        and not any(names.tells_apart(thing.title, name) for thing in of_name[name])
    }


def expander_message(question: str, listed: Mapping[str, Sequence[FoundTitle]]) -> str:
    """The user's message: each thing on a line of its own, which it cannot break."""
    parts = [f"Question: {question}"]
    for name, things in listed.items():
        lines = [
            f"- {one.title}{BETWEEN}{one.about}" if one.about else f"- {one.title}"
            for one in things
        ]
        parts.append("\n".join([f"Found for {name!r}:", *lines]))
    return "\n\n".join(parts)


def _titles_then_bearers(searches: Sequence[TitleSearch]) -> list[FoundTitle]:
    """Titles of passages; of names that the graph has more bearers of, these too."""
    titles = {
        (thing.title, thing.about): thing
        for search in reversed(searches)
        if search.tool != NAMES_TOOL
        for thing in reversed(search.found)
    }
    listed = list(titles.values())[::-1]
    bearers = [one for search in searches if search.tool == NAMES_TOOL for one in search.found]
    known, borne = (Counter(one.name for one in things) for things in (listed, bearers))
    return [*listed, *(bearer for bearer in bearers if borne[bearer.name] > known[bearer.name])]


def _is_same(one: FoundTitle, other: FoundTitle) -> bool:
    """Whether a thing is listed already: its title with the same words about it, or its
    description has all that tells the title apart."""
    if folded(one.title) == folded(other.title):
        return folded(one.title) != folded(one.name) or folded(one.about) == folded(other.about)
    apart = set(folded(other.title)) - set(folded(other.name))
    return bool(apart) and apart <= {*folded(one.title), *folded(one.about)}


_Found = tuple[int, Iterable[FoundTitle]]
"""How much a search found, and what of it bears a name in the question."""


@dataclass(frozen=True)
class TitleSearcher:
    """The tools of a system that can look for names: its retriever, its graph, or both."""

    passages: Batcher | None = None
    kg: Graph | None = None
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="titles"),
        repr=False,
        compare=False,
    )

    async def look(self, context: ItemContext) -> tuple[TitleSearch, ...]:
        """Search for the names in the item's question, or for a question without any as it stands.
        A search that fails or takes too long says so in its record; none fails the item. Each is
        kept in the journal, failed or not, so that an item that goes on asks its model the same."""
        names = QuestionNames(context.question)
        planned = self._planned(names)
        begun = [
            self._search(names, tool, args, context.journal.recall(_key(tool, args)), context)
            for tool, args in planned
        ]
        searches = await asyncio.gather(*begun)
        # They wait concurrently: together no longer than the one that waited longest.
        context.waited += max((waited for _, waited in searches), default=0.0)
        return tuple(search for search, _ in searches)

    def _planned(self, names: QuestionNames) -> list[tuple[str, Mapping[str, Any]]]:
        """Tools and arguments: passages for every name first, then the graph with what is left."""
        queries = names.names or [one_line(names.question)[:MAX_QUERY_CHARS]]
        asked = [query for query in queries if query]
        planned: list[tuple[str, Mapping[str, Any]]] = []
        if self.passages:
            planned += [(SEARCH_TOOL, {"query": query, "k": DEPTH}) for query in asked]
        if self.kg:
            of_each = {"kind": "item", "limit": MAX_NAMES_FOUND}
            planned += [(NAMES_TOOL, {"text": query, **of_each}) for query in asked]
        return planned[:MAX_SEARCHES]

    async def _search(
        self,
        names: QuestionNames,
        tool: str,
        args: Mapping[str, Any],
        slot: Slot,
        context: ItemContext,
    ) -> tuple[TitleSearch, float]:
        """The search, and the seconds that it waited for a server that was gone."""
        if slot.value is not None:
            return TitleSearch.read(slot.value).changed(replayed=True), 0.0
        began, waits = time.perf_counter(), list[float]()
        made = await self._made(names, tool, args, context, waits.append)
        seconds = time.perf_counter() - began - sum(waits)
        made = made.changed(tool=tool, args=args, seconds=round(seconds, 4))
        await context.journal.keep(slot, made.record())
        return made, sum(waits)

    async def _made(
        self,
        names: QuestionNames,
        tool: str,
        args: Mapping[str, Any],
        context: ItemContext,
        on_wait: Callable[[float], None],
    ) -> TitleSearch:
        asked, address = self._bearers, getattr(self.kg, "name_address", None)
        if tool == SEARCH_TOOL:
            asked, address = self._passages, self.passages.address if self.passages else None
        seconds = max(1.0, min(MAX_SECONDS, context.time_left / 4))

        async def search() -> _Found:
            async with asyncio.timeout(seconds):
                return await asked(names, args)

        try:
            hits, found = await waited_for(search, address, context, on_wait)
            kept = tuple(title for title in found if title.name and title.title)
        except PassEndedError:
            raise
        except TimeoutError:
            return _failed(f"no result within {seconds:.0f} seconds")
        except (RetrieverError, KgError) as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001 - a retriever is anyone's code; the item goes on
            return _failed(f"{type(error).__name__}: {error}")
        return TitleSearch(tool="", args={}, hits=hits, found=kept[:MAX_FOUND])

    async def _passages(self, names: QuestionNames, args: Mapping[str, Any]) -> _Found:
        assert self.passages is not None
        hits = await self.passages.search(args["query"], args["k"])
        of_title: dict[str, list[Passage]] = {}
        for hit in hits:
            of_title.setdefault(hit.passage.title, []).append(hit.passage)
        found = (_titled(names.name_of(title), own) for title, own in of_title.items())
        return len(hits), chain.from_iterable(found)

    async def _bearers(self, names: QuestionNames, args: Mapping[str, Any]) -> _Found:
        assert self.kg is not None
        search = partial(self.kg.search, args["text"], "item", args["limit"])
        matches = await asyncio.get_running_loop().run_in_executor(self._threads, search)
        things = (
            FoundTitle(
                match.id,
                _line(match.label, MAX_TITLE_CHARS),
                names.name_of(match.name),
                _line(match.description or ", ".join(match.types)),
            )
            for match in matches
            if not match.near
        )
        return len(matches), things


def _failed(problem: str) -> TitleSearch:
    return TitleSearch(tool="", args={}, error=_line(problem, MAX_ERROR_CHARS))


def _titled(name: str, passages: Sequence[Passage]) -> Iterable[FoundTitle]:
    """A title of passages, with the first sentence of the one that begins with its name. A bare
    name may be the title of several things: each passage that says what a thing of it is."""
    words, start = folded(name), 2 * len(name) + 8
    begins = [
        passage for passage in passages if folded(passage.text[:start])[: len(words)] == words
    ]
    leads = begins[:1] or passages[:1]
    if folded(passages[0].title) == words:
        leads = [one for one in begins if _IS_SAID.match(one.text, len(name))] or leads
    for lead in leads:
        about = _SENTENCE_END.split(lead.text[: 4 * MAX_ABOUT_CHARS].strip(), maxsplit=1)[0]
        yield FoundTitle(lead.id, _line(lead.title, MAX_TITLE_CHARS), name, _line(about))


def _line(text: str, most: int = MAX_ABOUT_CHARS) -> str:
    """Text from outside on one line without anything that steers."""
    return cut(one_line(printable(one_line(whole_characters(text)), " ")), most)


def _key(tool: str, args: Mapping[str, Any]) -> CallKey:
    """Apart from the agent's own calls of the tool, which are counted for themselves."""
    body = orjson.dumps([tool, args], option=orjson.OPT_SORT_KEYS)
    return CallKey("tool", EXPANDER, hashlib.sha256(body).hexdigest())


def make_expander(
    caller: ModelCaller, prompts: Prompts, searcher: TitleSearcher | None = None
) -> Callable[[ItemContext], Awaitable[Expansion]]:
    """What writes out the readings of an item's question, and the event of it. `searcher` looks for
    the names in the question before the model is asked. Fewer than two readings are none; in the
    set `paper`, whose expander makes a question more specific, one is enough."""
    least = 1 if prompts.of == "paper" else 2

    async def expand(context: ItemContext) -> Expansion:
        looked = await searcher.look(context) if searcher else ()
        listed = namesakes(context.question, looked)
        system = prompts.render("expander_with_titles" if listed else "expander")
        asked = expander_message(context.question, listed) if listed else context.question
        reply = await ask_module(caller, EXPANDER, system, asked, context)
        context.waited += reply.waited
        readings = Readings() if reply.error else read_readings(reply.text, least)
        nothing = "failed" if reply.error else "none"
        expansion = Expansion(
            question=context.question,
            looked=looked,
            readings=readings.kept,
            dropped=readings.dropped,
            how="readings" if readings.kept else nothing,
            text=reply.text,
            **reply.facts,
        )
        context.event(expansion)
        return expansion

    return expand


def make_expand_node(
    caller: ModelCaller,
    prompts: Prompts,
    readings_prompt: str,
    searcher: TitleSearcher | None = None,
) -> GraphNode:
    """The node `expand`: the first user message gets the readings at its end, if there are any.
    `readings_prompt` names the prompt file that presents them."""
    write_readings = make_expander(caller, prompts, searcher)

    async def expand(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        expansion = await write_readings(runtime.context)
        return expanded(expansion, state, shown_readings(prompts, readings_prompt, expansion))

    return expand


def shown_readings(prompts: Prompts, readings_prompt: str, expansion: Expansion) -> str:
    """The readings as the agent sees them, and what was found that the question cannot mean; ""
    where no prompt presents them, since a lead has each asked about apart."""
    if not readings_prompt:
        return ""
    listed = "\n".join(f"- {reading}" for reading in expansion.readings)
    texts = [prompts.render(readings_prompt, readings=listed)]
    if ruled_out := [line.text for line in expansion.dropped if line.why == NOT_MEANT]:
        texts.append(prompts.render("not_meant", titles="; ".join(ruled_out[:MAX_LISTED])))
    return "\n\n".join(texts)
