"""Every target by its name."""

from fuzzing.target import Target
from fuzzing.targets import collections_of_passages as passages
from fuzzing.targets import files, folders, kg, models, options, question_sets, retrieval, runs

_ALL = (files, passages, question_sets, options, models, kg, retrieval, folders, runs)
TARGETS: dict[str, Target] = {one.name: one for module in _ALL for one in module.TARGETS}
