"""The native question format: JSONL, one question per line, and its shorthand."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import first_problem, json_kind, parse_object, read_lines
from branchwise.corpora.loaders.placed import PlacedQuestion
from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.questions import Branch, Question

TASK = "branches"
"""What its questions are asked and scored as."""


def load(path: Path) -> list[PlacedQuestion]:
    """Questions in file order. Raises InputError, with file and line, for what is not one."""
    return [
        PlacedQuestion(where := f"{path}:{number}", _question(parse_object(line, where), where))
        for number, line in read_lines(path)
    ]


def _question(record: dict[str, Any], where: str) -> Question:
    if "answers" in record:
        record = _from_shorthand(record, where)
    record = record | {"passages": _passages_with_ids(record.get("passages", []))}
    if "alternatives" in record:
        record["alternatives"] = _alternatives(record, where)
    gold_sets = [record.get("branches"), *record.get("alternatives", ())]
    if "ambiguous" not in record and all(isinstance(one, list) and one for one in gold_sets):
        record["ambiguous"] = all(len(branches) > 1 for branches in gold_sets)
    try:
        # From JSON arrays to tuples: strict would refuse lists, lax would turn 1 into True.
        question = Question.model_validate(record)
    except ValidationError as error:
        raise InputError(
            first_problem(error), where=where, remedy="see the question format in the README"
        ) from None
    _check(question, where)
    if question.meta:
        _check_depth(question, where)
    return question


def _check_depth(question: Question, where: str) -> None:
    """Raise InputError if `meta` is nested more deeply than it can be written."""
    try:
        orjson.dumps(question.model_dump(mode="json"))
    except (ValueError, TypeError, RecursionError):
        raise InputError(
            '"meta" is nested too deeply', where=where, remedy="reduce the nesting"
        ) from None


def _from_shorthand(record: dict[str, Any], where: str) -> dict[str, Any]:
    """`{"answers": {branch: [text, ...]}}` written out as branches."""
    answers = record["answers"]
    if "branches" in record:
        raise InputError('has both "answers" and "branches"', where=where, remedy="keep one")
    branches = _written_out(answers, '"answers"', where)
    return {key: value for key, value in record.items() if key != "answers"} | {
        "branches": branches
    }


def _written_out(answers: Any, field: str, where: str) -> list[dict[str, Any]]:
    """Branches of `{branch: [text, ...]}`."""
    wrong = (
        [json_kind(answers)]
        if not isinstance(answers, dict)
        else [f"{json_kind(v)} under {k!r}" for k, v in answers.items() if not isinstance(v, list)]
    )
    if wrong:
        raise InputError(
            f"{field} must map branch names to lists of texts, found {wrong[0]}",
            where=where,
            remedy='write "answers": {"default": ["..."]}',
        )
    return [
        {"name": name, "answers": [{"text": text} for text in texts]}
        for name, texts in answers.items()
    ]


def _alternatives(record: dict[str, Any], where: str) -> list[Any]:
    """Further gold sets, each written like `branches` or like `answers`."""
    given = record["alternatives"]
    if not isinstance(given, list):
        what = f'"alternatives" must be a list of gold sets, found {json_kind(given)}'
        raise InputError(what, where=where, remedy='write each as "answers" or "branches" are')
    if given and not record.get("branches"):
        what = 'has "alternatives" without "branches" or "answers"'
        raise InputError(what, where=where, remedy="write the first of them as these")
    return [
        one if isinstance(one, list) else _written_out(one, f"alternative {number}", where)
        for number, one in enumerate(given, start=1)
    ]


def _passages_with_ids(passages: Any) -> Any:
    """Give passages without an id their content hash; malformed ones are left to the model."""
    if not isinstance(passages, list):
        return passages
    return [
        passage | {"id": passage_id(passage["title"], passage["text"])}
        if isinstance(passage, dict)
        and "id" not in passage
        and isinstance(passage.get("title"), str)
        and isinstance(passage.get("text"), str)
        else passage
        for passage in passages
    ]


def _check(question: Question, where: str) -> None:
    """Raise InputError for what the model cannot check."""
    if not question.id.strip() or not question.question.strip():
        raise InputError("has an empty id or question", where=where, remedy="fill it in")
    for gold in question.gold_sets:
        _check_gold(gold, where)
    by_id: dict[str, Passage] = {}
    for passage in question.passages:
        if by_id.setdefault(passage.id, passage) != passage:
            raise InputError(
                f"two different passages have the id {passage.id!r}",
                where=where,
                remedy="leave the ids out to use content hashes",
            )


def _check_gold(branches: Sequence[Branch], where: str) -> None:
    names = Counter(branch.name for branch in branches)
    if "" in (name.strip() for name in names):
        raise InputError("a branch has an empty name", where=where, remedy='use "default"')
    if repeated := [name for name, count in names.items() if count > 1]:
        raise InputError(
            f"branch {repeated[0]!r} appears twice", where=where, remedy="merge the answers"
        )
    if any(not a.text.strip() for branch in branches for a in branch.answers):
        raise InputError("has an empty gold answer", where=where, remedy="fill or remove it")
