"""CondAmbigQA: answers in free text, each under its condition and with its citations."""

from branchwise.eval.tasks.condambigqa.graded import (
    PAPER_CODE,
    REWRITE_CODE,
    GradedTask,
    PaperCodeTask,
    RewriteCodeTask,
)
from branchwise.eval.tasks.condambigqa.task import CondAmbigQASettings, CondAmbigQATask
from branchwise.eval.tasks.registry import register

register(
    CondAmbigQATask(),
    {
        GradedTask.graded_variant: GradedTask(),
        PAPER_CODE: PaperCodeTask(),
        REWRITE_CODE: RewriteCodeTask(),
    },
    CondAmbigQASettings,
)
