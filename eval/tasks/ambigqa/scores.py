"""AmbigQA's evaluation (Min et al. 2020, section 2.2), by its published code.

F1 of answers: gold answers of an annotator and predicted ones are paired in the order in which they
are given, each with the first partner that is left, where their texts agree in lower case, without
ASCII punctuation, the articles a, an, the, and further spaces. Reading and branch of an answer play
no part; an answer that is given twice is two.

EDIT-F1 and BLEU-4 of rewrites: `codes/ambigqa_evaluate_script.py` (the older script beside it gives
0 where neither rewrite changes anything, and knows one wording of a question), BLEU as in
coco-caption. Questions are cut into tokens as Stanford's PTBTokenizer does, then lower case,
without punctuation and articles. Our rules give the same tokens for 99.9% of the 24,181 questions
and readings of AmbigNQ's training data; otherwise they part in names such as "Wand'rin'".
"""

import re
import string
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import exp

_MAX_CHARACTERS = 2_000
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


@lru_cache(maxsize=16_384)
def plain_text(text: str) -> str:
    """How AmbigQA compares texts, as SQuAD's evaluation does; of the first 2,000 characters."""
    lowered = text[:_MAX_CHARACTERS].lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", lowered).split())


def answer_f1(gold: Sequence[Iterable[str]], predicted: Sequence[str]) -> float:
    """2 right / (gold + predicted); 0 where either is empty. `gold`: the forms of each answer."""
    # Not the maximum matching of our own scores: a score of this name is computed as published.
    places: dict[str, deque[int]] = defaultdict(deque)
    for place, text in enumerate(predicted):
        places[plain_text(text)].append(place)
    right = 0
    for forms in gold:
        known = {plain_text(form) for form in forms}
        if left := [places[text] for text in known if places.get(text)]:
            min(left, key=lambda queue: queue[0]).popleft()
            right += 1
    return 2 * right / (len(gold) + len(predicted)) if right else 0.0


Tokens = Sequence[str]
RewriteMeasure = Callable[[Tokens, Sequence[Tokens], Tokens], float]
"""Of the question asked, its wordings in gold, and a rewrite: 0 to 1."""

_SMALL, _TINY = 1e-9, 1e-15
_ORDER = 4
_APOSTROPHES = str.maketrans(dict.fromkeys("‘’´`", "'"))
# The published pipeline leaves the names of brackets as words.
_BRACKETS = str.maketrans(
    {"(": " lrb ", ")": " rrb ", "[": " lsb ", "]": " rsb ", "{": " lcb ", "}": " rcb "}
)
_SEPARATORS = re.compile(r"[–—―]|--+|\.\.+|…|[\"“”?!;£$€%•]|,(?!\d)|(?<!\d),|:(?!\d)|\u200b")
_CLITICS = re.compile(r"(?<=\S)(n't\b|'(?:s|m|d|re|ve|ll)\b)(?!')")
_TWO_WORDS = (
    re.compile(r"\b(can)(not)\b"),
    re.compile(r"\b(gon|wan)(na)\b"),
    re.compile(r"\b(got)(ta)\b"),
    re.compile(r"\b(gim|lem)(me)\b"),
    re.compile(r"(?<!\w)('t)(is|was)\b"),
)


@lru_cache(maxsize=16_384)
def question_tokens(question: str) -> tuple[str, ...]:
    text = question[:_MAX_CHARACTERS].lower().translate(_APOSTROPHES).translate(_BRACKETS)
    text = _CLITICS.sub(r" \1", _SEPARATORS.sub(" ", text))
    for pattern in _TWO_WORDS:
        text = pattern.sub(r"\1 \2", text)
    return tuple(plain_text(text).split())


def edit_f1(asked: Tokens, wordings: Sequence[Tokens], rewrite: Tokens) -> float:
    """F1 of added and deleted unigrams, of the gold wording that it is best with. 1 where neither
    changes the question, 0 where one of them does not."""
    edits = _edits(asked, rewrite)
    return max(_f1(edits, _edits(asked, wording)) for wording in wordings)


def bleu4(_: Tokens, wordings: Sequence[Tokens], rewrite: Tokens) -> float:
    """Sentence BLEU of up to 4-grams, as coco-caption computes it: with a tiny addend, not 0. The
    reference length is that of the wording nearest in length, the shorter of two."""
    product = 1.0
    for n in range(1, _ORDER + 1):
        grams, most = _grams(rewrite, n), Counter[Tokens]()
        for wording in wordings:
            most |= _grams(wording, n)
        product *= ((grams & most).total() + _TINY) / (max(0, len(rewrite) - n + 1) + _SMALL)
    length = min((abs(len(wording) - len(rewrite)), len(wording)) for wording in wordings)[1]
    ratio = (len(rewrite) + _TINY) / (length + _SMALL)
    return float(product ** (1 / _ORDER)) * (exp(1 - 1 / ratio) if ratio < 1 else 1.0)


def _edits(asked: Tokens, rewrite: Tokens) -> Counter[tuple[bool, str]]:
    """Words of the rewrite beyond those asked (True), and words asked that it lacks."""
    before, after = Counter(asked), Counter(rewrite)
    added = {(True, word): count for word, count in (after - before).items()}
    deleted = {(False, word): count for word, count in (before - after).items()}
    return Counter({**added, **deleted})


def _f1(edits: Counter[tuple[bool, str]], other: Counter[tuple[bool, str]]) -> float:
    total = edits.total() + other.total()
    return 2 * (edits & other).total() / total if total else 1.0


def _grams(tokens: Tokens, n: int) -> Counter[Tokens]:
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


def rewrite_f1(
    asked: str,
    gold: Sequence[tuple[str, Iterable[str]]],
    predicted: Sequence[tuple[str, str]],
    measure: RewriteMeasure,
) -> float:
    """F1 of question-answer pairs in which a right answer counts as much as its question is right.
    2 sum / (gold + predicted) over pairs whose answers agree, taken one-to-one, the best measured
    first; 0 without a prediction. `gold`: question and forms of its answer; several wordings of one
    question are separated by "|". `predicted`: question and answer."""
    prompt = question_tokens(asked)
    indices: dict[str, list[int]] = defaultdict(list)
    for index, (_, answer) in enumerate(predicted):
        indices[plain_text(answer)].append(index)
    measured = []
    for number, (question, forms) in enumerate(gold):
        wordings = [question_tokens(text) for text in question.split("|") if text.strip()] or [()]
        agreeing = sorted({p for text in {*map(plain_text, forms)} for p in indices.get(text, ())})
        scores = {
            name: measure(prompt, wordings, question_tokens(name))
            for name in dict.fromkeys(predicted[p][0] for p in agreeing)
        }
        measured += [(scores[predicted[p][0]], number, p) for p in agreeing]
    taken_gold: set[int] = set()
    taken: set[int] = set()
    total = 0.0
    for score, number, index in sorted(measured, key=lambda pair: -pair[0]):
        if number not in taken_gold and index not in taken:
            taken_gold.add(number)
            taken.add(index)
            total += score
    return 2 * total / (len(gold) + len(predicted)) if total else 0.0
