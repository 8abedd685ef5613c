"""A trace as Markdown: nothing in it acts, nothing of it is missing."""

from collections.abc import Iterator, Sequence

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from branchwise.runs.store import open_run
from branchwise.trace.events import Event
from branchwise.ui.traces.answers import trace_of
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.plain import markdown
from branchwise.ui.traces.trace import AnswerLine, BranchLines, Trace, blocks, steps
from support.ui.hostile_trace import ATTACK, hostile_run

pytestmark = pytest.mark.slow

HARMLESS = {"heading", "paragraph", "inline", "text", "fence", "strong", "bullet_list", "list_item"}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Trace]:
    reader = open_run(hostile_run(tmp_path_factory.mktemp("runs") / "R"))
    found = []
    for row in reader.items():
        line = ItemLine(row.item, ATTACK, 0, row.question.question, True, row.status, error=ATTACK)
        found.append(trace_of(reader, line, row.question, row.outcome))
    reader.close()
    return found


def tokens(text: str) -> Iterator[Token]:
    def walk(listed: Sequence[Token]) -> Iterator[Token]:
        for token in listed:
            yield token
            yield from walk(token.children or ())

    return walk(MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text))


def test_nothing_in_a_trace_is_markup(traces: list[Trace]):
    for trace in traces:
        shown = markdown(trace, ATTACK)
        assert all(line.isprintable() for line in shown.split("\n"))
        kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens(shown)}
        assert kinds <= HARMLESS
        texts = [token.content for token in tokens(shown) if token.type == "inline"]
        assert not any("://" in text.replace("\\:", "") for text in texts)


def test_every_block_is_in_a_fence_as_it_is(traces: list[Trace]):
    trace = traces[0]
    fences = [token.content for token in tokens(markdown(trace, "R")) if token.type == "fence"]
    texts = [
        f"{block.text}\n"
        for step in trace.steps
        for block in blocks(trace, step.seq)
        if block.kind not in ("heading", "note") and block.text
    ]
    assert fences == texts


def test_a_trace_reads_as_it_is_looked_at():
    line = ItemLine(
        *(1, "q1", 1, "Who?", True, "done", (0.5, 1.0, 0.0)), *(("unsupported_answer",), 1_234, 2.5)
    )
    right, wrong = AnswerLine("Ann", "right"), AnswerLine("Bob", "wrong", "nowhere in the evidence")
    branches = [BranchLines("Heat", ("heat",), (right,), (right, wrong))]
    events = [Event(0, "budget", 0.0, {"reason": "3 turns", "text": "Answer `now`."})]
    assert markdown(Trace(line, events, steps(events), branches), "base") == (
        "# Who?\n\n"
        "run base · question q1 · epoch 1 · done · P .50 · R 1.00 · EM .00 · "
        "unsupported answer · 1,234 tokens · 2.5 s\n\n"
        "## Answers\n\n"
        "**gold branch Heat**, predicted as heat\n\n"
        "- gold, right: Ann\n"
        "- predicted, right: Ann\n"
        "- predicted, wrong: Bob (nowhere in the evidence)\n\n"
        "## Steps\n\n"
        "### step 0: budget · budget spent: 3 turns; told to answer\n\n"
        "**reason**\n\n```text\n3 turns\n```\n\n"
        "**text**\n\n```text\nAnswer `now`.\n```\n"
    )


def test_an_item_that_has_not_begun_says_so():
    line = ItemLine(1, "q1", 0, "Who?", False, "pending")
    shown = markdown(Trace(line, [], [], []), "base")
    assert shown.endswith("## Answers\n\nThere are none.\n\n## Steps\n\nThere are none yet.\n")
