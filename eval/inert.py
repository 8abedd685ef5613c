"""What a system has and what did nothing: no difference to another system is its work.

A tool whose description stands in the prompt may change answers without a single call, and so may
a module that only costs turns. A test cannot tell that from the thing at work; a trace can.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from branchwise.base.text import counted
from branchwise.eval.errors.module_work import ExtractionWork, ModuleWork
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.settle import Settled
from branchwise.graphs.pipeline import CLARIFICATION, OPTION_ANSWERS, VERDICT


class InertPart(NamedTuple):
    """A part of a system, or of what scored it, and how it shows that it did nothing."""

    what: str
    how: str

    @property
    def words(self) -> str:
        """ "the tool wikisparql did nothing: it was never called"."""
        return f"{self.what} did nothing: {self.how}"


Inert = Mapping[str, InertPart]
"""What did nothing, by a key that is the same in every system."""
_OF_SCORING = ("matcher", "judge")


def inert_parts(modules: ModuleWork, settled: Settled) -> Inert:
    """What did nothing in a whole run.

    These are tools that neither agent nor expansion ever asked, expansion that wrote no readings,
    extraction that kept nothing or cut nothing, nodes that changed nothing, a pipeline of questions
    back that never asked, a matcher that aligned as names alone do, and a judge that accepted
    nothing.
    """
    parts = {
        f"tool {name}": InertPart(f"the tool {name}", "it was never called")
        for name, work in modules.tools.items()
        if not (work.calls or work.searches)
    }
    if modules.expansion and not modules.expansion.expanded:
        items = counted(modules.expansion.items, "item")
        parts["expansion"] = InertPart("expansion", f"it wrote readings for none of {items}")
    if modules.extraction and (how := _extraction(modules.extraction)):
        parts["extraction"] = InertPart("extraction", how)
    for name, work in modules.nodes.items():
        if not work.changed:
            how = f"it changed nothing in {counted(work.calls, 'call')}"
            how = how if work.calls else "it was never called"
            parts[f"node {name}"] = InertPart(f"the node {name}", how)
    if how := _clarification(settled.items):
        parts["clarification"] = InertPart("asking back", how)
    if (matcher := settled.matcher) and not matcher.changed:
        how = "it aligned every branch as names alone do"
        parts["matcher"] = InertPart(f"the matcher {matcher.model}", how)
    if (judge := settled.judge) and not judge.accepted:
        parts["judge"] = InertPart(f"the judge {judge.model}", "it accepted no answer")
    return parts


def inert_cautions(base: Inert, other: Inert, base_name: str) -> list[str]:
    """What is to be said beside a comparison: what did nothing in the system, or in its base alone.

    A matcher or judge that did nothing on both sides does not explain their difference.
    """
    own = [part.words for key, part in other.items() if not (key in _OF_SCORING and key in base)]
    alone = [part for key, part in base.items() if key not in other]
    return [*own, *(f"{part.what} did nothing in {base_name}: {part.how}" for part in alone)]


def _extraction(work: ExtractionWork) -> str:
    read = work.passages - work.reused
    if not read:
        return "it had no passage to read"
    passages, dropped = counted(read, "passage"), work.dropped.total()
    if work.whole + work.failed == read:
        return f"it cut nothing of {passages}"
    if work.with_spans:
        return ""
    return f"it kept nothing of {passages}" + (
        f", and dropped {counted(dropped, 'span')}" if dropped else ""
    )


def _clarification(items: Iterable[AnsweredItem]) -> str:
    """Of a pipeline that first tells whether a question is ambiguous."""
    outputs = [item.prediction.task_output for item in items]
    asked = [
        bool(output.get(CLARIFICATION))
        for output in outputs
        if isinstance(output, Mapping) and VERDICT in output and OPTION_ANSWERS in output
    ]
    if not asked or any(asked):
        return ""
    return f"it asked nothing on {counted(len(asked), 'item')}"
