"""Questions, traces and steps as plain text (pipes, clipboard) and as Markdown (notes, sharing)."""

import re
from collections.abc import Iterable, Iterator, Sequence

from branchwise.base.errors import InputError
from branchwise.base.numbers import UNKNOWN, number
from branchwise.base.text import one_line, printable
from branchwise.corpora.questions import Branch
from branchwise.eval.errors.labels import Label, label_words
from branchwise.report.exports import escape
from branchwise.report.terminal.blocks import Block, harmless
from branchwise.report.terminal.step_text import SHOWN_RESULTS, branch_lines
from branchwise.trace.events import Event
from branchwise.ui.steps.words import describe
from branchwise.ui.traces.lines import ItemLine, named
from branchwise.ui.traces.records import ENDED
from branchwise.ui.traces.runs import RunView
from branchwise.ui.traces.trace import Trace, blocks

MAX_NAMES = 5
"""The most gold answers that a passage's title names."""
MAX_QUESTION = 500
MAX_LINE = 2_000
"""Characters of a title or a note in Markdown: more than any has, so nothing is cut."""
_MAX_ID = 200
_ROUND = 1.0
"""Seconds that one call computes labels."""
_LANGUAGES = {"json": "json", "sparql": "sparql"}
_STRICT = ("P", "R", "EM")
_VERDICTS = {
    "right": "right",
    "missing": "missing",
    "wrong": "wrong",
    "wrong_branch": Label.WRONG_BRANCH.words,
}


def plain_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Everything that blocks hold; a passage's title says which gold answers it names."""
    for block in blocks:
        margin = "  " if block.title else ""
        if block.title:
            yield f"{block.title}{_names(block) if block.kind == 'passage' else ''}:"
        yield from (f"{margin}{line}".rstrip() for line in block.text.split("\n"))


def _names(block: Block) -> str:
    """The gold answers marked in a block, each once, the first few."""
    named: dict[str, str] = {}
    for text, marks in ((block.title, block.title_marks), (block.text, block.marks)):
        for mark in marks:
            if mark.kind == "gold":
                name = one_line(text[mark.start : mark.end])
                named.setdefault(name.casefold(), name)
    names = [*named.values()]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f" · names {', '.join(names[:MAX_NAMES])}{more}" if names else ""


def trace_lines(events: Sequence[Event], passages: int = SHOWN_RESULTS) -> Iterator[str]:
    """Every step as `ask` prints it, under its number; of a result the first `passages`."""
    width = max((len(str(event.seq)) for event in events), default=1)
    for event in events:
        first, *rest = describe(event, passages=passages)
        yield f"{event.seq:>{width}}  {first}"
        yield from (f"{'':>{width}}  {line}" for line in rest)


def gold_lines(branches: Sequence[Branch], gold_set: str = "") -> Iterator[str]:
    """The gold answers by branch, if there are any. `gold_set`: which of several they are."""
    gold = {branch.name: [answer.text for answer in branch.answers] for branch in branches}
    if gold:
        yield gold_set or "gold"
        yield from (harmless(line).replace("\n", " ") for line in branch_lines(gold))


def unlabelled(run: RunView) -> int:
    """How many items have ended without an error label or its absence being known."""
    return sum(line.labels is None and line.status in ENDED for line in run.lines())


def question_list(run: RunView, epoch: int | None = None) -> Iterator[str]:
    """A heading, then a line for each item (of one epoch), in aligned columns, the question
    last. Labels and scores that were not saved are computed first."""
    # Names may be in a script whose letters are two columns wide.
    from rich.cells import cell_len

    while run.label_some(_ROUND):
        pass
    lines = run.lines()
    with_epoch = len({line.epoch for line in lines}) > 1
    heads = ["status", *run.heads, "labels", "tokens", "seconds", "id", "question"]
    chosen = (line for line in lines if epoch in (None, line.epoch))
    rows = [_cells(line, run.heads, with_epoch=with_epoch) for line in chosen]
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    right = {"tokens", "seconds", *run.heads}
    for row in [heads, *rows]:
        cells = []
        for head, cell, width in zip(heads[:-1], row[:-1], widths[:-1], strict=True):
            margin = " " * (width - cell_len(cell))
            cells.append(margin + cell if head in right else cell + margin)
        yield "  ".join([*cells, row[-1]])


