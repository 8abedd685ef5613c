"""Gold beside predicted: each gold branch with the predicted ones that stand for it."""

from collections.abc import Iterable, Mapping, Sequence

from branchwise.corpora.questions import Branch
from branchwise.eval.branch_scores import gold_branches
from branchwise.eval.entities import form
from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer, WrongAnswer
from branchwise.eval.errors.labels import Label
from branchwise.eval.normalise import MAX_CHARACTERS
from branchwise.eval.store import Event
from branchwise.ui.lost_answers import why_missing, why_wrong
from branchwise.ui.tool_steps import short
from branchwise.ui.traces.blocks import harmless
from branchwise.ui.traces.trace import AnswerLine, BranchLines, Verdict

MAX_LINE = 1_000
Answers = Mapping[str, Sequence[str]]


def gold_names(branches: Sequence[Branch]) -> list[list[str]]:
    """For each gold answer its text and aliases, those of other branches included."""
    entities = gold_branches(branches).pooled.entities
    return [
        [*dict.fromkeys(text for answer in entity.answers for text in answer.forms if text.strip())]
        for entity in entities
    ]


def judged_lines(
    branches: Sequence[Branch], answers: Answers, errors: ItemErrors, events: Sequence[Event]
) -> list[BranchLines]:
    """Gold and predicted answers with their verdicts, as they were scored."""
    gold = gold_branches(branches)
    steps = _endings(events)
    keys = {branch.name: branch.keys for branch in errors.branches}
    missing = {(lost.branch, lost.text): lost for lost in errors.missing}
    wrong = wrong_by_key(errors)
    found = []
    for name, entities in zip(gold.names, gold.sets, strict=True):
        texts = [entity.name for entity in entities.entities]
        lines = (_gold_line(text, missing.get((name, text)), errors, steps) for text in texts)
        own = keys.get(name, ())
        found.append(
            BranchLines(
                _line(name), tuple(map(_line, own)), tuple(lines), _predicted(own, answers, wrong)
            )
        )
    taken = {key for branch in errors.branches for key in branch.keys}
    alone = [key for key in answers if key not in taken]
    found += [
        BranchLines(None, (_line(key),), (), _predicted((key,), answers, wrong)) for key in alone
    ]
    return found


def _endings(events: Sequence[Event]) -> dict[str, int]:
    """The last answer, error and model turn that is no repair."""
    kinds = ("answer", "error", "model")
    ends = [e for e in events if e.kind in kinds and e.data.get("role") != "repair"]
    return {event.kind: event.seq for event in ends}


def open_lines(branches: Sequence[Branch], answers: Answers) -> list[BranchLines]:
    """Gold and predicted answers side by side where nobody decided which are right.

    Branches of the same name stand beside each other; no more is claimed.
    """
    left = dict(answers)
    found = []
    for branch in branches:
        own = [branch.name] if branch.name in left else []
        texts = left.pop(branch.name, ())
        gold = tuple(AnswerLine(_line(answer.text), "open") for answer in branch.answers)
        predicted = tuple(AnswerLine(_line(text), "open") for text in texts)
        found.append(BranchLines(_line(branch.name), tuple(map(_line, own)), gold, predicted))
    for key, texts in left.items():
        predicted = tuple(AnswerLine(_line(text), "open") for text in texts)
        found.append(BranchLines(None, (_line(key),), (), predicted))
    return found


def _gold_line(
    text: str, lost: MissingAnswer | None, errors: ItemErrors, steps: Mapping[str, int]
) -> AnswerLine:
    if lost is None:
        return AnswerLine(_line(text), "right")
    places = tuple(sorted(lost.places, key=lambda place: not place.shown))
    if lost.under is not None:
        return AnswerLine(
            _line(text), "wrong_branch", _line(why_missing(lost)), places, steps.get("answer")
        )
    why, step = why_missing(lost), places[0].step if places else None
    if errors.error is not None:
        why, step = "the question failed", steps.get("error")
    elif lost.lost_at == "repair" and not places:
        step = steps.get("model")
    elif errors.format_error is not None and not places:
        step = errors.format_error.step
    return AnswerLine(_line(text), "missing", _line(why), places, step)


WrongTexts = Mapping[tuple[str, str], WrongAnswer]
"""Wrong texts by the predicted branch and what texts are compared by."""


def wrong_by_key(errors: ItemErrors) -> WrongTexts:
    """The wrong texts of an item by (predicted branch, `form(text).key`).

    Of texts that differ in nothing that counts, in branches that stand for one gold branch, one is
    recorded; it speaks for the others.
    """
    united = {key: branch.keys for branch in errors.branches for key in branch.keys}
    by_cut = {key[:MAX_CHARACTERS]: key for key in united}
    found: dict[tuple[str, str], WrongAnswer] = {}
    for wrong in errors.wrong:
        own = united.get(by_cut.get(wrong.branch, ""), (wrong.branch,))
        for key in own:
            found[key[:MAX_CHARACTERS], form(wrong.text).key] = wrong
    return found


def _predicted(keys: Iterable[str], answers: Answers, wrong: WrongTexts) -> tuple[AnswerLine, ...]:
    return tuple(
        _predicted_line(text, wrong.get((key[:MAX_CHARACTERS], form(text).key)))
        for key in keys
        for text in answers.get(key, ())
    )


def _predicted_line(text: str, wrong: WrongAnswer | None) -> AnswerLine:
    if wrong is None:
        return AnswerLine(_line(text), "right")
    verdict: Verdict = "wrong_branch" if wrong.label is Label.WRONG_BRANCH else "wrong"
    places = tuple(sorted(wrong.places, key=lambda place: not place.shown))
    step = places[0].step if places else None
    return AnswerLine(_line(text), verdict, _line(why_wrong(wrong)), places, step)


def _line(text: str) -> str:
    return short(harmless(text), MAX_LINE)
