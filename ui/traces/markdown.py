"""A whole trace as one Markdown file: to keep with notes or to share.

Text from outside is escaped, or in fences that nothing in it can close: it cannot make a link, an
image, HTML or a heading.
"""

import re
from collections.abc import Iterator, Sequence

from branchwise.base.numbers import number
from branchwise.eval.errors.labels import Label, label_words
from branchwise.report.exports import escape
from branchwise.report.terminal.blocks import Block
from branchwise.ui.traces.lines import ItemLine, named
from branchwise.ui.traces.trace import AnswerLine, BranchLines, Step, Trace, blocks

MAX_LINE = 2_000
"""Characters of a title or a note: more than any has, so nothing is cut."""
_LANGUAGES = {"json": "json", "sparql": "sparql"}
_STRICT = ("P", "R", "EM")
_VERDICTS = {
    "right": "right",
    "missing": "missing",
    "wrong": "wrong",
    "wrong_branch": Label.WRONG_BRANCH.words,
}


def markdown(trace: Trace, run_name: str, heads: Sequence[str] = _STRICT) -> str:
    """The question, its answers beside the gold, and every step in full, folded parts included.

    Steps have the numbers that `branchwise trace` and `branchwise errors` give them, and stand in
    the order of the tree; a step below another one has a heading of a lower level. `heads` name the
    three metrics of the run's task (`RunView.heads`).
    """
    return "\n".join(_lines(trace, run_name, heads))


def _lines(trace: Trace, run_name: str, heads: Sequence[str]) -> Iterator[str]:
    line = trace.line
    yield f"# {escape(line.question) or escape(line.id)}\n"
    yield f"{' · '.join(_facts(line, run_name, heads))}\n"
    yield "## Answers\n"
    if trace.gold_set:
        yield f"{trace.gold_set}\n"
    for branch in trace.branches:
        yield from _branch(branch)
    if not trace.branches:
        yield "There are none.\n"
    yield "## Steps\n"
    for step in trace.steps:
        yield from _step(trace, step)
    if not trace.steps:
        yield "There are none yet.\n"


def _facts(line: ItemLine, run_name: str, heads: Sequence[str]) -> Iterator[str]:
    """What the list of questions says of it."""
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


def _branch(branch: BranchLines) -> Iterator[str]:
    name = "no gold branch" if branch.name is None else f"gold branch {escape(branch.name)}"
    keys = f", predicted as {', '.join(map(escape, branch.keys))}" if branch.keys else ""
    yield f"**{name}**{keys}\n"
    yield from _answers("gold", branch.gold)
    yield from _answers("predicted", branch.predicted)
    yield ""


def _answers(side: str, lines: Sequence[AnswerLine]) -> Iterator[str]:
    for line in lines:
        verdict = _VERDICTS.get(line.verdict)
        said = f"{side}, {verdict}" if verdict else side
        why = f" ({escape(line.why)})" if line.why else ""
        yield f"- {said}: {escape(line.text)}{why}"


def _step(trace: Trace, step: Step) -> Iterator[str]:
    first, *parts = blocks(trace, step.seq)
    yield f"{'#' * (3 + step.depth)} {escape(first.text)}\n"
    for block in parts:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if block.title:
        yield f"**{escape(block.title, MAX_LINE)}**\n"
    if block.kind == "note":
        yield f"{escape(block.text, MAX_LINE)}\n"
    elif block.text:
        fence = _fence(block.text)
        yield f"{fence}{_LANGUAGES.get(block.kind, 'text')}\n{block.text}\n{fence}\n"


def _fence(text: str) -> str:
    """Longer than any run of backticks in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)
