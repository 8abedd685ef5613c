"""A question with its place in the file, for messages."""

from typing import NamedTuple

from branchwise.corpora.questions import Question


class PlacedQuestion(NamedTuple):
    """`where` is `file:line`, or `file:entry n` (from 1) in a file that is one JSON array."""

    where: str
    question: Question
