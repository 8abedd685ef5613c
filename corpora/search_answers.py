"""Rankings as Search-R1's retrieval server writes them, read without trust.

`{"result": [[{"document": {"id", "contents"}, "score": float}]]}`, a list for each query; without
scores the documents stand there bare (Search-R1, `search_r1/search/retrieval_server.py`). Search
engines behind the same protocol send documents without ids.
"""

import math
from collections.abc import Mapping
from typing import Any

from branchwise.base.errors import warn
from branchwise.base.text import parsed, whole_characters
from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.records import to_passage
from branchwise.corpora.retrieval import Hit, RetrieverError

MAX_ID_CHARS = 200
_NOTHING = 3.4e38


def read_rankings(body: bytes, queries: int, k: int) -> list[list[Hit]]:
    """The rankings in a body, at most `k` hits for each of `queries` queries, in its order.

    Repeated passages and places without one are left out, with a warning. Where a ranking lacks a
    score, its scores are 1, 1/2, 1/3, ...: the order and nothing more. Raises RetrieverError for a
    body of another form or number of rankings, a score that is no number, and an id of two texts.
    """
    rankings = _part(_decoded(body), "result")
    if not isinstance(rankings, list):
        raise RetrieverError('the retriever\'s answer has no list "result"')
    if len(rankings) != queries:
        raise RetrieverError(
            f"the retriever answered {len(rankings)} queries but was asked {queries}"
        )
    return [_ranking(ranking, k) for ranking in rankings]


def _ranking(ranking: Any, k: int) -> list[Hit]:
    if not isinstance(ranking, list):
        raise RetrieverError("the retriever's answer has no list of documents for a query")
    scored = [(item, _score(item)) for item in ranking[:k]]
    found = [(item, score) for item, score in scored if not _is_nothing(item, score)]
    if len(found) < len(scored):
        warn("a retriever filled its rankings up with places without a passage: they are left out")
    passages = [_passage(_part(item, "document") or item) for item, _ in found]
    known = [score for _, score in found if score is not None]
    if len(known) < len(found):
        known = [1 / rank for rank in range(1, len(found) + 1)]
    return _distinct([Hit(*hit) for hit in zip(passages, known, strict=True)])


def _is_nothing(item: Any, score: float | None) -> bool:
    """Whether this is how faiss says that it found no more: row -1, whose document is any or none,
    and the least or the greatest score of 32 bits."""
    if score is not None:
        return abs(score) >= _NOTHING
    return _part(_part(item, "document") or item, "id") in (-1, "-1")


def _distinct(hits: list[Hit]) -> list[Hit]:
    """A ranking with each passage once, at its best rank: what is measured is what agents see."""
    first: dict[str, Hit] = {}
    for hit in hits:
        known = first.setdefault(hit.passage.id, hit).passage
        if known != hit.passage:
            raise RetrieverError(f"the retriever gives two texts the id {known.id[:80]!r}")
    if len(first) < len(hits):
        warn("a retriever names passages twice in a ranking: all but the first are left out")
    return [*first.values()]


def _score(item: Any) -> float | None:
    score = _part(item, "score")
    if score is None:
        return None
    try:
        number = math.nan if isinstance(score, bool | str) else float(score)
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RetrieverError("the retriever's answer has a score that is not a number")
    return number


def _passage(document: Any) -> Passage:
    """A document's `contents` are its title and text; some have `title` and `text` apart."""
    contents, text = _part(document, "contents"), _part(document, "text")
    if not isinstance(contents, str) and isinstance(text, str):
        contents = f"{_part(document, 'title') or ''}\n{text}"
    if not isinstance(contents, str):
        raise RetrieverError("the retriever's answer has a document without contents")
    passage = to_passage("", whole_characters(contents))
    id = _id(_part(document, "id")) or passage_id(passage.title, passage.text)
    return passage.model_copy(update={"id": id})


def _id(value: Any) -> str | None:
    """An id that can be shown and cited, else None: it stands on a line of its own."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        return None
    return value if len(value) <= MAX_ID_CHARS else None


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _decoded(body: bytes) -> Any:
    try:
        return parsed(body)
    except ValueError:
        page = body[:1000].lstrip().lower().startswith((b"<!doctype", b"<html"))
        what = "a web page" if page else "no JSON"
        raise RetrieverError(f"the retriever's answer is {what}") from None
