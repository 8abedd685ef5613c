"""Where each answer of an item was lost: which label of `labels.py` its gold and predicted answers
get, in the order in which an answer can be lost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial

from branchwise.agents.answer import parse_answer
from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.eval.alignment import Alignment
from branchwise.eval.branch_scores import (
    Answers,
    BranchMatches,
    GoldBranches,
    GoldPair,
    align_answers,
    branch_matches,
    gold_branches,
    gold_pairs,
)
from branchwise.eval.errors.gold_evidence import (
    MAX_PROBLEM_CHARS,
    EvidencePlace,
    GoldEvidence,
    Targets,
    gold_evidence,
)
from branchwise.eval.errors.item_errors import (
    MAX_PLACES,
    BranchErrors,
    Ending,
    ItemErrors,
    MissingAnswer,
    WrongAnswer,
    failed_calls,
)
from branchwise.eval.errors.labels import Label, LostAt
from branchwise.eval.errors.module_work import ModuleWork, module_work
from branchwise.eval.errors.statements import AnswerStatements
from branchwise.eval.items import AnsweredItem
from branchwise.eval.qualifiers import read_name
from branchwise.eval.tasks.branches.format import BranchesFormat
from branchwise.trace.conversation import Conversation, read_conversation
from branchwise.trace.events import TRY, AnswerRead, BudgetSpent, Event, Node

MAX_ANSWERING_CHARS = 200_000

_Places = tuple[EvidencePlace, ...]
_NEVER = Label.INCOMPLETE_EXTRACTION
_DECLINED = ("refusal", "content_filter")


@dataclass(frozen=True)
class _Case:
    gold: GoldBranches
    alignment: Alignment
    matches: BranchMatches
    evidence: GoldEvidence
    given: frozenset[GoldPair]
    targets: Targets
    statements: AnswerStatements
    unread: frozenset[GoldPair]
    written: frozenset[GoldPair]
    given_before: Mapping[GoldPair, int]
    tried: frozenset[GoldPair]
    rewritten_at: int | None
    apart: Mapping[int, int | None]
    known: bool

    def places(self, pair: GoldPair, *, told_apart: bool) -> tuple[_Places, _Places]:
        """Where a pair was retrieved, and where it is only mentioned: by its support, or, where
        these are to be `told_apart`, by what states it."""
        places = self._own(pair, self.evidence.places)
        if self.targets.support[pair] or not (places and told_apart):
            return places, self._own(pair, self.evidence.elsewhere)
        forms, spans = self.targets.forms[pair], partial(self.targets.spans, pair)
        name = self.gold.names[pair.branch]
        stating = self.statements.stating(name, forms, spans, places)
        others = set(places).difference(stating)
        return stating, tuple(place for place in places if place in others)

    def _own(self, pair: GoldPair, places: Mapping[GoldPair, _Places]) -> _Places:
        """Without those of calls that were made for another reading: who answers this one alone
        never saw them."""
        return tuple(
            place
            for place in places.get(pair, ())
            if self.apart.get(place.call, pair.branch) == pair.branch
        )


@dataclass(frozen=True, slots=True)
class Examined:
    """An item's errors, the pairs of its score, its evidence, and what its modules did."""

    errors: ItemErrors
    matches: BranchMatches
    evidence: GoldEvidence
    modules: ModuleWork = field(default_factory=ModuleWork)


def attribute(item: AnsweredItem, events: Iterable[Event]) -> ItemErrors:
    """Say for every gold answer that is missing, and every wrong one, where it was lost.

    `events` is the item's trace, empty where there is none. A missing answer is, in this order:
    under another key (wrong_branch); in an answer before the last one (dropped); dropped by the
    evidence extraction, or taken out by a plug-in's node, wherever it was retrieved (the first
    place decides); in the answer of one of several tries (merge); in the agent's answer, and not in
    that of a node behind it (node); lost with a text that could not be read (repair); retrieved
    (agent); or never retrieved. Where gold says which passages support an answer, one that only
    others mention was never retrieved; where it does not, one that no passage states
    (`AnswerStatements`) is mentioned, perhaps not stated. In a fan-out only what was retrieved for
    a branch's own reading counts. For attributable tasks only.
    """
    return examine(item, events).errors


