"""FanOutQA: something is asked of each of several things."""

from branchwise.eval.tasks.fanoutqa.task import FanOutQATask
from branchwise.eval.tasks.registry import register

register(FanOutQATask())
