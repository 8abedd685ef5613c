"""The LLM matcher: a model says which gold branch each predicted branch name means.

It sees the question and names, never answers. Where it cannot or need not be used, names alone
decide (`eval.alignment`); Cohen's kappa says how far the two agree.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.spec import check_ready
from branchwise.eval.agreement import cohen_kappa
from branchwise.eval.alignment import Alignment, align, is_default
from branchwise.eval.branch_scores import gold_branches
from branchwise.eval.items import AnsweredItem, GoldKey, Matched
from branchwise.eval.judging.consultant import (
    Ended,
    Judgements,
    ModelReport,
    Ready,
    ReportedItem,
    RequestProgress,
)
from branchwise.eval.judging.mapping import (
    MAX_QUESTION,
    Mapper,
    MappingOutcome,
    MappingRequest,
    listed,
    shown,
)

ROLE = "matcher"
MAX_NAMES = 200
"""Names on either side that one request may hold; agents give at most this many."""
BranchMapping = Mapping[str, str | None]
"""Predicted branch name to the name of its gold branch, None if it stands for none."""


@dataclass(frozen=True)
class NamesToMatch:
    """The request to a model about one item. `gold`: names of all gold branches; `columns`: indices
    into it of the readings r1, r2, ...; `rows`: for each of n1, n2, ... the predicted names shown
    as it, mostly one; `lexical`: the alignment by names alone."""

    question: str
    gold: tuple[str, ...]
    columns: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]
    lexical: Alignment

    @property
    def is_too_long(self) -> bool:
        return max(len(self.columns), len(self.rows)) > MAX_NAMES

    @property
    def request(self) -> MappingRequest:
        readings = tuple(shown(self.gold[column]) for column in self.columns)
        names = tuple(shown(row[0]) for row in self.rows)
        message = (
            f"Question: {shown(self.question, MAX_QUESTION)}\n\n"
            f"Known readings:\n{listed('r', readings)}\n\n"
            f"Names:\n{listed('n', names)}"
        )
        return MappingRequest(message, names, readings, "n", "r")

    def aligned(self, mapped: MappingOutcome) -> Matched:
        """The alignment from the model's mapping; the lexical one if there is none."""
        if mapped.indices is None:
            return Matched("lexical", self.lexical, mapped.problem)
        alignment = dict(self.lexical)
        for row, index in zip(self.rows, mapped.indices, strict=True):
            column = None if index is None else self.columns[index]
            alignment |= dict.fromkeys(row, column)
        return Matched("llm", alignment, repaired=mapped.repaired)

    def named(self, alignment: Alignment) -> BranchMapping:
        """The rows by the names of their gold branches."""
        indices = {row[0]: alignment[row[0]] for row in self.rows}
        return {name: None if i is None else self.gold[i] for name, i in indices.items()}


@dataclass(frozen=True, kw_only=True)
class MatcherReport(ModelReport):
    """What the matcher did. `changed`: items that it aligned otherwise than names alone do;
    `repaired`: whose mapping came with the second reply; `lexical`: aligned by names after all, and
    why; `to_one`: all names mapped to one reading, which may mean that it tells none apart."""

    changed: int
    repaired: int
    lexical: tuple[ReportedItem, ...]
    to_one: tuple[ReportedItem, ...]

    @property
    def brought_nothing(self) -> bool:
        """Whether the model was to align branches, but names aligned them all."""
        return 0 < self.asked == len(self.lexical)

    @property
    def own(self) -> Mapping[str, Any]:
        return {
            "changed": self.changed,
            "repaired": self.repaired,
            "lexical": [item.to_json() for item in self.lexical],
            "to_one": [item.to_json() for item in self.to_one],
        }


def names_to_match(item: AnsweredItem) -> NamesToMatch | None:
    """The request about an item; None if there is nothing to ask: one gold branch, no answers, or
    no predicted name but `default`. It matters only whether any branch holds answers, not which."""
    answers = item.prediction.answers
    if item.error is not None or not item.has_texts:
        return None
    # Without answers, which names do not depend on and whose comparison takes most of the time.
    bare = (replace(branch, answers=()) for branch in item.question.branches)
    gold = gold_branches(bare).names
    columns = tuple(i for i, name in enumerate(gold) if not is_default(name))
    rows: dict[str, list[str]] = defaultdict(list)
    for name in sorted(answers):
        if not is_default(name) and shown(name):
            rows[shown(name)].append(name)
    if len(gold) < 2 or not rows:
        return None
    groups = tuple(tuple(rows[name]) for name in sorted(rows))
    return NamesToMatch(item.question.question, gold, columns, groups, align(gold, answers))