def examine(item: AnsweredItem, events: Iterable[Event]) -> Examined:
    """The same with what it was decided on; a trace is searched once."""
    reading = read_conversation(events)
    case = _case(item, reading)
    errors, modules = _errors(item, reading, case), module_work(reading.modules)
    return Examined(errors, case.matches, case.evidence, modules)


def with_reach(
    examined: Examined, absent: AbstractSet[GoldPair], passages: Mapping[GoldPair, str]
) -> ItemErrors:
    """Its errors, with what is known of answers that were never retrieved: those that nothing has
    which is searched (`absent`), and `passages` of the corpus that have the others."""
    errors = examined.errors
    missing = tuple(
        answer
        if answer.label is not _NEVER
        else replace(answer, label=Label.NOT_IN_CORPUS)
        if pair in absent
        else replace(answer, in_corpus=passages.get(pair))
        for pair, answer in zip(examined.matches.missing, errors.missing, strict=True)
    )
    if missing == errors.missing:
        return errors
    branches = (
        replace(b, labels=_relabelled(b.labels, [a for a in missing if a.branch == b.name]))
        for b in errors.branches
    )
    labels = _relabelled(errors.labels, missing)
    return replace(errors, labels=labels, branches=tuple(branches), missing=missing)


def _relabelled(labels: Sequence[Label], missing: Iterable[MissingAnswer]) -> tuple[Label, ...]:
    kept = {label for label in labels if label is not _NEVER}
    now = {answer.label for answer in missing if answer.label in (_NEVER, Label.NOT_IN_CORPUS)}
    return tuple(sorted(kept.union(filter(None, now))))


def _errors(item: AnsweredItem, reading: Conversation, case: _Case) -> ItemErrors:
    missing, wrong = tuple(_missing(case)), tuple(_wrong(case))
    calls = tuple(failed_calls(reading.calls))
    branches = tuple(_branches(case, missing))
    format_error = budget_spent = None
    if item.how == "failed" and item.error is None:
        problem, step = None, None
        if reading.answer is not None and isinstance(reading.answer.body, AnswerRead):
            problem, step = reading.answer.body.problem, reading.answer.seq
        problem = problem or "the answer could not be read"
        format_error = Ending(problem[:MAX_PROBLEM_CHARS], step)
    if reading.budget is not None and isinstance(reading.budget.body, BudgetSpent):
        reason = reading.budget.body.reason[:MAX_PROBLEM_CHARS]
        budget_spent = Ending(reason, reading.budget.seq)
    of_item = {
        Label.WRONG_TOOL_CALL: bool(calls),
        Label.FORMAT_ERROR: format_error is not None,
        Label.CUT_REPLY: item.cut,
        Label.INTERRUPTED: item.is_interrupted,
        Label.BUDGET_SPENT: budget_spent is not None,
    }
    labels = {label for label, holds in of_item.items() if holds}
    labels |= {label for branch in branches for label in branch.labels}
    labels |= {answer.label for answer in wrong if answer.label}
    pairs = frozenset(gold_pairs(case.gold) if case.known else ())
    mentioned = case.evidence.places.keys() | case.evidence.elsewhere.keys()
    return ItemErrors(
        id=item.question.id,
        epoch=item.epoch,
        ambiguous=item.question.ambiguous,
        traced=reading.events > 0,
        labels=tuple(sorted(labels)),
        branches=branches,
        missing=missing,
        wrong=wrong,
        failed_calls=calls,
        format_error=format_error,
        budget_spent=budget_spent,
        error=item.error,
        gold_set=item.gold_set,
        unmentioned=len(pairs - mentioned),
        unanswered=len((pairs & mentioned) - case.given),
    )


