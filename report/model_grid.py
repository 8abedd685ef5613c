"""Models by settings: what a report of several models shows in rows and groups of columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from branchwise.eval.comparison import Comparison
from branchwise.report.study_report import StudyReport, SystemReport

T = TypeVar("T")


@dataclass(frozen=True)
class ModelGrid(Generic[T]):
    """What there is of models and settings, `cells` by both; a model may lack a setting."""

    cells: Mapping[tuple[str, str], T]

    @property
    def models(self) -> list[str]:
        """In the order of the systems."""
        return list(dict.fromkeys(model for model, _ in self.cells))

    @property
    def settings(self) -> list[str]:
        """In the order of the systems."""
        return list(dict.fromkeys(setting for _, setting in self.cells))


def system_grid(report: StudyReport) -> ModelGrid[SystemReport] | None:
    """The systems; None for fewer than two models, and where two are of one model and setting."""
    grid = ModelGrid({(one.model, one.setting): one for one in report.systems})
    is_whole = len(grid.cells) == len(report.systems)
    return grid if is_whole and len(grid.models) > 1 else None


def change_grid(report: StudyReport) -> ModelGrid[Comparison] | None:
    """The systems' comparisons with the base of their own model; None for fewer than two models."""
    systems = system_grid(report)
    if systems is None:
        return None
    grid = ModelGrid(
        {
            place: report.comparisons[one.name]
            for place, one in systems.cells.items()
            if one.name in report.comparisons and report.base_of(one).model == one.model
        }
    )
    return grid if len(grid.models) > 1 else None
