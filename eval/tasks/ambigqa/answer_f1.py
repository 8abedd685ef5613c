"""AmbigQA's F1 of answers (Min et al. 2020, section 2.2), by its published evaluation.

Gold answers of an annotator and predicted ones are paired in the order in which they are given,
each with the first partner that is left, where their texts agree in lower case, without ASCII
punctuation, the articles a, an, the, and further spaces. Reading and branch of an answer play no
part; an answer that is given twice is two.
"""

import re
import string
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from functools import lru_cache

_MAX_CHARACTERS = 2_000
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


@lru_cache(maxsize=16_384)
def plain_text(text: str) -> str:
    """How AmbigQA compares texts, as SQuAD's evaluation does; of the first 2,000 characters."""
    lowered = text[:_MAX_CHARACTERS].lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", lowered).split())


def answer_f1(gold: Sequence[Iterable[str]], predicted: Sequence[str]) -> float:
    """2 right / (gold + predicted); 0 where either is empty.

    `gold`: the forms of each answer.
    """
    places: dict[str, deque[int]] = defaultdict(deque)
    for place, text in enumerate(predicted):
        places[plain_text(text)].append(place)
    right = 0
    for forms in gold:
        known = {plain_text(form) for form in forms}
        if left := [places[text] for text in known if places.get(text)]:
            min(left, key=lambda found: found[0]).popleft()
            right += 1
    return 2 * right / (len(gold) + len(predicted)) if right else 0.0
