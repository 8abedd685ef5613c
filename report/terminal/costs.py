"""What runs cost on a terminal, and what a study is expected to cost (`--dry-run`, `--pilot`)."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from branchwise.agents.spec import is_replay
from branchwise.base.errors import nearest
from branchwise.base.numbers import UNKNOWN, duration, short_count, usd
from branchwise.base.text import counted, printable
from branchwise.eval.judging.grading import Demand
from branchwise.graphs.ledger import AGENT, CHECKER, EXPANDER, EXTRACTOR
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.costs import PER_RIGHT, costs_table
from branchwise.report.terminal.cells import indented, new_table, notes, plain, run_name
from branchwise.report.terminal.console import console
from branchwise.report.terminal.report_table import drawn
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import Costs
from branchwise.runs.estimates import Estimate
from branchwise.runs.studies.plan import (
    AGENT_INPUT,
    GRADE_INPUT,
    MODULE_INPUT,
    PREDICTED,
    REPLY,
    GradingPlan,
    PlanTotal,
    StudyPlan,
    SystemPlan,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.padding import Padding
    from rich.table import Table

_SHOWN, _NEAR = 3, 0.6
_IN_NOTES = {"model", "ratio"}


def cost_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """The table, and notes: whose price is missing, and how to give it."""
    table = costs_table(report)
    is_known = any(system.run.tokens_per_right for system in report.systems)
    left_out = _IN_NOTES if is_known else {*_IN_NOTES, PER_RIGHT.key}
    yield from drawn(table.with_columns([c.key for c in table.columns if c.key not in left_out]))
    costs = [system.run.costs for system in report.systems]
    lines: list[str] = []
    for system in report.systems:
        before = f"{run_name(system.name)}: " if len(report.systems) > 1 else ""
        lines += [before + line for line in _about(system.run.costs)]
    lines += _prices_are_from(costs)
    lines.append("cached is part of input, reasoning of output; seconds are summed over requests")
    if is_known:
        lines.append("tokens/right: of all roles and items, for each gold answer that is right")
    unpriced = dict.fromkeys(model for cost in costs for model in cost.unpriced)
    lines += [_how_to_give(model, "with --prices FILE") for model in unpriced]
    yield notes(lines)


def _prices_are_from(runs: Sequence[Costs]) -> Iterator[str]:
    published = next((costs for costs in runs if costs.source), None)
    if published:
        as_of = f" as of {published.as_of}" if published.as_of else ""
        yield f"USD by {published.source}{as_of}, or by --prices"
    elif any(role.cost for costs in runs for role in costs.roles):
        yield "USD by --prices"
    # Without servers: an address is longer than what is misspelt.
    models = [model.partition("@http")[0] for costs in runs for model in costs.models]
    unused = [name for name in runs[0].unused if all(name in costs.unused for costs in runs)]
    near = {name: nearest(name, models, cutoff=_NEAR) for name in unused}
    # A file of many prices is normal, so names that look misspelt come first.
    for name in sorted(near, key=lambda name: not near[name])[:_SHOWN]:
        model = f"; near: {near[name][0]}" if near[name] else ""
        yield printable(f"--prices: no model of this run is called {name}{model}")
    if len(near) > _SHOWN:
        yield f"--prices: … nor by {len(near) - _SHOWN} more of its names"


def _about(costs: Costs) -> Iterator[str]:
    failed = f", {costs.failed} of them failed" if costs.failed else ""
    models: dict[str, list[str]] = {}
    for role in costs.roles:
        models.setdefault(role.model, []).append(role.role)
    named = (f"{' and '.join(roles)} {model}" for model, roles in models.items())
    yield printable(" · ".join([f"items {costs.items}{failed}", *named]))
    if any(is_replay(role.model) for role in costs.roles):
        yield "replayed: tokens and seconds are those of the run that was recorded; nothing is paid"
    for role in costs.roles:
        if role.uncounted and role.cost is None:
            yield printable(f"{role.role}: the server of {role.model} did not count tokens")


def _how_to_give(model: str, where: str) -> str:
    return printable(
        f"{UNKNOWN}: no price is known for {model}; give one (USD per million tokens) {where}, "
        f'as in: models: {{"{model}": {{input: 0.25, output: 2}}}}'
    )


def demand_line(demand: Demand, prices: Prices) -> str:
    """How many calls a judge is to get, before any is sent, and their cost at most."""
    once, most = demand.once, demand.most
    calls = f"{once.calls:,} request{'' if once.calls == 1 else 's'} to send"
    costs = [prices.cost(demand.spec, usage) for usage in (once, most)]
    if demand.samples > 1:
        calls += f", or {most.calls:,} if its server gives no probabilities"
    if None in costs:
        money = "no price is known (give one with --prices FILE)"
    else:
        money = f"at most {' or '.join(dict.fromkeys(usd(cost) for cost in costs))} USD"
        if not demand.bounded:
            money += ", if replies are numbers alone (--role judge.max_tokens=N bounds them)"
    return printable(f"{demand.role} {demand.spec}: {calls}; {money}")


T = TypeVar("T")
_Row = tuple[str, T]
_Planned = SystemPlan | PlanTotal
_UNKNOWN = (
    "what to expect is not known: --pilot 5 asks 5 questions, which stay; --estimate-from RUN goes "
    "by an earlier run"
)
_EXPECTED = ("model\ncalls", "tool\ncalls", "\ntokens", "\nUSD", "90% of\nUSD", "\ntime")
_AT_MOST = ("tokens in\nthe budget", "\nUSD", "tokens\nat most", "\nUSD")
_GRADING = ("calls of\njudge", "\ntokens", "\nUSD", "calls\nat most", "\ntokens", "\nUSD")


def print_plan(plan: StudyPlan) -> None:
    for part in plan_tables(plan):
        console().print(part)


def plan_tables(plan: StudyPlan) -> "Iterator[RenderableType]":
    """What to print of a plan: what is run, what to expect, the upper bounds, what they rest on."""
    yield plain(f"\n{run_name(plan.name)}", "bold")
    yield indented(plain(_size(plan)))
    samples = [system.expected.sample for system in plan.systems if system.expected]
    systems: list[_Row[_Planned]] = [(system.name, system) for system in plan.systems]
    totals: list[_Row[_Planned]] = [(total.name, total) for total in plan.totals]
    if samples:
        least, most = min(samples), max(samples)
        sample = counted(most, "answer") if least == most else f"{least} to {most} answers"
        of = " of each system" if len(plan.systems) > 1 else ""
        yield plain(f"\nExpected, from {sample}{of}", "bold")
        yield _table(_EXPECTED, systems, totals, lambda row: _expected_cells(row.expected))
    else:
        yield indented(plain(_UNKNOWN, "dim"))
    yield plain("\nAt most, by the settings alone", "bold")
    every = (AGENT, EXPANDER, EXTRACTOR, CHECKER)
    roles = [role for role in every if any(system.calls.get(role) for system in plan.systems)]

    def bounds(planned: _Planned) -> list[str]:
        cells = [short_count(planned.calls.get(role, 0)) for role in roles]
        for bound in (planned.within, planned.at_most):
            cells += [short_count(bound.tokens), usd(bound.cost)]
        return cells

    yield _table((*(f"calls of\n{role}" for role in roles), *_AT_MOST), systems, totals, bounds)
    if plan.grading:
        yield plain("")
        yield _table(_GRADING, [(part.system, part) for part in plan.grading], [], _graded_cells)
    yield _plan_notes(plan)


def _size(plan: StudyPlan) -> str:
    epochs = f" x {plan.epochs} epochs" if plan.epochs > 1 else ""
    design = f"{plan.design}, {len(plan.models)} models" if plan.models else plan.design
    sets = len(plan.sets) or 1
    systems = counted(len(plan.systems) // sets, "system")
    systems += f" ({design})" if design else ""
    questions = counted(plan.questions, "question")
    if sets > 1:
        return f"{systems} x {questions} of {sets} sets = {counted(plan.items, 'item')}"
    return f"{systems} x {questions}{epochs} = {counted(plan.items, 'item')}"


def _table(
    titles: Sequence[str],
    rows: Sequence[_Row[T]],
    totals: Sequence[_Row[T]],
    cells: Callable[[T], list[str]],
) -> "Table":
    table = new_table()
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for name, row in rows:
        table.add_row(plain(run_name(name)), *cells(row))
    if totals:
        table.add_section()
    for name, row in totals:
        table.add_row(plain(run_name(name), "bold"), *cells(row))
    return table


def _expected_cells(expected: Estimate | None) -> list[str]:
    if expected is None:
        return [UNKNOWN] * 6
    cost = expected.cost
    return [
        short_count(round(sum(expected.calls.values()))),
        short_count(round(expected.tool_calls)),
        short_count(round(expected.tokens.value)),
        usd(cost.value if cost else None),
        f"{usd(cost.low)} to {usd(cost.high)}" if cost and cost.value else UNKNOWN,
        duration(expected.seconds),
    ]


def _graded_cells(grading: GradingPlan) -> list[str]:
    cells = []
    once, most = grading.demand.once, grading.demand.most
    for usage, cost in ((once, grading.cost), (most, grading.cost_at_most)):
        cells += [short_count(usage.calls), short_count(usage.input + usage.output), usd(cost)]
    return cells


def _plan_notes(plan: StudyPlan) -> "Padding":
    lines = [
        "calls: turns of an item, or of each of its stages (max_turns, max_calls), and one repair; "
        "one expansion; of each tool call every passage (k) extracted; retries are not counted",
        "tokens in the budget: max_tokens_total of every item; without tools, all calls at the "
        "sizes below",
        "at most: with one turn, its extractions, the answer and a repair on top of it, a request "
        f"at {AGENT_INPUT:,} tokens (a module's at {MODULE_INPUT:,}), a reply at max_tokens "
        f"(where it is not set: {REPLY:,})",
    ]
    if plan.grading:
        lines.append(
            "judge: what grading takes by one reply a request, and at most, where the server gives "
            f"no probabilities; of {PREDICTED} properties an answer where nothing bounds them, a "
            f"request at {GRADE_INPUT:,} tokens, a reply at judge.max_tokens (where it is not set: "
            "a number alone); in no other number"
        )
    if any(system.expected for system in plan.systems):
        lines.insert(
            0,
            "expected: the mean of what was asked, times all items; time: what is left of it at "
            "the concurrency that was asked for",
        )
    if plan.scored_by:
        models = ", ".join(map(printable, plan.scored_by))
        lines.append(f"not counted: what {models} is asked when the runs are scored")
    if plan.max_cost is not None:
        lines.append(f"max_cost: it stops before {plan.max_cost:,.2f} USD are passed")
    if plan.as_of:
        lines.append(f"USD by the built-in prices as of {plan.as_of}, or by your own")
    where = "in the file that the study names as prices:" if plan.design else "with --prices FILE"
    return notes([*lines, *(_how_to_give(model, where) for model in plan.unpriced)])
