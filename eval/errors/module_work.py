"""What tools, query expansion, evidence extraction and nodes did, and what of them did nothing.

A report that shows scores alone looks the same whether a module worked or never brought anything;
and no difference to another system is the work of what did nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar, get_args

from branchwise.agents.reply import FailureKind
from branchwise.base.text import counted, one_line
from branchwise.eval.errors.gold_evidence import MAX_TOOL_CHARS
from branchwise.eval.judging.settle import Settled
from branchwise.graphs import list_replies
from branchwise.graphs.extraction import replies
from branchwise.graphs.pipeline import CLARIFICATION, OPTION_ANSWERS, VERDICT
from branchwise.trace.events import Checked, Event, Expansion, Extraction, Node, Retry, Tool
from branchwise.trace.parts import Dropped, Extracted

MAX_NAME_CHARS, MAX_ERROR_CHARS = 64, 500
"""As the decorator and the graph's step bound them; a record may be anyone's."""


@dataclass(frozen=True)
class ToolWork:
    """A tool's calls by the agent, refused ones counted; `failed` brought nothing. `searches`: that
    expansion made with it for names in questions."""

    calls: int = 0
    failed: int = 0
    searches: int = 0

    def __add__(self, other: "ToolWork") -> "ToolWork":
        searches = self.searches + other.searches
        return ToolWork(self.calls + other.calls, self.failed + other.failed, searches)


@dataclass(frozen=True)
class NodeWork:
    """`changed`: calls that changed something for the agent; `failed`: calls that raised, took too
    long or returned what their slot does not take. `first_error`: in one line."""

    calls: int = 0
    changed: int = 0
    failed: int = 0
    first_error: str | None = None

    def __add__(self, other: "NodeWork") -> "NodeWork":
        return NodeWork(
            self.calls + other.calls,
            self.changed + other.changed,
            self.failed + other.failed,
            other.first_error if self.first_error is None else self.first_error,
        )

    @classmethod
    def of(cls, node: Node) -> "NodeWork":
        if node.error is None:
            return cls(1, changed=int(not node.update.is_empty))
        error = one_line(node.error).removeprefix(f"{node.name}: ")  # the graph puts it there
        return cls(1, failed=1, first_error=error[:MAX_ERROR_CHARS])


W = TypeVar("W", NodeWork, ToolWork, Counter[str])


def _by_name(work: Iterable[tuple[str, W]]) -> dict[str, W]:
    totals: dict[str, W] = {}
    for name, own in work:
        totals[name] = totals[name] + own if name in totals else own
    return totals


def tool_names(identity: object) -> tuple[str, ...]:
    return _names(tool.get("function") for tool in _records(identity, "tools"))


def _records(identity: object, key: str) -> list[Mapping[str, Any]]:
    records = identity.get(key) if isinstance(identity, Mapping) else None
    return [r for r in records if isinstance(r, Mapping)] if isinstance(records, list) else []


def _names(records: Iterable[object]) -> tuple[str, ...]:
    names = [record.get("name") for record in records if isinstance(record, Mapping)]
    return tuple(name for name in names if isinstance(name, str))


UNUSABLE, OTHER = "no usable reply", "other"
"""A call that was answered with a refusal or with nothing; a reason that is not one of ours."""
_KINDS = frozenset(get_args(FailureKind))
_REASONS = frozenset(
    {
        replies.NOT_IN_PASSAGE,
        *(list_replies.NOT_A_READING, list_replies.REPEATED, list_replies.TOO_LONG),
        *(list_replies.TOO_MANY, list_replies.ALONE),
    }
)


@dataclass(frozen=True)
class _Counts:
    """Counts that add up; `failures`: failed calls by kind of error; `dropped`: lines of replies
    that were not taken, by reason (all beyond the first 200 lines are one)."""

    failures: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def failed(self) -> int:
        """Calls that brought nothing that could be used."""
        return self.failures.total()

    def __add__(self, other: Self) -> Self:
        theirs = vars(other)
        return type(self)(**{name: value + theirs[name] for name, value in vars(self).items()})

    def to_json(self) -> dict[str, Any]:
        counters = {"failures": dict(self.failures), "dropped": dict(self.dropped)}
        return {**vars(self), **counters, "failed": self.failed}


@dataclass(frozen=True)
class ExpansionWork(_Counts):
    """`items`: questions that were to be expanded, by epoch; `expanded`: those that got readings,
    `readings` of them together. `searches`: for the names in the questions."""

    items: int = 0
    expanded: int = 0
    readings: int = 0
    searches: int = 0
    failed_searches: int = 0

    @classmethod
    def of(cls, expansions: Sequence[Expansion]) -> "ExpansionWork":
        looked = [search for expansion in expansions for search in expansion.looked]
        return cls(
            _failures(expansions),
            _dropped(line for expansion in expansions for line in expansion.dropped),
            items=len(expansions),
            expanded=sum(bool(expansion.readings) for expansion in expansions),
            readings=sum(len(expansion.readings) for expansion in expansions),
            searches=len(looked),
            failed_searches=sum(search.error is not None for search in looked),
        )

    def to_json(self) -> dict[str, Any]:
        """Without searches where expansion goes by memory."""
        counts = super().to_json()
        if not self.searches:
            del counts["searches"], counts["failed_searches"]
        return counts


@dataclass(frozen=True)
class ExtractionWork(_Counts):
    """`passages`: that were to be read; `with_spans`: those of which something was kept, `spans`
    of them together; `whole`: those copied from end to end; `emptied`: those of which all was
    dropped. `shared`: passages read in one of the requests for several (`together`); `reused`:
    those that had been read before, in none of the other counts."""

    passages: int = 0
    with_spans: int = 0
    spans: int = 0
    whole: int = 0
    emptied: int = 0
    shared: int = 0
    together: int = 0
    reused: int = 0

    @property
    def with_nothing(self) -> int:
        """Passages that the agent was not shown."""
        return self.passages - self.with_spans - self.failed - self.reused

    @property
    def requests(self) -> int:
        """Model calls, answered or failed."""
        return self.together + self.passages - self.shared - self.reused

    @property
    def each_alone(self) -> bool:
        return not (self.together or self.shared or self.reused)

    def to_json(self) -> dict[str, Any]:
        """With `requests` and `reused` only where passages were read together."""
        shared = ("shared", "together", "reused")
        counts = {name: n for name, n in super().to_json().items() if name not in shared}
        more = {} if self.each_alone else {"requests": self.requests, "reused": self.reused}
        return counts | more

    @classmethod
    def of(cls, extractions: Sequence[Extraction]) -> "ExtractionWork":
        passages = [passage for extraction in extractions for passage in extraction.passages]
        fresh = [passage for passage in passages if not passage.reused]
        read = [passage for passage in fresh if passage.how != "failed"]
        with_spans = [passage for passage in read if passage.spans]
        return cls(
            _failures(fresh),
            _dropped(line for passage in fresh for line in passage.dropped),
            passages=len(passages),
            with_spans=len(with_spans),
            spans=sum(len(passage.spans) for passage in with_spans),
            whole=sum(passage.whole for passage in with_spans),
            emptied=sum(bool(passage.dropped) for passage in read if not passage.spans),
            shared=sum(passage.shared for passage in fresh),
            together=sum(len(extraction.requests) for extraction in extractions),
            reused=len(passages) - len(fresh),
        )


@dataclass(frozen=True)
class CheckWork(_Counts):
    """`answers`: that were looked at; `sent_back`: those for which the agent was, for `missing`
    things together."""

    answers: int = 0
    sent_back: int = 0
    missing: int = 0

    @classmethod
    def of(cls, checks: Sequence[Checked]) -> "CheckWork":
        sent_back = [check for check in checks if check.content]
        return cls(
            _failures(checks),
            _dropped(line for check in checks for line in check.dropped),
            answers=len(checks),
            sent_back=len(sent_back),
            missing=sum(len(check.missing) for check in sent_back),
        )


C = TypeVar("C", bound=_Counts)


@dataclass(frozen=True)
class ModuleWork:
    """The work of an item or a run; None of a module that left no record. `nodes` and `tools`: that
    of plug-ins' nodes and of tools by their names, in order. `resent`: by role the requests that
    failed and were sent again, by kind of failure."""

    expansion: ExpansionWork | None = None
    extraction: ExtractionWork | None = None
    nodes: Mapping[str, NodeWork] = field(default_factory=dict)
    tools: Mapping[str, ToolWork] = field(default_factory=dict)
    resent: Mapping[str, Counter[str]] = field(default_factory=dict)
    check: CheckWork | None = None

    def __add__(self, other: "ModuleWork") -> "ModuleWork":
        return ModuleWork(
            _sum(self.expansion, other.expansion),
            _sum(self.extraction, other.extraction),
            _by_name((*self.nodes.items(), *other.nodes.items())),
            _by_name((*self.tools.items(), *other.tools.items())),
            _by_name((*self.resent.items(), *other.resent.items())),
            _sum(self.check, other.check),
        )

    def of_system(self, system: Mapping[str, Any], identity: object = None) -> "ModuleWork":
        """The same with counts of 0 for modules of `system`, and nodes and tools of its `identity`,
        that never had work."""
        none = ModuleWork(
            ExpansionWork() if system.get("expand") is True else None,
            ExtractionWork() if system.get("extract") is True else None,
            {name: NodeWork() for name in _names(_records(identity, "nodes"))},
            {name: ToolWork() for name in tool_names(identity)},
            check=CheckWork() if system.get("check") else None,
        )
        return none + self

    def to_json(self) -> dict[str, Any]:
        modules = {"expansion": self.expansion, "extraction": self.extraction}
        record: dict[str, Any] = {key: work and work.to_json() for key, work in modules.items()}
        if self.check:
            record["check"] = self.check.to_json()
        for key, works in (("nodes", self.nodes), ("tools", self.tools)):
            if works:
                record[key] = {name: {**vars(work)} for name, work in works.items()}
        if self.resent:
            record["sent_again"] = {role: dict(kinds) for role, kinds in self.resent.items()}
        return record


def module_work(events: Iterable[Event]) -> ModuleWork:
    """What modules, nodes and tools record; what has no name is passed over."""
    bodies = [event.body for event in events]
    expansions = [body for body in bodies if isinstance(body, Expansion)]
    extractions = [body for body in bodies if isinstance(body, Extraction)]
    checks = [body for body in bodies if isinstance(body, Checked)]
    nodes = [body for body in bodies if isinstance(body, Node) and "name" not in body.problems]
    called = [body for body in bodies if isinstance(body, Tool) and body.call.name]
    tools = [(tool.call.tool, ToolWork(1, int(tool.failed))) for tool in called]
    looked = (search for expansion in expansions for search in expansion.looked)
    tools += [(search.tool, ToolWork(searches=1)) for search in looked]
    return ModuleWork(
        ExpansionWork.of(expansions) if expansions else None,
        ExtractionWork.of(extractions) if extractions else None,
        _by_name((node.name[:MAX_NAME_CHARS], NodeWork.of(node)) for node in nodes),
        _by_name((name[:MAX_TOOL_CHARS], work) for name, work in tools),
        _by_name(
            (body.role[:MAX_NAME_CHARS], Counter([_kind(body.kind)]))
            for body in bodies
            if isinstance(body, Retry)
        ),
        CheckWork.of(checks) if checks else None,
    )


def _kind(failure: str) -> str:
    return failure if failure in _KINDS else OTHER


def total_work(works: Iterable[ModuleWork]) -> ModuleWork:
    return sum(works, ModuleWork())


def _sum(work: C | None, other: C | None) -> C | None:
    if work is None or other is None:
        return other if work is None else work
    return work + other


def _failures(calls: Iterable[Expansion | Extracted | Checked]) -> Counter[str]:
    """Failed calls by the kind of a `ModelError`, which stands before its words."""
    kinds = (str(call.error).partition(":")[0] for call in calls if call.how == "failed")
    return Counter(kind if kind in _KINDS else UNUSABLE for kind in kinds)


def _dropped(lines: Iterable[Dropped]) -> Counter[str]:
    return Counter(line.why if line.why in _REASONS else OTHER for line in lines)


class InertPart(NamedTuple):
    """A part of a system, or of what scored it, and how it shows that it did nothing."""

    name: str
    how: str

    @property
    def words(self) -> str:
        return f"{self.name} did nothing: {self.how}"


Inert = Mapping[str, InertPart]
"""What did nothing, by a key that is the same in every system."""


def inert_parts(modules: ModuleWork, settled: Settled) -> Inert:
    """What did nothing in a whole run. It may still change answers, as a tool's description in the
    prompt does, which no test can tell from its work."""
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
    if modules.check and not modules.check.sent_back:
        answers = counted(modules.check.answers, "answer")
        parts["check"] = InertPart("the check", f"it sent the agent back for none of {answers}")
    for name, work in modules.nodes.items():
        if not work.changed:
            calls = counted(work.calls, "call")
            how = f"it changed nothing in {calls}" if work.calls else "it was never called"
            parts[f"node {name}"] = InertPart(f"the node {name}", how)
    # Of a pipeline that first tells whether a question is ambiguous.
    outputs = (item.prediction.task_output for item in settled.items)
    asked = [
        bool(output.get(CLARIFICATION))
        for output in outputs
        if isinstance(output, Mapping) and VERDICT in output and OPTION_ANSWERS in output
    ]
    if asked and not any(asked):
        how = f"it asked nothing on {counted(len(asked), 'item')}"
        parts["clarification"] = InertPart("asking back", how)
    if (matcher := settled.matcher) and not matcher.changed:
        how = "it aligned every branch as names alone do"
        parts["matcher"] = InertPart(f"the matcher {matcher.model}", how)
    if (judge := settled.judge) and not judge.accepted:
        parts["judge"] = InertPart(f"the judge {judge.model}", "it accepted no answer")
    return parts


def inert_cautions(base: Inert, other: Inert, base_name: str) -> list[str]:
    """What did nothing in the system or in its base alone: what did nothing on both sides does not
    explain their difference."""
    own = [part.words for key, part in other.items() if key not in base]
    alone = [part for key, part in base.items() if key not in other]
    return [*own, *(f"{part.name} did nothing in {base_name}: {part.how}" for part in alone)]


def _extraction(work: ExtractionWork) -> str:
    read = work.passages - work.reused
    if not read:
        return "it had no passage to read"
    passages, dropped = counted(read, "passage"), work.dropped.total()
    if work.whole + work.failed == read:
        return f"it cut nothing of {passages}"
    if work.with_spans:
        return ""
    lost = f", and dropped {counted(dropped, 'span')}" if dropped else ""
    return f"it kept nothing of {passages}{lost}"