def _cells(line: ItemLine, heads: Sequence[str], *, with_epoch: bool) -> list[str]:
    labels = UNKNOWN
    if line.status not in ("pending", "running") and line.labels != ():
        labels = "?" if line.labels is None else ", ".join(map(label_words, line.labels))
    id = printable(line.id)[:_MAX_ID]
    return [
        line.status,
        *(number(value) for _, value in named(heads, line.scores)),
        labels,
        UNKNOWN if line.tokens is None else str(line.tokens),
        UNKNOWN if line.seconds is None else f"{line.seconds:.1f}",
        f"{id}/{line.epoch}" if with_epoch else id,
        printable(f"{line.question}{f' ({line.error})' if line.error else ''}")[:MAX_QUESTION],
    ]


def item_lines(run: RunView, row: int, *, passages: int) -> Iterator[str]:
    """Each step under its number, then gold, and where it was lost."""
    trace = run.trace(row)
    yield from trace_lines(trace.events, passages)
    yield from gold_lines(trace.gold, trace.gold_set)
    lost = [answer for branch in trace.branches for answer in branch.gold if answer.why]
    if lost:
        yield "lost"
    for answer in lost:
        ranks = run.rank_words(trace, answer.in_corpus) if answer.in_corpus else ""
        yield f"  {answer.text}: {answer.why}{f', {ranks}' if ranks else ''}"


def step_lines(run: RunView, row: int, step: int) -> Iterator[str]:
    """Everything that the trace holds of a step. Raises InputError at once if it has none."""
    trace = run.trace(row)
    if trace.event(step) is None:
        there = f"its steps are 0 to {trace.events[-1].seq}" if trace.events else "it has none yet"
        raise InputError(f"the trace has no step {step}", where=str(run.path), remedy=there)
    return plain_lines(blocks(trace, step))


def markdown(trace: Trace, run_name: str, heads: Sequence[str] = _STRICT) -> str:
    """A whole trace as Markdown: the question, its answers beside the gold, every step in full,
    in the order of the tree, with its number. Text from outside is escaped, or in fences that
    nothing in it can close: it cannot make a link, an image, HTML or a heading."""
    return "\n".join(_markdown(trace, run_name, heads))


def _markdown(trace: Trace, run_name: str, heads: Sequence[str]) -> Iterator[str]:
    line = trace.line
    yield f"# {escape(line.question) or escape(line.id)}\n"
    yield f"{' · '.join(_facts(line, run_name, heads))}\n"
    yield "## Answers\n"
    if trace.gold_set:
        yield f"{trace.gold_set}\n"
    for branch in trace.branches:
        name = "no gold branch" if branch.name is None else f"gold branch {escape(branch.name)}"
        keys = f", predicted as {', '.join(map(escape, branch.keys))}" if branch.keys else ""
        yield f"**{name}**{keys}\n"
        for side, answers in (("gold", branch.gold), ("predicted", branch.predicted)):
            for answer in answers:
                verdict = _VERDICTS.get(answer.verdict)
                why = f" ({escape(answer.why)})" if answer.why else ""
                words = f"{side}, {verdict}" if verdict else side
                yield f"- {words}: {escape(answer.text)}{why}"
        yield ""
    if not trace.branches:
        yield "There are none.\n"
    yield "## Steps\n"
    for step in trace.steps:
        first, *parts = blocks(trace, step.seq)
        yield f"{'#' * (3 + step.depth)} {escape(first.text)}\n"
        for block in parts:
            yield from _block(block)
    if not trace.steps:
        yield "There are none yet.\n"


def _facts(line: ItemLine, run_name: str, heads: Sequence[str]) -> Iterator[str]:
    yield f"run {escape(run_name)}"
    yield f"question {escape(line.id)}"
    if line.epoch:
        yield f"epoch {line.epoch}"
    yield escape(line.status)
    scores = named(heads, line.scores)
    yield from (f"{escape(h)} {number(v)}" for h, v in scores if v is not None)
    if line.labels:
        yield escape(", ".join(map(label_words, line.labels)))
    if line.tokens is not None:
        yield f"{line.tokens:,} tokens"
    if line.seconds is not None:
        yield f"{line.seconds:.1f} s"
    if line.error:
        yield f"failed: {escape(line.error)}"


def _block(block: Block) -> Iterator[str]:
    if block.title:
        yield f"**{escape(block.title, MAX_LINE)}**\n"
    if block.kind == "note":
        yield f"{escape(block.text, MAX_LINE)}\n"
    elif block.text:
        # Longer than any run of backticks in the text.
        longest = max(map(len, re.findall("`+", block.text)), default=0)
        fence = "`" * max(3, longest + 1)
        yield f"{fence}{_LANGUAGES.get(block.kind, 'text')}\n{block.text}\n{fence}\n"
