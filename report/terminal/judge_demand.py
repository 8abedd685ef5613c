"""What a judge is to be asked, in a line, before anything is sent."""

from branchwise.base.numbers import usd
from branchwise.base.text import printable
from branchwise.eval.judging.grading import Demand
from branchwise.runs.costs.prices import Prices


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