def _case(item: AnsweredItem, reading: Conversation) -> _Case:
    gold = gold_branches(item.question.branches)
    # What a failed item holds is not an answer, and without gold it is unknown what is wrong.
    counts = item.error is None and len(gold.pooled) > 0
    answers = item.prediction.answers if counts else {}
    alignment = item.matched.alignment if item.matched else align_answers(gold, answers)
    matches = branch_matches(gold, answers, alignment)
    # By call that was made for one reading alone, the gold branch that this stands for.
    of_call = {call.number: call.reading for call in reading.calls if call.reading}
    asked = {**align_answers(gold, dict.fromkeys(of_call.values(), ())), **alignment}
    texts = [*dict.fromkeys(wrong.text for wrong in matches.wrong)]
    targets = Targets(gold, item.question, texts)
    return _Case(
        gold,
        {name: alignment[name] for name in answers},
        matches,
        gold_evidence(targets, reading),
        _given(gold, answers, matches),
        targets,
        AnswerStatements(item.question.question, reading),
        _unread(item, reading, targets),
        _written(reading, gold),
        _given_before(reading, gold),
        _tried(reading, gold),
        next((ending.rewritten.seq for ending in reading.endings if ending.rewritten), None),
        {call: asked[name] for call, name in of_call.items()},
        known=reading.events > 0 and item.error is None,
    )


def _given(gold: GoldBranches, answers: Answers, matches: BranchMatches) -> frozenset[GoldPair]:
    """Gold answers that a text of the answer stands for, whatever key it is under."""
    names = [read_name(text) for texts in answers.values() for text in texts]
    named = {
        GoldPair(branch, entity)
        for branch, entities in enumerate(gold.sets)
        for name in names
        for entity in entities.matches(name)
    }
    return frozenset(named.union(right.pair for right in matches.right))


def _unread(item: AnsweredItem, reading: Conversation, targets: Targets) -> frozenset[GoldPair]:
    """Gold answers in the agent's last texts, or those of a node in their place, that could not be
    read as an answer. A refusal does not count, whatever it mentions."""
    texts = []
    for ending in reading.endings:
        # A single conversation's is the item's.
        how = ending.read.how if ending.read and len(reading.endings) > 1 else item.how
        is_kept = ending.read is not None and ending.read.kept
        if ending.turn is None or not (is_kept or how in ("repaired", "failed")):
            continue
        text = "" if ending.turn.finish in _DECLINED else ending.turn.text
        if ending.rewritten is not None:
            node = ending.rewritten.body
            messages = (node.update.messages if isinstance(node, Node) else None) or ()
            text = "\n".join(message.content for message in messages)
        texts.append(text[-MAX_ANSWERING_CHARS:])
    return _pairs_in(texts, targets)


def _written(reading: Conversation, gold: GoldBranches) -> frozenset[GoldPair]:
    """Gold answers of the agent's own answers, where a node put others in their place."""
    written = frozenset[GoldPair]()
    for ending in reading.endings:
        if ending.turn and ending.rewritten and ending.turn.finish not in _DECLINED:
            raw = ending.turn.text[-MAX_ANSWERING_CHARS:]
            read = parse_answer(raw, BranchesFormat()).prediction
            written |= _right(gold, read.answers) if read else frozenset()
    return written


def _given_before(reading: Conversation, gold: GoldBranches) -> dict[GoldPair, int]:
    """Gold answers that an answer before the last one had, with the last step that had them."""
    given: dict[GoldPair, int] = {}
    for event in reading.earlier:
        if isinstance(event.body, AnswerRead):
            right = _right(gold, event.body.prediction.branches)
            given |= dict.fromkeys(right, event.seq)
    return given


def _tried(reading: Conversation, gold: GoldBranches) -> frozenset[GoldPair]:
    """Gold answers of any of several tries."""
    reads = [ending.read for ending in reading.endings if ending.stage == TRY and ending.read]
    return frozenset().union(*(_right(gold, read.prediction.branches) for read in reads))


def _right(gold: GoldBranches, answers: Mapping[str, Iterable[str]]) -> frozenset[GoldPair]:
    """What is right in an answer, under the reading that each of its branches stands for."""
    plain = {name: tuple(texts) for name, texts in answers.items()}
    matches = branch_matches(gold, plain, align_answers(gold, plain))
    return frozenset(right.pair for right in matches.right)


def _pairs_in(texts: Sequence[str], targets: Targets) -> frozenset[GoldPair]:
    numbers = frozenset[int]().union(*map(targets.in_text, texts))
    gold = (number for number in numbers if number < len(targets.pairs))
    return frozenset(pair for number in gold for pair in targets.pairs[number])


