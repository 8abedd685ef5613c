"""Table 2 and the distributions of a question file, recomputed: plain Python over JSON lines."""

import json
from collections import Counter
from pathlib import Path

CLASSES = {
    "1": 1, "2": 2, "3": 3, "4 to 5": 5, "6 to 8": 8, "9 to 12": 12, "13 to 20": 20,
    "21 to 45": 45,
}  # fmt: skip


def table_of(file: Path, *, ambiguous: bool) -> dict[str, float | None]:
    """The means of the ambiguous questions of a native file, or of the others."""
    words, answers, shares, steps, entities, branches = [], [], [], [], [], []
    several = 0
    for question in questions_of(file, ambiguous):
        sizes = [len(branch["answers"]) for branch in question["branches"]]
        words.append(len(question["question"].split()))
        answers.append(sum(sizes))
        shares.append(sum(sizes) / len(sizes))
        branches.append(len(sizes))
        several += "alternatives" in question
        if question.get("plan"):
            steps.append(len(question["plan"]))
        if "entities" in question.get("meta", {}):
            entities.append(question["meta"]["entities"])
    return {
        "questions": len(words), "words": mean(words), "answers": mean(answers),
        "branch_answers": mean(shares), "steps": mean(steps), "entities": mean(entities),
        "branches": mean(branches), "most_branches": max(branches, default=None),
        "with_alternatives": several,
    }  # fmt: skip


def counts_of(file: Path, *, ambiguous: bool) -> dict[str, dict[str, int]]:
    """How often what comes: the data of the figures."""
    found = {
        name: Counter() for name in ("steps", "answers", "branches", "operations", "predicates")
    }
    for question in questions_of(file, ambiguous):
        total = sum(len(branch["answers"]) for branch in question["branches"])
        found["answers"][
            next((c for c, most in CLASSES.items() if total <= most), "46 or more")
        ] += 1
        if ambiguous:
            found["branches"][str(len(question["branches"]))] += 1
        if question["plan"]:
            found["steps"][str(len(question["plan"]))] += 1
        found["operations"].update(step["op"] for step in question["plan"])
        found["predicates"].update(question["meta"]["predicates"])
    return {name: dict(counts) for name, counts in found.items()}


def questions_of(file: Path, ambiguous: bool) -> list[dict]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [q for q in map(json.loads, lines) if q.get("ambiguous", False) == ambiguous]


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
