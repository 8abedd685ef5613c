"""What runs cost on a terminal, and what a study is expected to cost."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.agents.spec import is_replay
from branchwise.base.errors import nearest
from branchwise.base.numbers import UNKNOWN, duration, short_count, usd
from branchwise.base.text import counted, printable
from branchwise.eval.judging.grading import Demand
from branchwise.graphs.ledger import AGENT, EXPANDER, EXTRACTOR, RoleUsage
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.costs import costs_table
from branchwise.report.terminal.cells import indented, new_table, notes, plain, run_name
from branchwise.report.terminal.console import console
from branchwise.report.terminal.report_table import drawn
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import Costs, RoleCost
from branchwise.runs.estimates import Estimate
from branchwise.runs.studies.plan import (
    AGENT_INPUT,
    GRADE_INPUT,
    MODULE_INPUT,
    PREDICTED,
    REPLY,
    Bound,
    GradingPlan,
    PlanTotal,
    StudyPlan,
    SystemPlan,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.padding import Padding
    from rich.table import Table


_SHOWN = 3
_NEAR = 0.6
_IN_NOTES = ("model", "ratio")


def cost_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """The table, and notes on it.

    Unknown is –, and a note says which model's price is missing and how to give it.
    """
    table = costs_table(report)
    yield from drawn(table.with_columns([c.key for c in table.columns if c.key not in _IN_NOTES]))
    yield notes(_notes(report))


def _notes(report: StudyReport) -> Iterator[str]:
    costs = [system.run.costs for system in report.systems]
    for system in report.systems:
        before = f"{run_name(system.name)}: " if len(report.systems) > 1 else ""
        yield from (before + line for line in _about(system.run.costs))
    yield from _prices_are_from(costs)
    yield "cached is part of input, reasoning of output; seconds are summed over requests"
    for model in dict.fromkeys(model for found in costs for model in found.unpriced):
        yield how_to_give(model, "with --prices FILE")


def _prices_are_from(runs: Sequence[Costs]) -> Iterator[str]:
    published = next((found for found in runs if found.source), None)
    if published:
        as_of = f" as of {published.as_of}" if published.as_of else ""
        yield f"USD by {published.source}{as_of}, or by --prices"
    elif any(role.cost for found in runs for role in found.roles):
        yield "USD by --prices"
    # Without servers: an address is longer than what is misspelt.
    models = [model.partition("@http")[0] for found in runs for model in found.models]
    unused = [name for name in runs[0].unused if all(name in found.unused for found in runs)]
    told = {name: nearest(name, models, cutoff=_NEAR) for name in unused}
    # A file of many prices is normal, so names that look misspelt come first.
    for name in sorted(told, key=lambda name: not told[name])[:_SHOWN]:
        near = f"; near: {told[name][0]}" if told[name] else ""
        yield printable(f"--prices: no model of this run is called {name}{near}")
    if len(told) > _SHOWN:
        yield f"--prices: … nor by {len(told) - _SHOWN} more of its names"


def _about(found: Costs) -> Iterator[str]:
    failed = f", {found.failed} of them failed" if found.failed else ""
    models: dict[str, list[str]] = {}
    for role in found.roles:
        models.setdefault(role.model, []).append(role.role)
    named = (f"{' and '.join(roles)} {model}" for model, roles in models.items())
    yield printable(" · ".join([f"items {found.items}{failed}", *named]))
    if any(is_replay(role.model) for role in found.roles):
        yield "replayed: tokens and seconds are those of the run that was recorded; nothing is paid"
    yield from (_uncounted(role) for role in found.roles if role.uncounted and role.cost is None)


def _uncounted(role: RoleCost) -> str:
    return printable(f"{role.role}: the server of {role.model} did not count tokens")


def how_to_give(model: str, where: str) -> str:
    """How to give a model's price."""
    return printable(
        f"{UNKNOWN}: no price is known for {model}; give one (USD per million tokens) {where}, "
        f'as in: models: {{"{model}": {{input: 0.25, output: 2}}}}'
    )


_ROLES = (AGENT, EXPANDER, EXTRACTOR)
_UNKNOWN = (
    "what to expect is not known: --pilot 5 asks 5 questions, which stay; --estimate-from RUN goes "
    "by an earlier run"
)


