"""AmbigQA: question-answer pairs, scored as AmbigQA's evaluation does."""

from branchwise.eval.tasks.ambigqa.task import AmbigQATask
from branchwise.eval.tasks.registry import register

register(AmbigQATask())
