"""The queries of a recorded run, and what they found."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from branchwise.base.text import one_line
from branchwise.runs.store import RunReader, open_run
from branchwise.trace.events import Model, Tool
from manners.asking import RecordedQuery, Turns
from manners.measuring import Searched, measured

SEARCH_TOOL = "local_retriever"


def recorded(run: Path) -> tuple[Mapping[str, Turns], list[Searched]]:
    """By question the searches of a run's model, turn by turn, and what they brought."""
    reader = open_run(run)
    try:
        turns = {
            one_line(row.question.question): _turns(reader, row.item) for row in reader.items()
        }
        return turns, list(measured(reader))
    finally:
        reader.close()


def _turns(reader: RunReader, item: int) -> Turns:
    """In the order in which the model asked, refused calls among them."""
    events = list(reader.events(item))
    results: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for event in events:
        if event.kind == Tool.KIND:
            tool = Tool.read(event.data)
            found = frozenset(passage.id for passage in tool.found.passages)
            results[str(tool.call.id)].append(found)
    came: Counter[frozenset[str]] = Counter()
    turns: list[list[RecordedQuery]] = []
    for event in events:
        if event.kind != Model.KIND:
            continue
        turns.append([])
        for call in Model.read(event.data).tool_calls:
            if call.name == SEARCH_TOOL:
                its = results[str(call.id)]
                found = its.pop(0) if its else frozenset()
                turns[-1].append(RecordedQuery(str(call.args["query"]), came[found]))
                came[found] += bool(found)
    return [turn for turn in turns if turn]
