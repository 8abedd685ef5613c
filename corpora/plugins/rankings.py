"""What a retriever plug-in returned, read without trust."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.plugins.faults import WrongResult
from branchwise.corpora.records import to_passage
from branchwise.corpora.retrieval import Hit
from branchwise.corpora.search_answers import MAX_ID_CHARS
from branchwise.corpora.text import storable

MAX_PASSAGE_CHARS = 200_000
_FORMS = (
    'a passage is a Hit, (Passage, score), or {"id", "title", "text", "score"} (id and score may '
    "be left out)"
)


def checked_rankings(returned: Any, queries: int, k: int) -> list[list[Hit]]:
    """The rankings as a retriever's: one for each query, in their order, at most `k` hits each.

    A ranking is the best first and holds each passage once. Passages without scores get 1, 1/2,
    1/3, ...: the order and nothing more. Raises WrongResult.
    """
    if not isinstance(returned, list | tuple):
        raise WrongResult(f"returned {_kind(returned)}; return a list with a ranking a query")
    if len(returned) != queries:
        raise WrongResult(f"returned {len(returned)} rankings for {queries} queries")
    return [_ranking(ranking, k) for ranking in returned]


def _ranking(ranking: Any, k: int) -> list[Hit]:
    if not isinstance(ranking, list | tuple) or isinstance(ranking, Hit):
        raise WrongResult(f"returned {_kind(ranking)} as a ranking; return a list of passages")
    found = [_passage_and_score(item) for item in ranking[:k]]
    scores = [score for _, score in found if score is not None]
    if len(scores) < len(found):
        scores = [1 / rank for rank in range(1, len(found) + 1)]
    for rank, (above, below) in enumerate(pairwise(scores), start=2):
        if below > above:
            what = f"the score rises from {above:g} to {below:g} at rank {rank}"
            raise WrongResult(f"{what}; return the best first, higher being better")
    _check_distinct([passage.id for passage, _ in found])
    return [Hit(passage, score) for (passage, _), score in zip(found, scores, strict=True)]


def _check_distinct(ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            raise WrongResult(f"the passage {id!r} comes twice in a ranking")
        seen.add(id)


def _passage_and_score(item: Any) -> tuple[Passage, float | None]:
    if isinstance(item, Passage):
        return _checked(item), None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Passage):
        return _checked(item[0]), _score(item[1])
    if isinstance(item, Mapping):
        score = item.get("score")
        return _of_mapping(item), None if score is None else _score(score)
    raise WrongResult(f"returned {_kind(item)} as a passage; {_FORMS}")


def _of_mapping(item: Mapping[Any, Any]) -> Passage:
    contents, text, title = (item.get(key) for key in ("contents", "text", "title"))
    if text is None and isinstance(contents, str):
        passage = to_passage("", contents)
        title, text = passage.title, passage.text
    if not isinstance(text, str) or not isinstance(title or "", str):
        raise WrongResult(f"returned a passage without a text; {_FORMS}")
    id = item.get("id")
    title, text = storable(title or ""), storable(text)
    if id is None:
        id = passage_id(title, text)
    elif isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str):
        raise WrongResult(f"returned {_kind(id)} as a passage's id; make it a text")
    return _checked(Passage(id=id, title=title, text=text))


def _checked(passage: Passage) -> Passage:
    """The passage with whole characters. Its id stands on a line of its own and is cited."""
    id, size = passage.id, len(passage.title) + len(passage.text)
    if not id.strip() or not id.isprintable() or len(id) > MAX_ID_CHARS:
        raise WrongResult(
            f"the passage id {storable(id)[:80]!r} cannot be shown: printable, at most "
            f"{MAX_ID_CHARS} characters"
        )
    if size > MAX_PASSAGE_CHARS:
        raise WrongResult(
            f"the passage {id!r} has {size:,} characters, and at most {MAX_PASSAGE_CHARS:,} are "
            "taken; cut the corpus into passages"
        )
    said = {"id": id, "title": passage.title, "text": passage.text}
    whole = {key: storable(text) for key, text in said.items()}
    changed = whole != said
    return passage.model_copy(update=whole) if changed else passage


def _score(score: Any) -> float:
    is_number = isinstance(score, Real) and not isinstance(score, bool)
    try:
        if is_number and math.isfinite(number := float(score)):
            return number
    except (OverflowError, ValueError, TypeError):
        pass
    said = f"{score!r:.40}" if isinstance(score, int | float) else _kind(score)
    raise WrongResult(f"returned {said} as a score; make it a finite number")


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
