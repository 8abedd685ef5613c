"""One step in full: everything that the trace has of it, as blocks."""

from branchwise.eval.errors.labels import Label
from branchwise.ui.steps import describe
from branchwise.ui.steps.blocks import Block
from branchwise.ui.steps.parts import Looked
from branchwise.ui.steps.words import Around
from branchwise.ui.traces.trace import Trace


def blocks(trace: Trace, seq: int) -> list[Block]:
    """What a step shows, its heading first; nothing where the trace has no such step."""
    event = trace.event(seq)
    if event is None:
        return []
    return describe.blocks(event, Around(trace.events, trace.errors, looked_for(trace)))


def looked_for(trace: Trace) -> Looked:
    """Gold answers, and wrong texts that are nobody's answer, to be marked in every text."""
    wrong = trace.errors.wrong if trace.errors else ()
    texts = dict.fromkeys(w.text for w in wrong if w.label is not Label.WRONG_BRANCH)
    return Looked(trace.names, tuple((text,) for text in texts))
