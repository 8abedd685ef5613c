"""AmbigQA's evaluation written a second time, plainly: it imports nothing of the product.

Pairs are tried one by one, as the published definition has it; questions are cut at spaces alone.
"""

import math
import string
from collections.abc import Callable, Sequence

Annotation = dict
"""As AmbigNQ has it: `singleAnswer` with `answer`, or `multipleQAs` with `qaPairs`."""
Pair = tuple[str, str]
"""A predicted question and its answer."""


def normal(text: str) -> str:
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(word for word in text.split() if word not in ("a", "an", "the"))


def answers_f1(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> float:
    used: set[int] = set()
    right = 0
    for forms in gold:
        for place, text in enumerate(predicted):
            if place not in used and any(normal(text) == normal(form) for form in forms):
                used.add(place)
                right += 1
                break
    if not right:
        return 0.0
    recall, precision = right / len(gold), right / len(predicted)
    return 2 * precision * recall / (precision + recall)


def edits(asked: str, rewrite: str) -> list[str]:
    before, after = normal(asked).split(), normal(rewrite).split()
    for word in list(before):
        if word in after:
            before.remove(word)
            after.remove(word)
    return ["-" + word for word in before] + ["+" + word for word in after]


def edit_f1(asked: str, wordings: Sequence[str], said: str) -> float:
    return max(_edit_f1(asked, wording, said) for wording in wordings)


def _edit_f1(asked: str, wording: str, said: str) -> float:
    gold, mine = edits(asked, wording), edits(asked, said)
    if not gold and not mine:
        return 1.0
    right = 0
    left = list(gold)
    for one in mine:
        if one in left:
            left.remove(one)
            right += 1
    return 2 * right / (len(gold) + len(mine))


def bleu4(asked: str, wordings: Sequence[str], said: str) -> float:
    golds, mine = [normal(wording).split() for wording in wordings], normal(said).split()
    score = 1.0
    for n in (1, 2, 3, 4):
        grams = [[gold[i : i + n] for i in range(len(gold) - n + 1)] for gold in golds]
        said_grams = [mine[i : i + n] for i in range(len(mine) - n + 1)]
        distinct = [gram for i, gram in enumerate(said_grams) if gram not in said_grams[:i]]
        right = sum(
            min(said_grams.count(gram), max(of.count(gram) for of in grams)) for gram in distinct
        )
        score *= (right + 1e-15) / (len(said_grams) + 1e-9)
    nearest = min(sorted(map(len, golds)), key=lambda length: abs(length - len(mine)))
    ratio = (len(mine) + 1e-15) / (nearest + 1e-9)
    return score**0.25 * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)


def questions_f1(
    asked: str,
    qa_pairs: Sequence[dict],
    predicted: Sequence[Pair],
    measure: Callable[[str, Sequence[str], str], float],
) -> float:
    found = []
    for i, gold in enumerate(qa_pairs):
        for j, (question, answer) in enumerate(predicted):
            if any(normal(answer) == normal(form) for form in gold["answer"]):
                wordings = [part.strip() for part in gold["question"].split("|")]
                found.append((measure(asked, wordings, question), i, j))
    found.sort(key=lambda one: one[0], reverse=True)
    total, gold_used, used = 0.0, set(), set()
    for score, i, j in found:
        if i not in gold_used and j not in used:
            gold_used.add(i)
            used.add(j)
            total += score
    return 2 * total / (len(qa_pairs) + len(predicted))


def evaluate(
    asked: str, annotations: Sequence[Annotation], predicted: Sequence[Pair]
) -> dict[str, float]:
    """The best over annotations of each; those of questions only where all list readings."""
    texts = [answer for _, answer in predicted]
    gold = [
        [a["answer"]] if a["type"] == "singleAnswer" else [p["answer"] for p in a["qaPairs"]]
        for a in annotations
    ]
    scores = {"ambigqa_f1": max(answers_f1(one, texts) for one in gold)}
    if all(a["type"] == "multipleQAs" for a in annotations):
        for name, measure in (("edit_f1", edit_f1), ("rewrite_bleu4", bleu4)):
            listed = [a["qaPairs"] for a in annotations]
            scores[name] = max(questions_f1(asked, one, predicted, measure) for one in listed)
    return scores
