"""A plug-in's node: what it changed beside what it was given, what it asked."""

from collections.abc import Iterable, Iterator, Sequence

from branchwise.base.text import counted
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import begun, count, indented, short
from branchwise.trace.conversation import ToolCall
from branchwise.trace.events import Node
from branchwise.trace.parts import ChangedMessage, ModelQuestion, Update
from branchwise.ui.steps import parts
from branchwise.ui.steps.parts import Looked
from branchwise.ui.steps.words import Around, EventWords, says

_READ = "as the agent read it"


@says(Node)
class NodeWords(EventWords[Node]):
    """Name, and what it changed or why nothing."""

    def label(self, body: Node) -> str:
        if body.error:
            return f"node failed: {body.error}"
        return f"node {body.name}: {_changes(body.update)}"

    def lines(self, body: Node, most: int) -> Iterator[str]:
        replayed = ["replayed"] if body.replayed else []
        facts = [body.slot, f"{body.seconds:.2f} s", *replayed]
        said = f"failed: {short(body.error)}" if body.error else _changes(body.update)
        yield begun("node", f"{body.name}: {said} ({', '.join(facts)})")
        yield from (indented(f"asked: {short(asked.message)}") for asked in body.asked)

    def blocks(self, body: Node, around: Around) -> Iterator[Block]:
        looked, update = around.looked, body.update
        yield from parts.note(body.name, f"slot: {body.slot}", *parts.cost(body))
        yield from parts.overlong(name=body.name)
        yield from parts.text(body.error, "error", kind="error")
        if update.is_empty and not body.error:
            yield from parts.note("it changed nothing")
        for message in update.pending or ():
            if message.of is not None:
                yield from _result(message, message.of, around)
            else:
                yield from parts.text(message.content, str(message.type), looked=looked)
                yield from parts.rest(message.more)
        yield from parts.text("\n".join(update.readings or ()), "readings")
        for message in update.messages or ():
            yield from parts.said(message.content, "read as the answer", looked)
            yield from parts.rest(message.more)
        for asked in body.asked:
            yield from _asked(asked, looked)
        yield from parts.rest(body.more)
        yield from parts.rest(update.more, "also changed")

    def brought(self, body: Node) -> Iterable[str] | None:
        """The tool results as it left them: the agent read these texts."""
        return None if body.error else [message.content for message in body.update.results]


def _changes(update: Update) -> str:
    """What an update changes, each in a few words."""
    results, pending = update.results, update.pending or ()
    said = [f"call {(message.of or 0) + 1}: {_left(message)}" for message in results]
    if len(results) < len(pending):
        said.append(count(len(pending), "opening message"))
    if update.readings is not None:
        said.append(count(len(update.readings), "reading"))
    if update.messages is not None:
        said.append("another answer")
    return "; ".join(said) or "no change"


def _left(message: ChangedMessage) -> str:
    found = message.found
    return count(len(found.passages), "passage") if found.lists_passages else "rewritten"


def _result(message: ChangedMessage, of: int, around: Around) -> Iterator[Block]:
    """A tool result: its passages in their order, those that are gone, the text."""
    looked, found = around.looked, message.found
    passages = found.passages
    left = {passage.id for passage in passages}
    given = _given(message, around.calls)
    gone = [one for one in (given.result.found.passages if given else ()) if one.id not in left]
    facts = [
        counted(len(passages), "passage") if found.lists_passages else "",
        f"{len(gone)} left out",
    ]
    yield from parts.note(f"call {of + 1}", *facts)
    for passage in passages:
        yield from parts.passage_blocks(passage, looked)
    for passage in gone:
        yield parts.passage(passage, looked, notes=["left out"], folded=True)
    yield from parts.text(message.content, _READ, looked=looked, folded=bool(passages))
    yield from parts.rest(found.without("passages"))
    yield from parts.rest(message.more)


def _given(message: ChangedMessage, calls: Sequence[ToolCall]) -> ToolCall | None:
    """The call whose result a node changed."""
    changed = (c for c in calls if any(change.message is message for change in c.changes))
    return next(changed, None)


def _asked(asked: ModelQuestion, looked: Looked) -> Iterator[Block]:
    """What it asked the agent's model."""
    yield from parts.note("asked the model", *parts.cost(asked, asked.usage))
    yield from parts.text(asked.system, "system prompt", folded=True)
    yield from parts.text(asked.message, "message", looked=looked)
    yield from parts.text(asked.content, "reply", looked=looked)
    yield from parts.text(asked.error, "error", kind="error")
    thought = {} if asked.reasoning is None else {"reasoning": asked.reasoning}
    yield from parts.rest({**thought, **asked.more})
