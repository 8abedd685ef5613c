"""Questions whose fields are named as ours: our own JSONL format, and columns that a user names.

docs/format.md says what our own format may hold. What is written is read back before it is kept: a
set that is converted stays the same set.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.files import json_kind
from branchwise.corpora.loaders.answers import GoldReader, folded_name, single
from branchwise.corpora.loaders.format_fields import PASSAGE, QUESTION, names
from branchwise.corpora.loaders.forms import FORM_OF_TASK, OWN
from branchwise.corpora.loaders.source import (
    LIKE_ANSWERS,
    Loading,
    PlacedQuestion,
    QuestionSource,
    RowPlace,
)
from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.questions import DEFAULT_BRANCH, GoldSet, Question
from branchwise.corpora.written_lists import members, written_list

_QUESTION, _PASSAGE = names(QUESTION), names(PASSAGE)
_IN_PARTS = frozenset(task for task, form in FORM_OF_TASK.items() if form.has_parts)
"""Tasks whose questions have several branches without being ambiguous."""
_TRUE_OR_FALSE: Mapping[Any, bool] = {
    **dict.fromkeys((True, 1, "1", "true", "yes"), True),
    **dict.fromkeys((False, 0, "0", "false", "no"), False),
}
_NEEDED = ("question", "answers", "branches")
_LIKE = {"question": ("query", "q"), "answers": LIKE_ANSWERS}
"""What columns are called that hold a field which no column is named after."""


def native_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question that a record of our own format is; None if something in it was refused."""
    if (plain := _plain(record)) is not None:
        return plain
    reader = _QuestionReader(at)
    question = reader.read(record)
    return None if reader.refused else question


def written(placed: PlacedQuestion) -> bytes:
    line = _line(placed.question, placed.task)
    at = RowPlace(Loading(QuestionSource("", OWN, "")), placed.where, 1)
    try:
        read = native_question(orjson.loads(line), at)
        why = None if read and _line(read, placed.task) == line else "it would change"
    except InputError as error:
        why = error.what
    if why is None:
        return line
    problem, remedy = f"cannot be written in our own format: {why}", "use the set as it is"
    raise InputError(problem, where=placed.where, remedy=remedy)


def _line(question: Question, task: str) -> bytes:
    record = question.model_dump(mode="json")
    if "ambiguous" not in question.model_fields_set:
        del record["ambiguous"]
    if task != OWN.task:
        record["task"] = task
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def _plain(record: Mapping[str, Any]) -> Question | None:
    """The question of a record that needs no interpretation, in a third of the time; or None."""
    given = dict(record)
    task = given.pop("task", None)
    if task in _IN_PARTS or not isinstance(task, str | None):
        return None
    if (answers := given.pop("answers", None)) is not None:
        if not isinstance(answers, dict) or single(answers) or "branches" in given:
            return None
        if not all(isinstance(texts, list) for texts in answers.values()):
            return None
        given["branches"] = [
            {"name": name, "answers": [{"text": text} for text in texts]}
            for name, texts in answers.items()
        ]
    if not isinstance(alternatives := given.get("alternatives", []), list):
        return None
    gold_sets = [given.get("branches"), *alternatives]
    if all(isinstance(gold, list) and gold for gold in gold_sets):
        given.setdefault("ambiguous", all(len(gold) > 1 for gold in gold_sets))
    if not isinstance(given.get("ambiguous", True), bool):
        return None
    try:
        read = Question.model_validate(given)
    except ValidationError:
        return None
    ids = {passage.id for passage in read.passages}
    whole = read.id.strip() and read.question.strip() and len(ids) == len(read.passages)
    if not whole or not _are_plain(read.branches):
        return None
    if read.alternatives and not all(gold and _are_plain(gold) for gold in read.gold_sets):
        return None
    return read if read.ambiguous or not _have_several(read.gold_sets) else None


def _have_several(gold_sets: Iterable[GoldSet]) -> bool:
    """Whether each of them has several branches: all annotators saw several readings."""
    return all(len(branches) > 1 for branches in gold_sets)


