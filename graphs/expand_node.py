"""The expander's message: the question, and the namesakes that were found for its names."""

import asyncio
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import orjson
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import CallKey, Slot
from branchwise.agents.outages import PassEndedError
from branchwise.agents.prompt_files import Prompts
from branchwise.base.text import cut, one_line, printable, whole_characters
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import MAX_K, RetrieverError
from branchwise.graphs.ledger import EXPANDER
from branchwise.graphs.list_replies import Readings, read_readings
from branchwise.graphs.module_call import ask_module
from branchwise.graphs.question_names import QuestionNames, folded
from branchwise.graphs.reduce import StateUpdate, expanded
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.graphs.tool_node import waited_for
from branchwise.kg.answers import Graph, KgError, Match
from branchwise.tools.batcher import Batcher
from branchwise.tools.registry import NAMES_TOOL, SEARCH_TOOL
from branchwise.trace.events import Expansion
from branchwise.trace.parts import FoundTitle, TitleSearch

MAX_LISTED = 20
"""Namesakes of one name; readings are fewer."""
BETWEEN = " — "
"""Between a title and what is said of it."""


def namesakes(question: str, looked: Iterable[TitleSearch]) -> Mapping[str, Sequence[FoundTitle]]:
    """By name, in the order of the question, what bears it; each thing once.

    Without names that the question itself tells apart ("King Kong (1976 film)").
    """
    names = QuestionNames(question)
    of_name: dict[str, list[FoundTitle]] = {}
    for one in _titles_then_bearers(looked):
        known = of_name.setdefault(one.name, [])
        if not any(_is_same(one, other) for other in known):
            known.append(one)
    whole = sorted(names.whole(of_name), key=question.find)
    return {
        name: of_name[name][:MAX_LISTED]
        for name in whole
        if not any(names.tells_apart(one.title, name) for one in of_name[name])
    }


def expander_message(question: str, listed: Mapping[str, Sequence[FoundTitle]]) -> str:
    """The user's message: each thing on a line of its own, which it cannot break."""
    parts = [f"Question: {question}"]
    for name, things in listed.items():
        parts.append("\n".join([f"Found for {name!r}:", *map(_entry, things)]))
    return "\n\n".join(parts)


def _entry(thing: FoundTitle) -> str:
    return f"- {thing.title}{BETWEEN}{thing.about}" if thing.about else f"- {thing.title}"


def _titles_then_bearers(looked: Iterable[TitleSearch]) -> list[FoundTitle]:
    """Titles of passages; of names that the graph has more bearers of, these too."""
    searches = list(looked)
    found = [one for search in searches if search.tool != NAMES_TOOL for one in search.found]
    titles = list({one.title: one for one in reversed(found)}.values())[::-1]
    bearers = [one for search in searches if search.tool == NAMES_TOOL for one in search.found]
    known, borne = (Counter(one.name for one in listed) for listed in (titles, bearers))
    return [*titles, *(one for one in bearers if borne[one.name] > known[one.name])]


def _is_same(one: FoundTitle, other: FoundTitle) -> bool:
    """Whether a thing is listed already: its title with the same words about it, or its
    description has all that tells the title apart."""
    if folded(one.title) == folded(other.title):
        return folded(one.title) != folded(one.name) or folded(one.about) == folded(other.about)
    apart = set(folded(other.title)) - set(folded(other.name))
    return bool(apart) and apart <= {*folded(one.title), *folded(one.about)}


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
_SENTENCE_END = re.compile(r"(?<=[\w)\"”’][.!?])\s+(?=[\"“‘(]?[^\W\d_a-z])")

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
        kept in the journal, failed or not, so that an item that goes on asks its model the same.
        """
        names = QuestionNames(context.question)
        planned = self._planned(names)
        begun = [
            self._search(names, tool, args, context.journal.recall(_key(tool, args)), context)
            for tool, args in planned
        ]
        found = await asyncio.gather(*begun)
        # They wait concurrently: together no longer than the one that waited longest.
        context.waited += max((waited for _, waited in found), default=0.0)
        return tuple(search for search, _ in found)

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
        asked = self._passages if tool == SEARCH_TOOL else self._bearers
        seconds = max(1.0, min(MAX_SECONDS, context.time_left / 4))

        async def search() -> _Found:
            async with asyncio.timeout(seconds):
                return await asked(names, args)

        try:
            hits, found = await waited_for(search, self._address(tool), context, on_wait)
            kept = [one for one in found if one.name and one.title]
        except PassEndedError:
            raise
        except TimeoutError:
            return _failed(f"no result within {seconds:.0f} seconds")
        except (RetrieverError, KgError) as error:
            return _failed(str(error))
        except Exception as error:  # noqa: BLE001 - a retriever is anyone's code; the item goes on
            return _failed(f"{type(error).__name__}: {error}")
        return TitleSearch(tool="", args={}, hits=hits, found=tuple(kept[:MAX_FOUND]))

    def _address(self, tool: str) -> str | None:
        """The address that a tool's searches go to."""
        if tool == SEARCH_TOOL:
            return self.passages.address if self.passages else None
        return getattr(self.kg, "name_address", None)

    async def _passages(self, names: QuestionNames, args: Mapping[str, Any]) -> _Found:
        assert self.passages is not None
        hits = await self.passages.search(args["query"], args["k"])
        of_title: dict[str, list[Passage]] = {}
        for hit in hits:
            of_title.setdefault(hit.passage.title, []).append(hit.passage)
        return len(hits), (_titled(names.name_of(title), own) for title, own in of_title.items())

    async def _bearers(self, names: QuestionNames, args: Mapping[str, Any]) -> _Found:
        loop = asyncio.get_running_loop()
        matches = await loop.run_in_executor(
            self._threads, self._kg_search, args["text"], args["limit"]
        )
        exact = [match for match in matches if not match.near]
        return len(matches), (_borne(names.name_of(match.name), match) for match in exact)

    def _kg_search(self, text: str, limit: int) -> list[Match]:
        assert self.kg is not None
        return self.kg.search(text, "item", limit)


