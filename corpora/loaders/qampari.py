"""QAMPARI: questions with many answers.

Format: the published lines (`qid`, `question_text`, `answer_list` of `answer_text` and `aliases`;
samsam3232.github.io/qampari), or the array that ALCE made of them (`id`, `question`, `answers`,
each a list of forms; github.com/princeton-nlp/ALCE).
"""

from collections.abc import Mapping
from typing import Any

from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import Branch, Question


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    reader = GoldReader(at)
    name = "question_text" if "question_text" in record else "question"
    id = record.get("qid")
    return reader.made(
        id=reader.id(record.get("id") if id is None else id),
        question=reader.question_text(record.get(name), f'"{name}"'),
        branches=_branches(record, reader),
        meta={"benchmark": "qampari"},
    )


def _branches(record: Mapping[str, Any], reader: GoldReader) -> tuple[Branch, ...]:
    for name in ("answer_list", "answers"):
        if (listed := record.get(name)) is not None:
            return reader.branches([*map(_forms, reader.entries(listed, name))])
    return ()


def _forms(answer: Any) -> Any:
    """The text of a published answer, then its aliases, which repeat the text."""
    if not isinstance(answer, dict) or not isinstance(answer.get("aliases", []), list):
        return answer
    return [answer.get("answer_text"), *answer.get("aliases", [])]
