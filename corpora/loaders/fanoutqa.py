"""FanOutQA: questions whose answers are found on many pages; answers are nested.

Format: the published JSON array (github.com/zhudotexe/fanoutqa). An answer is a text, a number,
true or false, or a list or an object of these; `meta` keeps it as it is, beside the decomposition
with its evidence pages. The test set has no answers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, Question


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    reader = GoldReader(at)
    answer = record.get("answer")
    return reader.made(
        id=reader.id(record.get("id")),
        question=reader.question_text(record.get("question")),
        branches=_branches(answer, reader) if answer is not None else (),
        meta={"benchmark": "fanoutqa"},
    )


def _branches(answer: Any, reader: GoldReader) -> tuple[Branch, ...]:
    texts = flattened(answer)
    if not texts:
        reader.refuse("no-answers", '"answer" holds no text')
    return (Branch(name=DEFAULT_BRANCH, answers=tuple(Answer(text=text) for text in texts)),)


def flattened(answer: Any) -> tuple[str, ...]:
    """The texts in a nested answer, each once, in their order.

    A list holds its members, an object its keys and its values: FanOutQA's own loose accuracy
    (`fanoutqa/eval/string.py`) looks for both in what a system says. True and false are yes and no.
    """
    return tuple(dict.fromkeys(text for text in _texts(answer) if text.strip()))


def _texts(answer: Any) -> Iterator[str]:
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield key
            yield from _texts(value)
    elif isinstance(answer, list):
        for member in answer:
            yield from _texts(member)
    elif isinstance(answer, bool):
        yield "yes" if answer else "no"
    elif answer is not None:
        yield str(answer)
