"""Every target by its name."""

from fuzzing.target import Target
from fuzzing.targets import (
    collections_of_passages,
    files,
    folders,
    kg,
    models,
    options,
    question_sets,
    retrieval,
    runs,
)

_ALL = (
    *files.TARGETS,
    *collections_of_passages.TARGETS,
    *question_sets.TARGETS,
    *options.TARGETS,
    *models.TARGETS,
    *kg.TARGETS,
    *retrieval.TARGETS,
    *folders.TARGETS,
    *runs.TARGETS,
)
TARGETS: dict[str, Target] = {target.name: target for target in _ALL}
