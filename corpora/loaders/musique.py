"""MuSiQue-Ans: questions of two to four hops over the paragraphs that come with them.

Format: the published JSONL (github.com/stonybrooknlp/musique), or one array of its lines.
`paragraphs` become passages, those with `is_supporting` the answer's support. A question that is
marked as unanswerable (MuSiQue-Full) is refused: its answer is not right.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.passages import Passage, make_passage
from branchwise.corpora.questions import Question


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of a line; None if something in it was refused."""
    reader = GoldReader(at)
    if record.get("answerable") is False:
        reader.refuse("unanswerable", "is marked as unanswerable", "take MuSiQue-Ans")
    passages, support = _passages(record.get("paragraphs"), reader)
    answer, aliases = record.get("answer"), record.get("answer_aliases") or []
    forms = [answer, *aliases] if isinstance(aliases, list) else [answer, aliases]
    gold = reader.one_of(forms, "answer") if answer is not None else None
    return reader.made(
        id=reader.id(record.get("id")),
        question=reader.question_text(record.get("question")),
        branches=reader.only(gold and replace(gold, support=support)),
        passages=passages,
        meta={"benchmark": "musique"},
    )


def _passages(paragraphs: Any, reader: GoldReader) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """The passages, and the ids of those that support the answer."""
    found: list[Passage] = []
    support: dict[str, None] = {}
    for paragraph in reader.entries(paragraphs, "paragraphs"):
        match paragraph:
            case {"title": str(title), "paragraph_text": str(text), **more}:
                found.append(passage := make_passage(title, text))
                if more.get("is_supporting"):
                    support[passage.id] = None
            case _:
                what = '"paragraphs" is not a list of {"title": ..., "paragraph_text": ...}'
                reader.refuse("form", what)
                break
    return tuple(found), tuple(support)
