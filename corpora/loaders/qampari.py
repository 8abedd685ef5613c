"""QAMPARI: questions with many answers.

Format: the published lines (`qid`, `question_text`, `answer_list` of `answer_text` and `aliases`;
samsam3232.github.io/qampari), or the array that ALCE made of them (`id`, `question`, `answers`,
each a list of forms; github.com/princeton-nlp/ALCE).
"""

from collections.abc import Mapping
from typing import Any

from branchwise.corpora.loaders.answers import RecordReader
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import Question


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    reader = RecordReader(at)
    name = "question_text" if "question_text" in record else "question"
    id = record.get("qid")
    return reader.made(
        id=reader.id(record.get("id") if id is None else id),
        question=reader.question_text(record.get(name), f'"{name}"'),
        branches=reader.branches(_answers(record)) if _has_gold(record) else (),
        meta={"benchmark": "qampari"},
    )


def _has_gold(record: Mapping[str, Any]) -> bool:
    return any(record.get(name) is not None for name in ("answers", "answer_list"))


def _answers(record: Mapping[str, Any]) -> Any:
    """The answers as lists of forms."""
    listed = record.get("answer_list")
    if listed is None:
        return record["answers"]
    return [_forms(one) for one in listed] if isinstance(listed, list) else listed


def _forms(answer: Any) -> Any:
    """The text of a published answer, then its aliases, which repeat the text."""
    if not isinstance(answer, dict) or not isinstance(answer.get("aliases", []), list):
        return answer
    return [answer.get("answer_text"), *answer.get("aliases", [])]
