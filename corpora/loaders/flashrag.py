"""FlashRAG's data sets: a question and what is right of it, a line each.

Format: JSONL with `id`, `question`, `golden_answers` and sometimes `metadata`
(github.com/RUC-NLPIR/FlashRAG). FlashRAG's own metrics take any of the golden answers for right:
they are the forms of one answer.
"""

from collections.abc import Mapping
from typing import Any

from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import Question
from branchwise.corpora.written_lists import members


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of a line; None if something in it was refused."""
    reader = GoldReader(at)
    golden = record.get("golden_answers")
    if isinstance(golden, str | list):
        golden = members(golden)
    return reader.made(
        id=reader.id(record.get("id")),
        question=reader.question_text(record.get("question")),
        branches=reader.only(reader.one_of(golden, "golden_answers")),
    )
