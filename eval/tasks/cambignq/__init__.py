"""CAmbigNQ: its three tasks (is it ambiguous, ask back, answer each option) and all in a row."""

from branchwise.eval.tasks.cambignq.ambiguity import AmbiguityTask
from branchwise.eval.tasks.cambignq.option_scores import WAYS
from branchwise.eval.tasks.cambignq.tasks import ClarificationTask, ClarifiedTask, ClarifyTask
from branchwise.eval.tasks.registry import register
from branchwise.eval.tasks.task import ShotSettings

register(AmbiguityTask())
for _task in (ClarificationTask, ClarifiedTask, ClarifyTask):
    _ways = {way.variant: _task(way) for way in WAYS}
    register(next(iter(_ways.values())), _ways, ShotSettings)
