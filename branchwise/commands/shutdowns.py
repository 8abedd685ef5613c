"""A line before a run whose model its server will shut down soon."""

from collections.abc import Mapping, Sequence

from branchwise.agents.spec import shutdown_warnings
from branchwise.base.keys import Keys
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.graphs.system import System
from branchwise.report.terminal.console import error_console
from branchwise.runs.costs.spending import models_of


def warn_of_shutdowns(
    systems: Sequence[System], keys: Mapping[str, str], scoring: ScoringChoice | None = None
) -> None:
    """Say on standard error which of the models that will be asked are shut down soon."""
    from datetime import UTC, datetime

    models = [model for system in systems for _, model in models_of(system)]
    models += [model for model in (scoring.model, scoring.judge) if model] if scoring else []
    headers = {name: value for system in systems for name, value in system.headers.items()}
    for line in shutdown_warnings(models, Keys(keys), headers, datetime.now(UTC).date()):
        error_console().print(line, markup=False, soft_wrap=True)
