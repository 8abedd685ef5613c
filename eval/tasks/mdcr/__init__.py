"""MDCR: which of several offers a user can have, and what else must be true for it."""

from branchwise.eval.tasks.mdcr.flow import MDCRSettings
from branchwise.eval.tasks.mdcr.task import BY_AUTHORS, BY_PAIRS, SUMMED, MDCRTask
from branchwise.eval.tasks.registry import register

_WAYS = (SUMMED, BY_PAIRS, BY_AUTHORS)
register(MDCRTask(), {way.variant: MDCRTask(way) for way in _WAYS}, MDCRSettings)
