"""CondAmbigQA: answers in free text, each under its condition and with its citations."""

from branchwise.eval.tasks.condambigqa.graded import GradedTask, PublishedCodeTask
from branchwise.eval.tasks.condambigqa.task import CondAmbigQASettings, CondAmbigQATask
from branchwise.eval.tasks.registry import register
from branchwise.eval.tasks.task import PUBLISHED

register(
    CondAmbigQATask(),
    {GradedTask.graded_variant: GradedTask(), PUBLISHED: PublishedCodeTask()},
    CondAmbigQASettings,
)