def _missing(case: _Case) -> Iterator[MissingAnswer]:
    # Missing pairs to the first predicted branch that has them and does not stand for their own,
    # by texts that are wrong there: a right one says nothing about another branch.
    under: dict[GoldPair, str] = {}
    for key, text in case.matches.wrong:
        for pair in _elsewhere(case, key, text):
            under.setdefault(pair, key)
    for pair in case.matches.missing:
        entity = case.gold.sets[pair.branch].entities[pair.entity]
        label, lost_at, lost_step = None, None, None
        places, elsewhere = case.places(pair, told_apart=case.known and pair not in under)
        if pair in under:
            label = Label.WRONG_BRANCH
        elif case.known:
            label, lost_at, lost_step = _lost(case, pair, places)
            if elsewhere and label is _NEVER and not case.targets.support[pair]:
                label = Label.PERHAPS_STATED
        yield MissingAnswer(
            branch=case.gold.names[pair.branch],
            text=entity.name,
            qid=min(entity.qids, default=None),
            label=label,
            lost_at=lost_at,
            under=under.get(pair),
            places=_first(places),
            retrieved=len(places),
            lost_step=lost_step,
            elsewhere=_first(elsewhere),
            mentioned=len(elsewhere),
        )


def _lost(
    case: _Case, pair: GoldPair, places: Sequence[EvidencePlace]
) -> tuple[Label, LostAt | None, int | None]:
    """The label, who lost it, and the step of the node that did, or of the answer that had it."""
    if pair in case.given_before:
        return Label.INCORRECT_REASONING, "dropped", case.given_before[pair]
    if places and all(case.evidence.dropped(at) or at.node is not None for at in places):
        node = places[0].node
        return Label.INCORRECT_REASONING, "extraction" if node is None else "node", node
    if pair in case.tried:
        return Label.INCORRECT_REASONING, "merge", None
    if pair in case.written:
        return Label.INCORRECT_REASONING, "node", case.rewritten_at
    if pair in case.unread:
        return Label.INCORRECT_REASONING, "repair", None
    if places:
        return Label.INCORRECT_REASONING, "agent", None
    return _NEVER, None, None


def _elsewhere(case: _Case, key: str, text: str) -> Iterator[GoldPair]:
    """Gold pairs, of branches that this predicted branch does not stand for, that the text is."""
    name = read_name(text)
    for branch, entities in enumerate(case.gold.sets):
        if branch != case.alignment[key]:
            yield from (GoldPair(branch, entity) for entity in sorted(entities.matches(name)))


def _wrong(case: _Case) -> Iterator[WrongAnswer]:
    missing = set(case.matches.missing)
    for key, text in case.matches.wrong:
        places = case.evidence.wrong_places.get(text, ())
        # Of several branches that have it, one that lacks it here.
        belongs = min(
            _elsewhere(case, key, text), key=lambda p: (p not in missing, p), default=None
        )
        label = None
        if belongs is not None:
            label = Label.WRONG_BRANCH
        elif case.gold.pooled.is_ambiguous(read_name(text)):
            label = Label.AMBIGUOUS_ANSWER
        elif case.known and not places:
            label = Label.UNSUPPORTED_ANSWER
        yield WrongAnswer(
            branch=key[:MAX_CHARACTERS],
            text=text[:MAX_CHARACTERS],
            label=label,
            belongs_to=None if belongs is None else case.gold.names[belongs.branch],
            places=_first(places),
            retrieved=len(places),
        )


def _first(places: Sequence[EvidencePlace]) -> tuple[EvidencePlace, ...]:
    """The first places; the last of them is one that was shown, where only later ones were."""
    first = [*places[:MAX_PLACES]]
    if first and not any(place.shown for place in first):
        first[-1] = next((place for place in places if place.shown), first[-1])
    return tuple(first)


def _branches(case: _Case, missing: Sequence[MissingAnswer]) -> Iterator[BranchErrors]:
    for index, (name, entities) in enumerate(zip(case.gold.names, case.gold.sets, strict=True)):
        lost = [answer for answer in missing if answer.branch == name]
        labels = {answer.label for answer in lost if answer.label}
        whole = len(lost) == len(entities) > 0
        if whole and all(a.label is _NEVER for a in lost):
            labels.add(Label.MISSING_BRANCH)
        keys = sorted(key for key, target in case.alignment.items() if target == index)
        yield BranchErrors(
            name, tuple(keys), len(entities), len(entities) - len(lost), tuple(sorted(labels))
        )
