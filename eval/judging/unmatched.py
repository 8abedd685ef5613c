"""What is left over under a branch after scoring: wrong texts and missing gold answers."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from branchwise.base.normalise import normalise
from branchwise.corpora.questions import DEFAULT_BRANCH, Branch, Question
from branchwise.eval.alignment import Alignment
from branchwise.eval.branch_matches import branch_matches
from branchwise.eval.branch_scores import GoldBranches, align_answers, gold_branches
from branchwise.eval.entities import Entity
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.mapping import MappingRequest, listed, shown

MAX_LISTED = 40
"""Texts, and gold answers, that one request may hold."""
MAX_QUESTION = 2_000
MAX_ALIASES, MAX_ALIAS = 10, 100
"""Maximum number of other forms shown of a gold answer, and their characters."""


@dataclass(frozen=True)
class Unmatched:
    """What is unmatched of one item under one gold branch.

    `texts`: distinct predicted texts, wrong under branches aligned with it, by their shown form.
    `entities`: unmatched gold entities. `unasked`: numbers of texts and entities, if there are more
    than one request may hold.
    """

    question: str
    branch: str
    texts: tuple[str, ...]
    entities: tuple[Entity, ...]
    unasked: tuple[int, int] = (0, 0)

    @cached_property
    def request(self) -> MappingRequest:
        """The same for every item with the same unmatched texts and entities."""
        right = tuple(shown(entity.name) for entity in self.entities)
        given = tuple(map(shown, self.texts))
        lines = [f"Question: {shown(self.question, MAX_QUESTION)}"]
        if self.branch != DEFAULT_BRANCH:
            lines.append(f"Reading: {shown(self.branch)}")
        message = "\n\n".join(
            [
                "\n".join(lines),
                f"Right answers:\n{listed('g', [*map(_with_aliases, self.entities)])}",
                f"Given answers:\n{listed('a', given)}",
            ]
        )
        return MappingRequest(message, given, right, "a", "g")


def alignment_of(item: AnsweredItem, gold: GoldBranches) -> Alignment:
    """The alignment by which the item is scored."""
    return item.matched.alignment if item.matched else align_answers(gold, item.prediction.answers)


def unmatched(item: AnsweredItem) -> list[Unmatched]:
    """The gold branches with both texts and gold entities left over, in order of name."""
    if item.error is not None:
        return []
    gold = gold_branches(item.question.branches)
    alignment = alignment_of(item, gold)
    matches = branch_matches(gold, item.prediction.answers, alignment)
    wrong: dict[int, dict[str, str]] = defaultdict(dict)
    for branch, text in sorted(matches.wrong):
        index = alignment[branch]
        if index is not None and shown(text):
            wrong[index].setdefault(shown(text), text)
    missing: dict[int, list[Entity]] = defaultdict(list)
    for branch_index, entity in matches.missing:
        missing[branch_index].append(gold.sets[branch_index].entities[entity])
    return [
        _unmatched(item, gold.names[index], [t for _, t in sorted(texts.items())], missing[index])
        for index, texts in sorted(wrong.items())
        if missing[index]
    ]


def with_alias(question: Question, branch: str, entity: Entity, text: str) -> Question:
    """A copy of the question in which `text` is one more alias of an entity under a branch."""
    key, answer = normalise(branch, articles=True), entity.answers[0]
    branches = list(question.branches)
    for number, found in enumerate(branches):
        if normalise(found.name, articles=True) == key and answer in found.answers:
            branches[number] = _extended(found, found.answers.index(answer), text)
            break
    return question.model_copy(update={"branches": tuple(branches)})


def _extended(branch: Branch, index: int, text: str) -> Branch:
    answers = list(branch.answers)
    aliases = (*answers[index].aliases, text)
    answers[index] = replace(answers[index], aliases=aliases)
    return replace(branch, answers=tuple(answers))


def _unmatched(
    item: AnsweredItem, branch: str, texts: Sequence[str], entities: Sequence[Entity]
) -> Unmatched:
    unasked = (max(0, len(texts) - MAX_LISTED), max(0, len(entities) - MAX_LISTED))
    asked, listed_entities = tuple(texts[:MAX_LISTED]), tuple(entities[:MAX_LISTED])
    return Unmatched(item.question.question, branch, asked, listed_entities, unasked)


def _with_aliases(entity: Entity) -> str:
    name = shown(entity.name)
    forms = (shown(form, MAX_ALIAS) for answer in entity.answers for form in answer.forms)
    others = [form for form in dict.fromkeys(forms) if form and form != shown(name, MAX_ALIAS)]
    return f"{name} (also: {'; '.join(others[:MAX_ALIASES])})" if others else name
