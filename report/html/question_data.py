"""The questions of a report as compact JSON, which the page's scripts read and show as text."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from branchwise.agents.reply import CUT
from branchwise.eval.errors.item_errors import ItemErrors, WrongAnswer
from branchwise.eval.errors.labels import ANSWER_ERRORS, Label
from branchwise.eval.tasks import Column
from branchwise.report.html.tables import MAX_NAME, short
from branchwise.report.study_report import Branches, QuestionReport, StudyReport, SystemAnswer
from branchwise.report.terminal.lost_answers import gold_set_words, why_missing, why_wrong

MAX_ANSWERS = 200
"""Texts that a list keeps; the page says how many more there are."""
MAX_QUESTION = 2_000
_MAX_WHY, _MAX_NOTES = 240, 20
_Json = dict[str, Any]

# In a script element `<` could end it or begin a comment; the last two end a line of a script.
_ESCAPED = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def questions_json(report: StudyReport) -> str:
    """A JSON document that can stand in a script element.

    Keys are short, since they are there for every answer: `i` id, `q` question, `a` whether it is
    ambiguous, `g` gold branches as [name, texts], `s` the systems' answers (`_answer`), `o` the
    number of gold sets if there are several; `g` then has the branches of all.
    """
    numbers = {system.name: index for index, system in enumerate(report.systems)}
    columns = report.task.shown
    document = {
        "systems": [short(system.name, MAX_NAME) for system in report.systems],
        "bases": [numbers[system.base] for system in report.systems],
        "labels": [error_type.words for error_type in ANSWER_ERRORS.types],
        "epochs": len({answer.epoch for q in report.questions for answer in q.answers}),
        "metrics": [column.short or column.title for column in columns],
        "main": columns.index(report.task.main),
        "exact": next((n for n, column in enumerate(columns) if column.role == "exact"), None),
        "called": report.task.main.name,
        "kinds": [report.called("unambiguous"), report.called("ambiguous")],
        "questions": [_question(question, columns, numbers) for question in report.questions],
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED)


def _question(
    question: QuestionReport, columns: Sequence[Column], numbers: Mapping[str, int]
) -> _Json:
    sets = (question.gold, *question.alternatives)
    record = {
        "i": short(question.id, 200),
        "q": short(question.question, MAX_QUESTION),
        "a": int(question.ambiguous),
        "g": [
            [short(f"{gold_set_words(number)}: {name}" if number else name), _texts(texts)]
            for number, gold in enumerate(sets)
            for name, texts in gold.items()
        ],
        "s": [_answer(answer, sets, columns, numbers) for answer in question.answers],
    }
    return record | ({"o": len(sets)} if question.alternatives else {})


def _answer(
    answer: SystemAnswer,
    sets: Sequence[Branches],
    columns: Sequence[Column],
    numbers: Mapping[str, int],
) -> _Json:
    """`n` system, `e` epoch, `m` the metrics that the task shows, `l` its errors, `x` notes.

    `b`: what is predicted for each gold branch, in their order; `u`: [name, texts] of predicted
    branches that stand for none.
    """
    scored = sets[answer.gold_set or 0]
    branches: list[_Json] = []
    for gold in sets:
        for name in gold:
            keys = [key for key, target in answer.aligned.items() if target == name]
            branches.append(_branch(answer, keys, name) if gold is scored else {})
    alone = [key for key, target in answer.aligned.items() if target not in scored]
    means = [answer.metrics.get(column.key) for column in columns]
    return {
        "n": numbers[answer.system],
        "e": answer.epoch,
        "m": [None if mean is None else round(mean, 6) for mean in means],
        "l": [
            index
            for index, error_type in enumerate(ANSWER_ERRORS.types)
            if answer.errors and error_type.holds(answer.errors)
        ],
        "b": branches,
        "u": [[short(name), _wrong_texts(answer, [name])] for name in alone],
        "x": _notes(answer),
    }


def _branch(answer: SystemAnswer, keys: Sequence[str], gold: str) -> _Json:
    """`k` predicted names, `r` right texts, `m` missing gold answers, `w` wrong texts, each with
    why, and `=` texts that are counted with another one."""
    missing = [
        [short(lost.text), short(why_missing(lost), _MAX_WHY), *_elsewhere(lost.under)]
        for lost in (answer.errors.missing if answer.errors else ())
        if lost.branch == gold
    ]
    counted = {(wrong.branch, wrong.text) for wrong in _wrong(answer)}
    counted |= {(key, text) for key in keys for text in answer.right.get(key, ())}
    # Neither right nor wrong: further forms of one that is.
    repeated = [
        text
        for key in keys
        for text in answer.answers.get(key, ())
        if text.strip() and (key, text) not in counted
    ]
    record = {
        "k": _texts(keys),
        "r": _texts(text for key in keys for text in answer.right.get(key, ())),
        "m": _listed(missing),
        "w": _wrong_texts(answer, keys),
        "=": _texts(repeated),
    }
    return {key: value for key, value in record.items() if value}


def _wrong(answer: SystemAnswer) -> Sequence[WrongAnswer]:
    return answer.errors.wrong if answer.errors else ()


def _elsewhere(branch: str | None) -> list[int]:
    """1 where an answer belongs to another branch."""
    return [] if branch is None else [1]


def _wrong_texts(answer: SystemAnswer, keys: Sequence[str]) -> list[list[Any]]:
    """[text, why], and 1 where it belongs to another branch."""
    texts = [
        [short(wrong.text), short(why_wrong(wrong), _MAX_WHY), *_elsewhere(wrong.belongs_to)]
        for wrong in _wrong(answer)
        if wrong.branch in keys
    ]
    return _listed(texts)


def _notes(answer: SystemAnswer) -> list[str]:
    notes = [f"failed: {answer.error}"] if answer.error else []
    if answer.gold_set is not None:
        notes.append(f"scored against {gold_set_words(answer.gold_set)}")
    if isinstance(answer.errors, ItemErrors):
        calls = answer.errors.failed_calls
        notes += [f"tool call {c.call}, {c.tool}: {c.error}" for c in calls[:_MAX_NOTES]]
        if ending := answer.errors.format_error:
            notes.append(f"{Label.FORMAT_ERROR.words}: {ending.reason}")
        if ending := answer.errors.budget_spent:
            notes.append(f"{Label.BUDGET_SPENT.words}: {ending.reason}")
        if Label.CUT_REPLY in answer.errors.labels:
            notes.append(f"{Label.CUT_REPLY.words}: {CUT}")
    return [short(note, _MAX_WHY) for note in notes]


def _texts(texts: Iterable[str]) -> list[str]:
    listed = [short(text) for text in texts]
    return [*listed[:MAX_ANSWERS], *_more(len(listed))]


def _listed(pairs: list[list[Any]]) -> list[list[Any]]:
    return [*pairs[:MAX_ANSWERS], *([more, ""] for more in _more(len(pairs)))]


def _more(count: int) -> list[str]:
    return [f"… and {count - MAX_ANSWERS:,} more"] if count > MAX_ANSWERS else []