def _are_plain(branches: GoldSet) -> bool:
    """Whether branches can be told apart, and their answers are there, each once, none empty."""
    for branch in branches:
        texts = {answer.text for answer in branch.answers}
        if not texts or len(texts) < len(branch.answers) or not branch.name.strip():
            return False
        if not all(map(str.strip, texts)):
            return False
        if not all(all(map(str.strip, answer.aliases)) for answer in branch.answers):
            return False
    if len(branches) < 2:
        return True
    names = {folded_name(branch.name) for branch in branches}
    return len(names) == len(branches) and DEFAULT_BRANCH not in names


class _QuestionReader(GoldReader):
    def read(self, record: Mapping[str, Any]) -> Question | None:
        if record.get("aliases") is not None:
            problem, remedy = 'has "aliases" beside "question"', "write them with their answer: "
            self.refuse("misspelt-field", problem, remedy + '"answers": [["A", "alias of A"], "B"]')
        if not _QUESTION.issuperset(record):
            self.extra.update(self.unknown(record, _QUESTION))
        fields: dict[str, Any] = {}
        answers, branches = record.get("answers"), record.get("branches")
        if answers is not None and branches is not None:
            self.refuse("answers-and-branches", 'has both "answers" and "branches"', "keep one")
        fields["id"] = self.id(record.get("id"))
        fields["question"] = self.question_text(record.get("question"))
        if answers is not None:
            fields["branches"] = self.branches(answers)
        elif branches is not None:
            fields["branches"] = self.listed_branches(branches)
        if (alternatives := record.get("alternatives")) is not None:
            fields["alternatives"] = self.alternatives(alternatives)
            if alternatives and answers is None and branches is None:
                problem = 'has "alternatives", and neither "answers" nor "branches"'
                self.refuse("alternatives", problem, "write one of them as these")
        task = self.optional_text(record.get("task"), '"task"')
        self._add_ambiguous(record.get("ambiguous"), fields, in_parts=task in _IN_PARTS)
        if passages := record.get("passages"):
            fields["passages"] = self._passages(passages)
        if isinstance(plan := record.get("plan") or [], list):
            fields["plan"] = tuple(plan)
        else:
            self.refuse("plan", f'"plan" is {json_kind(plan)}', "write a list")
        fields["meta"] = self._meta(record.get("meta"))
        if self.refused:
            return None
        for name in self.extra:
            self.at.keep(name)
        return Question(**fields)

    def _add_ambiguous(self, value: Any, fields: dict[str, Any], *, in_parts: bool) -> None:
        gold_sets = (fields.get("branches", ()), *fields.get("alternatives", ()))
        several = _have_several(gold_sets) and not in_parts
        if value is None:
            if fields.get("branches"):
                fields["ambiguous"] = several
            return
        written = value.casefold() if isinstance(value, str) else value
        ambiguous = _TRUE_OR_FALSE.get(written) if isinstance(written, str | int) else None
        if ambiguous is None:
            shown = repr(value) if isinstance(written, str | int) else json_kind(value)
            self.refuse("ambiguous", f'"ambiguous" is {shown}', "write true or false")
        elif several and not ambiguous:
            problem, remedy = '"ambiguous" is false, and it has several branches', "correct one"
            self.refuse("ambiguous", problem, remedy)
        else:
            fields["ambiguous"] = ambiguous

    def _passages(self, value: Any) -> tuple[Passage, ...]:
        if not isinstance(value, list):
            self.refuse("passages", f'"passages" is {json_kind(value)}', "write a list of objects")
            return ()
        passages = []
        by_id: dict[str, Passage] = {}
        for number, member in enumerate(value, start=1):
            if passage := self._passage(member, number):
                passages.append(passage)
                if by_id.setdefault(passage.id, passage) != passage:
                    problem = f"two different passages have the id {passage.id!r}"
                    remedy = "leave the ids out to use content hashes"
                    self.refuse("passage-id", problem, remedy)
        return tuple(passages)

    def _passage(self, value: Any, number: int) -> Passage | None:
        record = {"text": value} if isinstance(value, str) else value
        if not isinstance(record, dict):
            self.refuse("passages", f"passage {number} is {json_kind(value)}", "write an object")
            return None
        title = self._written(record, "title", number)
        text = self._written(record, "text", number)
        if title is None or text is None:
            return None
        given = record.get("id")
        id = passage_id(title, text) if given is None else self.text(given)
        if id is None or not id.strip():
            problem = f"the id of passage {number} is empty, or no text"
            self.refuse("passage-id", problem, "write a text, or leave it out")
            return None
        self.keep(record, _PASSAGE, f"passage {number}", "passages.", id)
        return Passage(id=id, title=title, text=text)

    def _written(self, record: Mapping[str, Any], name: str, number: int) -> str | None:
        """The title or the text of a passage; only a title may be missing or empty."""
        value = record.get(name)
        if value is None and name == "title":
            return ""
        if isinstance(value, str) and (value.strip() or name == "title"):
            return value
        problem = "is empty" if isinstance(value, str) else f"is {json_kind(value)}"
        fault = f'"{name}" of passage {number} {problem}'
        if value is None:
            fault = f'passage {number} lacks "{name}"'
        self.refuse("passages", fault, 'write {"title": "...", "text": "..."}')
        return None

    def _meta(self, value: Any) -> dict[str, Any]:
        if value is not None and not isinstance(value, dict):
            self.refuse("meta", f'"meta" is {json_kind(value)}', "write an object")
            return {}
        meta = dict(value or {})
        for name, kept in self.extra.items():
            if meta.setdefault(name, kept) != kept:
                problem = f'has {name!r} both in and beside "meta"'
                self.refuse("meta", problem, "keep one of them")
        return meta


