"""`branchwise mdcr`: solve, generate and restrict questions about documents with conditions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.commands.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from branchwise.corpora.conditions.conditions_file import ConditionsSet
    from branchwise.corpora.conditions.documents import ConditionsProblem, Scenario
    from branchwise.corpora.conditions.solver import Solution

mdcr_app = typer.Typer(
    help="Solve and generate questions about documents with conditions.", no_args_is_help=True
)

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="Documents, relations and scenarios, JSON.")
]


@mdcr_app.command()
def solve(
    file: File,
    scenario: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this scenario (repeatable).")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Say from which expressions, values and relations groups come."
        ),
    ] = False,
    json_output: AsJson = False,
) -> None:
    """Answer the questions of a file: what can be had, and what else must be true.

    Example: branchwise mdcr solve mdcr.json --explain
    """
    from branchwise.corpora.conditions.conditions_file import read_conditions
    from branchwise.corpora.text import printable
    from branchwise.ui.conditional_answers import answer_lines, answer_record, scenario_lines
    from branchwise.ui.console import printable_json

    found = read_conditions(file)
    solved = _solved(found, scenario or [])
    if json_output:
        records = [answer_record(*one, explain=explain) for one in solved]
        typer.echo(printable_json(records))
        return
    last = None
    for one, problem, solution in solved:
        if one is not last:
            for line in scenario_lines(one):
                typer.echo(printable(line))
        last = one
        for line in answer_lines(problem, solution, explain=explain):
            typer.echo(printable(line))


def _solved(
    found: "ConditionsSet", ids: list[str]
) -> "Iterator[tuple[Scenario, ConditionsProblem, Solution]]":
    from branchwise.corpora.errors import InputError, did_you_mean
    from branchwise.corpora.loaders.mdcr import solved

    known = {scenario.id: scenario for scenario in found.scenarios}
    for id in ids:
        if id not in known:
            what = f"there is no scenario {id!r}"
            raise InputError(what, where=found.path, remedy=did_you_mean(id, known))
    for scenario in (known[id] for id in ids or known):
        for kind in scenario.kinds:
            problem = found.problem(scenario, kind)
            place = f"{found.place(scenario)}, {kind}"
            yield scenario, problem, solved(problem, place)