async def align_with_model(
    items: Sequence[AnsweredItem],
    matcher: ModelCaller,
    judgements: Judgements,
    *,
    concurrency: int = 8,
    progress: RequestProgress | None = None,
    ready: Ready = check_ready,
) -> tuple[list[AnsweredItem], MatcherReport]:
    """Let a model align the branches of every item that names alone cannot decide.

    The items in order, `matched` if a model was to align them, and the report. Equal requests are
    sent once, and not at all if the reply was kept. A reply that does not map these names to these
    readings is repaired once; items that still fail are aligned by names and marked.

    Raises:
        ModelError: no request can be answered (a refused key, a spent quota, an unknown model).
        InputError: the model cannot be asked, and not everything is kept.
    """
    asked = [names_to_match(item) for item in items]
    requests = [names.request if names and not names.is_too_long else None for names in asked]
    mapper = Mapper(matcher, judgements, ROLE, ready)
    wanted = filter(None, requests)
    outcomes = await mapper.each(wanted, mapper.map, concurrency=concurrency, progress=progress)
    too_long = MappingOutcome(None, f"more than {MAX_NAMES} names are too many for one request")
    mapped = [outcomes[request] if request else too_long for request in requests]
    matched = [n.aligned(m) if n else None for n, m in zip(asked, mapped, strict=True)]
    of_items = zip(items, asked, matched, mapped, strict=True)
    settled = [(item, n, m, outcome) for item, n, m, outcome in of_items if n and m]
    lexical = [(item, m.problem) for item, _, m, _ in settled if m.by == "lexical"]
    to_one = [item for item, _, _, outcome in settled if outcome.is_to_one]
    report = MatcherReport(
        model=matcher.spec.model,
        asked=len(settled),
        ended=Ended.of(outcomes.values()),
        changed=sum(m.alignment != n.lexical for _, n, m, _ in settled),
        repaired=sum(m.repaired for _, _, m, _ in settled),
        lexical=tuple(ReportedItem(item.question.id, item.epoch, why) for item, why in lexical),
        to_one=tuple(ReportedItem(item.question.id, item.epoch) for item in to_one),
        consulted=mapper.consulted,
    )
    return [replace(item, matched=m) for item, m in zip(items, matched, strict=True)], report


@dataclass(frozen=True)
class Disagreement:
    """A question on which the matchers differ, the first such epoch, and both mappings."""

    id: str
    epoch: int
    lexical: BranchMapping
    llm: BranchMapping

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "lexical": dict(self.lexical), "llm": dict(self.llm)}


@dataclass(frozen=True)
class Agreement:
    """Counts of (predicted branch, gold branch) pairs by which matcher aligned them."""

    both: int
    lexical_only: int
    llm_only: int
    neither: int
    questions: int
    differences: tuple[Disagreement, ...]

    @property
    def pairs(self) -> int:
        return self.both + self.lexical_only + self.llm_only + self.neither

    @property
    def observed(self) -> float | None:
        """Share of the pairs on which both agree; None without pairs."""
        return (self.both + self.neither) / self.pairs if self.pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa over all pairs of names: aligned or not. None where it is undefined."""
        aligned = {(1, 1): self.both, (1, 0): self.lexical_only, (0, 1): self.llm_only}
        return cohen_kappa({**aligned, (0, 0): self.neither})

    def to_json(self) -> dict[str, Any]:
        return {
            "kappa": self.kappa,
            "observed": self.observed,
            "pairs": self.pairs,
            **vars(self),
            "differences": [difference.to_json() for difference in self.differences],
        }


def agreement(items: Iterable[AnsweredItem]) -> Agreement:
    """The agreement over all items that a model aligned: on all pairs of a question's predicted and
    gold names but `default`. Items of one question with the same names count once for each of its
    gold sets."""
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    differences: list[Disagreement] = []
    seen: set[tuple[GoldKey, tuple[tuple[str, ...], ...]]] = set()
    for item in items:
        names = names_to_match(item)
        if item.matched is None or item.matched.by != "llm" or names is None:
            continue  # no usable reply
        if (item.gold_key, names.rows) in seen:
            continue
        seen.add((item.gold_key, names.rows))
        lexical, llm = names.lexical, item.matched.alignment
        for row in names.rows:
            for column in names.columns:
                counts[lexical[row[0]] == column, llm[row[0]] == column] += 1
        if any(lexical[row[0]] != llm[row[0]] for row in names.rows):
            mappings = names.named(lexical), names.named(llm)
            differences.append(Disagreement(item.question.id, item.epoch, *mappings))
    both, lexical_only, llm_only, neither = counts.values()
    return Agreement(both, lexical_only, llm_only, neither, len(seen), tuple(differences))
