"""Settings that do not fit each other: the same rules for the command line and for study files."""

from collections.abc import Callable

from branchwise.corpora.errors import InputError
from branchwise.corpora.open import needs_corpus
from branchwise.graphs.system import MODULES, System


class SettingError(InputError):
    """A setting that does not fit the others; `setting`: its field in System or Roles."""

    def __init__(self, setting: str, what: str, *, where: str, remedy: str) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.setting = setting


def searches(system: System) -> bool:
    """Whether there is something to search."""
    return system.corpus is not None or not needs_corpus(system.retriever)


def check_system(system: System, written: Callable[[str], str] = lambda s: "--" + s) -> None:
    """Raise SettingError where settings do not fit each other.

    A model for a module that is not asked for would be paid for by nobody's wish. `written` gives
    the user's word for a setting.
    """
    for role, module in MODULES.items():
        if getattr(system.roles, role) and not getattr(system, module):
            raise SettingError(
                role,
                f"no {role} is asked without {written(module)}",
                where=written(role),
                remedy=f"add {written(module)}, or leave out {written(role)}",
            )
    for setting in ("retriever", "k"):
        if getattr(system, setting) is not None and not searches(system):
            raise SettingError(
                setting,
                "there is no corpus to search",
                where=written(setting),
                remedy=f"add {written('corpus')} DIR",
            )