def question_by_fields(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of a row of any file, of which the user says which column is which field. A
    column without a field goes to `meta`. Several answers in one text are told apart by the
    separator, or are a list that is written in it (`corpora/written_lists.py`)."""
    source = at.loading.source
    fields, rest = source.fields.split(record)
    for field in source.form.reads:
        if field not in source.fields.columns and field in rest:
            fields[field] = rest.pop(field)
    if at.number == 1 and not _has_columns(record, fields, at):
        return None
    if fields.get("id") is None:
        fields["id"] = at.number
    if not _set_answers(fields, at):
        return None
    meta = {name: value for name, value in rest.items() if value is not None}
    question = native_question({**fields, "meta": meta}, at)
    for name in meta if question else ():
        at.keep(name)
    return question


def _has_columns(record: Mapping[str, Any], fields: Mapping[str, Any], at: RowPlace) -> bool:
    columns, fixed = at.loading.source.fields.columns, at.loading.source.form.layout != "json"
    for field, column in columns.items():
        if field not in fields and (fixed or field in _NEEDED):
            problem = f"there is no column {column!r}, which was named as {field}"
            at.refuse("no-column", problem, did_you_mean(column, record))
            return False
    for field in ("question", *(("answers",) if "branches" not in fields else ())):
        if field in fields:
            continue
        like = next((name for name in (*_LIKE[field], field[:-1]) if name in record), None)
        if field == "question" or like:
            known = ", ".join(record)
            remedy = f"name it: {field}={like or 'COLUMN'} (columns are {known})"
            at.refuse("no-column", f"there is no column {field!r}", remedy)
            return False
    return True


def _set_answers(fields: dict[str, Any], at: RowPlace) -> bool:
    answers, aliases = fields.get("answers"), fields.pop("aliases", None)
    if isinstance(answers, str):
        answers = _several(answers, at)
    elif isinstance(answers, list):
        answers = members(answers) or None
    elif isinstance(answers, dict | bool):
        problem = f"the answers are {json_kind(answers)}, neither a text nor a list"
        at.refuse("not-an-answer", problem, "name the column within it: answers=COLUMN.NAME")
        return False
    if aliases is not None and answers is not None:
        more = _several(aliases, at) if isinstance(aliases, str) else members(aliases)
        [first, *others] = answers if isinstance(answers, list) else [answers]
        if others or isinstance(first, dict | list):
            at.refuse("aliases", "has aliases, and not just one answer", "leave them out")
            return False
        answers = [{"text": first, "aliases": more}]
    fields["answers"] = answers
    return True


def _several(text: str, at: RowPlace) -> Any:
    if separator := at.loading.source.separator:
        return [part.strip() for part in text.split(separator) if part.strip()]
    listed = written_list(text)
    return text if listed is None else listed
