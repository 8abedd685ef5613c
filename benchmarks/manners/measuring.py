"""A manner and a system over questions: what was found, and what it cost."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.items import support_recall
from branchwise.eval.scores import score_items
from branchwise.eval.scoring_choice import BY_NAMES
from branchwise.eval.tasks import get_task
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System
from branchwise.runs.experiment import run_spec
from branchwise.runs.runner import Part, run_parts
from branchwise.runs.store import RunReader, RunStore, create_run, open_run
from branchwise.trace.events import BudgetSpent, Tool
from manners.model import ScriptedSearcher
from manners.searching import Manner

AT_ONCE = 4


@dataclass(frozen=True)
class Searched:
    """How one question was searched.

    `support`: share of the supporting passages that were retrieved, `recall`: strict, of the
    answers; None without gold. `tokens`: that models read, of all roles; `shown`: of results, four
    characters each. `results`: the passages' ids of each call that was made, in order.
    """

    question: Question
    support: float | None
    recall: float | None
    calls: int
    requests: int
    tokens: int
    shown: float
    spent: bool
    results: tuple[tuple[str, ...], ...]


def search(manner: Manner, system: System, questions: QuestionSet, folder: Path) -> list[Searched]:
    """Run the questions into a new run folder, which replaces an older one, and measure them."""
    agent = Agent(system, model=ScriptedSearcher(manner=manner))
    shutil.rmtree(folder, ignore_errors=True)
    create_run(folder, run_spec(questions, agent.system, agent, 1, BY_NAMES), questions.questions)
    with RunStore(folder) as store:
        task = get_task(questions.task)
        state = asyncio.run(run_parts([Part(store, agent, task)], concurrency=AT_ONCE))
    if state.failed or state.stopped:
        raise SystemExit(f"{folder}: {state.stopped or f'{state.failed} questions failed'}")
    reader = open_run(folder)
    try:
        return list(measured(reader))
    finally:
        reader.close()


def measured(reader: RunReader) -> Iterator[Searched]:
    """What was found for each question of a run."""
    scores = score_items(get_task(reader.task), reader.answered_items())
    recalls = {item.id: item.metrics["strict_recall"] for item in scores.items}
    for row in reader.items():
        outcome = row.outcome or {}
        events = list(reader.events(row.item))
        made = [_tool(e.data) for e in events if e.kind == Tool.KIND]
        made = [tool for tool in made if tool.failure != "not_run"]
        usage: Sequence[Mapping[str, Any]] = list(outcome["usage"].values())
        yield Searched(
            question=row.question,
            support=support_recall(row.question.support, outcome["evidence"], None),
            recall=recalls[row.question.id],
            calls=len(made),
            requests=sum(role["calls"] for role in usage),
            tokens=sum(role["input"] for role in usage),
            shown=sum(len(tool.content) for tool in made) / 4,
            spent=any(event.kind == BudgetSpent.KIND for event in events),
            results=tuple(tuple(p.id for p in tool.found.passages) for tool in made),
        )


def _tool(data: Mapping[str, Any]) -> Tool:
    return Tool.read(data)


def hops(question: Question) -> int:
    """Relations that follow each other in the question's plan: an entity's is one, each join one
    more; filters, groups and sets of others add none."""
    depths: list[int] = []
    for step in question.plan:
        of = [depths[step[name]] for name in ("of", "other") if name in step]
        depths.append(max(of, default=0) + (step["op"] in ("atomic", "join")))
    return max(depths, default=0)


KINDS: Mapping[str, Callable[[Question], bool]] = {
    "all": lambda question: True,
    "ambiguous": lambda question: question.ambiguous,
    "unambiguous": lambda question: not question.ambiguous,
    "1 hop": lambda question: hops(question) == 1,
    "2 hops": lambda question: hops(question) == 2,
    "3 hops or more": lambda question: hops(question) > 2,
}


def of_kind(rows: Sequence[Searched], kind: str) -> list[Searched]:
    """The rows whose question is of a kind."""
    return [row for row in rows if KINDS[kind](row.question)]


def mean(values: Sequence[float | None]) -> float | None:
    """Of what is known; None of nothing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