def _failed(problem: str) -> TitleSearch:
    return TitleSearch(tool="", args={}, error=_line(problem, MAX_ERROR_CHARS))


def _titled(name: str, passages: Sequence[Passage]) -> FoundTitle:
    """A title of passages, with the first sentence of the one that begins with its name."""
    lead = next((one for one in passages if _begins(one.text, name)), passages[0])
    about = _SENTENCE_END.split(lead.text[: 4 * MAX_ABOUT_CHARS].strip(), maxsplit=1)[0]
    return FoundTitle(lead.id, _line(lead.title, MAX_TITLE_CHARS), name, _line(about))


def _begins(text: str, name: str) -> bool:
    return folded(text[: 2 * len(name) + 8])[: len(folded(name))] == folded(name)


def _borne(name: str, match: Match) -> FoundTitle:
    about = match.description or ", ".join(match.types)
    return FoundTitle(match.id, _line(match.label, MAX_TITLE_CHARS), name, _line(about))


def _line(text: str, most: int = MAX_ABOUT_CHARS) -> str:
    """Text from outside on one line without anything that steers."""
    return cut(one_line(printable(one_line(whole_characters(text)), " ")), most)


def _key(tool: str, args: Mapping[str, Any]) -> CallKey:
    """Apart from the agent's own calls of the tool, which are counted for themselves."""
    body = orjson.dumps([tool, args], option=orjson.OPT_SORT_KEYS)
    return CallKey("tool", EXPANDER, hashlib.sha256(body).hexdigest())


PROMPTS = frozenset({"expander", "expander_with_titles"})
"""What an expander reads: where nothing was found, the first."""


def make_expand_node(
    caller: ModelCaller,
    prompts: Prompts,
    readings_prompt: str,
    searcher: TitleSearcher | None = None,
) -> GraphNode:
    """The node `expand`: the first user message gets the readings at its end.

    `readings_prompt` names the prompt file that presents them. If there are fewer than two, or the
    call failed, the question is asked unchanged. `searcher` looks for the names in the question
    before the expander is asked.
    """

    async def expand(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        looked = await searcher.look(context) if searcher else ()
        listed = namesakes(context.question, looked)
        system = prompts.render("expander_with_titles" if listed else "expander")
        asked = expander_message(context.question, listed) if listed else context.question
        said = await ask_module(caller, EXPANDER, system, asked, context)
        context.waited += said.waited
        found = Readings() if said.error else read_readings(said.text)
        nothing = "failed" if said.error else "none"
        expansion = Expansion(
            question=context.question,
            looked=looked,
            readings=tuple(found.kept),
            dropped=found.dropped,
            how="readings" if found.kept else nothing,
            text=said.text,
            **said.facts,
        )
        context.event(expansion)
        return expanded(expansion, state, shown_readings(prompts, readings_prompt, found.kept))

    return expand


def shown_readings(prompts: Prompts, readings_prompt: str, readings: Sequence[str]) -> str:
    """The readings as the agent sees them."""
    listed = "\n".join(f"- {reading}" for reading in readings)
    return prompts.render(readings_prompt, readings=listed)
