"""Gold beside predicted: each gold branch with the predicted ones that stand for it."""

from collections.abc import Iterable, Mapping, Sequence

from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.base.numbers import number
from branchwise.corpora.questions import Branch
from branchwise.eval.branch_scores import Answers, GoldBranches, branch_matches, gold_branches
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer, WrongAnswer
from branchwise.eval.errors.labels import Label
from branchwise.eval.qualifiers import read_name
from branchwise.eval.tasks.task import Beside
from branchwise.report.terminal.blocks import harmless
from branchwise.report.terminal.lost_answers import why_missing, why_wrong
from branchwise.report.terminal.step_text import short
from branchwise.trace.events import AnswerRead, Body, Error, Event, Model
from branchwise.ui.steps.kinds.answer import wrong_by_key
from branchwise.ui.traces.trace import AnswerLine, AnswerVerdict, BranchLines

MAX_LINE = 1_000


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
    gold, ends = gold_branches(branches), _endings(events)
    keys = {branch.name: branch.keys for branch in errors.branches}
    missing = {(lost.branch, lost.text): lost for lost in errors.missing}
    written = _Written(gold, answers, errors, ends)
    found = []
    for index, (name, entities) in enumerate(zip(gold.names, gold.sets, strict=True)):
        texts = [entity.name for entity in entities.entities]
        lines = (_gold_line(text, missing.get((name, text)), errors, ends) for text in texts)
        own = keys.get(name, ())
        predicted = written.lines(own, index)
        found.append(
            BranchLines(one_line(name), tuple(map(one_line, own)), tuple(lines), predicted)
        )
    taken = {key for own in keys.values() for key in own}
    alone = [key for key in answers if key not in taken]
    found += [BranchLines(None, (one_line(key),), (), written.lines((key,), None)) for key in alone]
    return found


_Ends = Mapping[type[Body], int]
"""The numbers of the last answer, the last error and the last model turn that is not a repair."""


def _endings(events: Sequence[Event]) -> _Ends:
    bodies = ((event.body, event.seq) for event in events)
    return {
        type(body): seq
        for body, seq in bodies
        if isinstance(body, AnswerRead | Error) or (isinstance(body, Model) and not body.is_repair)
    }


def open_lines(branches: Sequence[Branch], answers: Answers) -> list[BranchLines]:
    """Gold and predicted answers side by side, without verdicts.

    Branches of the same name are paired; nothing more is claimed.
    """
    left = dict(answers)
    found = []
    for branch in branches:
        own = [branch.name] if branch.name in left else []
        texts = left.pop(branch.name, ())
        gold = tuple(AnswerLine(one_line(answer.text), "open") for answer in branch.answers)
        predicted = tuple(AnswerLine(one_line(text), "open") for text in texts)
        found.append(BranchLines(one_line(branch.name), tuple(map(one_line, own)), gold, predicted))
    for key, texts in left.items():
        predicted = tuple(AnswerLine(one_line(text), "open") for text in texts)
        found.append(BranchLines(None, (one_line(key),), (), predicted))
    return found


def _gold_line(
    text: str, lost: MissingAnswer | None, errors: ItemErrors, ends: _Ends
) -> AnswerLine:
    if lost is None:
        return AnswerLine(one_line(text), "right")
    why = why_missing(lost) if lost.label else ""
    places = _shown_first(lost.places or lost.elsewhere)
    if lost.under is not None:
        # It was lost where the answer was written, not where it was read.
        return AnswerLine(one_line(text), "wrong_branch", one_line(why), (), ends.get(AnswerRead))
    if errors.error is not None:
        return AnswerLine(one_line(text), "missing", "the question failed", places, ends.get(Error))
    step = places[0].step if places else None
    if lost.lost_at == "repair":
        places, step = (), ends.get(Model)
    elif lost.lost_step is not None:
        step = lost.lost_step
    elif step is None and errors.format_error is not None:
        step = errors.format_error.step
    return AnswerLine(one_line(text), "missing", one_line(why), places, step, lost.in_corpus)


class _Written:
    """The predicted texts of an item, each with its verdict."""

    def __init__(
        self, gold: GoldBranches, answers: Answers, errors: ItemErrors, ends: _Ends
    ) -> None:
        self._gold, self._answers, self._ends = gold, answers, ends
        self._wrong = wrong_by_key(errors)
        index = {name: number for number, name in enumerate(gold.names)}
        stands_for = {key: index[b.name] for b in errors.branches for key in b.keys}
        alignment = {key: stands_for.get(key) for key in answers}
        self._right = {
            (right.branch, read_name(right.text).key): gold.sets[right.pair.branch].entities[
                right.pair.entity
            ]
            for right in branch_matches(gold, answers, alignment).right
        }

    def lines(self, keys: Iterable[str], branch: int | None) -> tuple[AnswerLine, ...]:
        """The texts under these keys, which stand for a gold branch, or for none."""
        return tuple(
            self._line(key, text, branch) for key in keys for text in self._answers.get(key, ())
        )

    def _line(self, key: str, text: str, branch: int | None) -> AnswerLine:
        compared = read_name(text)
        wrong = self._wrong.get((key[:MAX_CHARACTERS], compared.key))
        if wrong is not None:
            return self._wrong_line(text, wrong)
        if not text.strip():
            return AnswerLine("(empty)", "open", "counts nothing")
        entity = self._right.get((key, compared.key))
        if entity is not None:
            same = read_name(entity.name).key == compared.key
            return AnswerLine(
                one_line(text), "right", "" if same else one_line(f"for {entity.name!r}")
            )
        again = branch is not None and bool(self._gold.sets[branch].matches(compared))
        why = "counted already" if again else "accepted by the judge"
        return AnswerLine(one_line(text), "right", why)

    def _wrong_line(self, text: str, wrong: WrongAnswer) -> AnswerLine:
        verdict: AnswerVerdict = "wrong_branch" if wrong.label is Label.WRONG_BRANCH else "wrong"
        places = _shown_first(wrong.places)
        step = places[0].step if places else self._ends.get(AnswerRead)
        return AnswerLine(one_line(text), verdict, one_line(why_wrong(wrong)), places, step)


def _shown_first(places: Iterable[EvidencePlace]) -> tuple[EvidencePlace, ...]:
    """The places, the one that the reason names first."""
    return tuple(sorted(places, key=lambda place: not place.shown))


def one_line(text: str) -> str:
    """Text from outside on one line, at most 1,000 characters of it."""
    return short(harmless(text), MAX_LINE)


def beside_lines(pairs: Iterable[Beside]) -> list[BranchLines]:
    """A task's own alignment (`Task.beside`).

    No answer is right or wrong: a predicted one says how far it agrees with the gold one.
    """
    found = []
    for pair in pairs:
        why = ", ".join(f"{name} {number(score)}" for name, score in pair.scores)
        name = one_line(pair.gold[0]) if pair.gold else None
        keys = (one_line(pair.predicted[0]),) if pair.predicted else ()
        gold = _lines(pair.gold[1], "") if pair.gold else ()
        predicted = _lines(pair.predicted[1], why) if pair.predicted else ()
        found.append(BranchLines(name, keys, gold, predicted))
    return found


def _lines(texts: Sequence[str], why: str) -> tuple[AnswerLine, ...]:
    return tuple(AnswerLine(one_line(text), "open", why) for text in texts)