def print_plan(plan: StudyPlan) -> None:
    """Print a plan on standard output."""
    for part in plan_tables(plan):
        console().print(part)


def plan_tables(plan: StudyPlan) -> "Iterator[RenderableType]":
    """What to print of a plan: what is run, what to expect, the upper bounds, what they rest on."""
    yield plain(f"\n{run_name(plan.name)}", "bold")
    yield indented(plain(_size(plan)))
    samples = [one.expected.sample for one in plan.systems if one.expected]
    if samples:
        yield plain(f"\nExpected, from {_sample(samples, len(plan.systems))}", "bold")
        yield _expected_table(plan)
    else:
        yield indented(plain(_UNKNOWN, "dim"))
    yield plain("\nAt most, by the settings alone", "bold")
    yield _table(plan)
    if plan.grading:
        yield plain("")
        yield _grading_table(plan.grading)
    yield _plan_notes(plan)


def _size(plan: StudyPlan) -> str:
    epochs = f" x {plan.epochs} epochs" if plan.epochs > 1 else ""
    design = f"{plan.design}, {len(plan.models)} models" if plan.models else plan.design
    systems = f"{counted(len(plan.systems), 'system')}{f' ({design})' if design else ''}"
    questions = counted(plan.questions, "question")
    return f"{systems} x {questions}{epochs} = {counted(plan.items, 'item')}"


def _sample(sizes: Sequence[int], systems: int) -> str:
    least, most = min(sizes), max(sizes)
    said = counted(most, "answer") if least == most else f"{least} to {most} answers"
    return f"{said} of each system" if systems > 1 else said


def _expected_table(plan: StudyPlan) -> "Table":
    table = new_table()
    for title in ("model\ncalls", "tool\ncalls", "\ntokens", "\nUSD", "90% of\nUSD", "\ntime"):
        table.add_column(title, justify="right", no_wrap=True)
    for system in plan.systems:
        table.add_row(plain(run_name(system.name)), *_expected_cells(system.expected))
    if plan.totals:
        table.add_section()
    for total in plan.totals:
        table.add_row(plain(run_name(total.name), "bold"), *_expected_cells(total.expected))
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


def _table(plan: StudyPlan) -> "Table":
    roles = [role for role in _ROLES if any(one.calls.get(role) for one in plan.systems)]
    table = new_table()
    for role in roles:
        table.add_column(f"calls of\n{role}", justify="right", no_wrap=True)
    for title in ("tokens in\nthe budget", "\nUSD", "tokens\nat most", "\nUSD"):
        table.add_column(title, justify="right", no_wrap=True)
    for system in plan.systems:
        table.add_row(plain(run_name(system.name)), *_cells(system, roles))
    if plan.totals:
        table.add_section()
    for total in plan.totals:
        table.add_row(plain(run_name(total.name), "bold"), *_cells(total, roles))
    return table


def _grading_table(grading: Sequence[GradingPlan]) -> "Table":
    table = new_table()
    for title in ("calls of\njudge", "\ntokens", "\nUSD", "calls\nat most", "\ntokens", "\nUSD"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in grading:
        costs = ((one.demand.once, one.cost), (one.demand.most, one.cost_at_most))
        table.add_row(
            plain(run_name(one.system)),
            *(cell for usage, cost in costs for cell in _graded(usage, cost)),
        )
    return table


def _graded(usage: RoleUsage, cost: float | None) -> list[str]:
    return [short_count(usage.calls), short_count(usage.input + usage.output), usd(cost)]


def _cells(planned: SystemPlan | PlanTotal, roles: list[str]) -> list[str]:
    calls = [short_count(planned.calls.get(role, 0)) for role in roles]
    return [*calls, *_bounds(planned.within, planned.at_most)]


def _bounds(within: Bound, at_most: Bound) -> list[str]:
    both = ((short_count(bound.tokens), usd(bound.cost)) for bound in (within, at_most))
    return [cell for pair in both for cell in pair]


def _plan_notes(plan: StudyPlan) -> "Padding":
    lines = [
        "",
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
    if any(one.expected for one in plan.systems):
        lines.insert(
            1,
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
    lines += [how_to_give(model, where) for model in plan.unpriced]
    return indented(plain("\n".join(lines), "dim"))


def demand_line(demand: Demand, prices: Prices) -> str:
    """How many calls, and what they cost at most."""
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
