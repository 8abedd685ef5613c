"""Our own question format: JSONL, one question per line. docs/format.md says what it may hold."""

from collections.abc import Mapping
from typing import Any

import orjson

from branchwise.corpora.files import json_kind
from branchwise.corpora.loaders.answers import RecordReader
from branchwise.corpora.loaders.format_fields import PASSAGE, QUESTION, names
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.questions import Question

_QUESTION, _PASSAGE = names(QUESTION), names(PASSAGE)
_TRUE_OR_FALSE: Mapping[Any, bool] = {
    **dict.fromkeys((True, 1, "1", "true", "yes"), True),
    **dict.fromkeys((False, 0, "0", "false", "no"), False),
}


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question that a record of our own format is; None if something in it was refused."""
    reader = _QuestionReader(at)
    read = reader.read(record)
    return None if reader.refused else read


class _QuestionReader(RecordReader):
    """Reads a whole question."""

    def read(self, record: Mapping[str, Any]) -> Question | None:
        """The question, as far as it could be read."""
        if not _QUESTION.issuperset(record):
            self.extra.update(self.unknown(record, _QUESTION, ""))
        if "answers" in record and "branches" in record:
            self.refuse("answers-and-branches", 'has both "answers" and "branches"', "keep one")
        fields: dict[str, Any] = {
            "id": self.id(record.get("id")),
            "question": self.question_text(record.get("question")),
        }
        if (answers := record.get("answers")) is not None:
            fields["branches"] = self.branches(answers)
        elif (branches := record.get("branches")) is not None:
            fields["branches"] = self.listed_branches(branches)
        self._add_ambiguous(record.get("ambiguous"), fields)
        if passages := record.get("passages"):
            fields["passages"] = self._passages(passages)
        if plan := record.get("plan"):
            fields["plan"] = self._plan(plan)
        if meta := self._meta(record.get("meta")):
            fields["meta"] = meta
        if self.refused:
            return None
        read = Question(**fields)
        if _is_too_deep(read):
            self.refuse("too-deep", "is nested too deeply", "reduce the nesting of meta or plan")
        return read

    def _add_ambiguous(self, value: Any, fields: dict[str, Any]) -> None:
        several = len(fields.get("branches", ())) > 1
        if value is None:
            if fields.get("branches"):
                fields["ambiguous"] = several
            return
        written = value.casefold() if isinstance(value, str) else value
        found = _TRUE_OR_FALSE.get(written) if isinstance(written, str | int) else None
        if found is None:
            shown = repr(value) if isinstance(written, str | int) else json_kind(value)
            self.refuse("ambiguous", f'"ambiguous" is {shown}', "write true or false")
        elif several and not found:
            what, remedy = '"ambiguous" is false, and it has several branches', "correct one"
            self.refuse("ambiguous", what, remedy)
        else:
            fields["ambiguous"] = found

    def _passages(self, value: Any) -> tuple[Passage, ...]:
        if not isinstance(value, list):
            what, remedy = f'"passages" is {json_kind(value)}', "write a list of objects"
            self.refuse("passages", what, remedy)
            return ()
        found: dict[int, Passage] = {}
        by_id: dict[str, Passage] = {}
        for number, member in enumerate(value, start=1):
            if passage := self._passage(member, number):
                found[number] = passage
                if by_id.setdefault(passage.id, passage) != passage:
                    what = f"two different passages have the id {passage.id!r}"
                    remedy = "leave the ids out to use content hashes"
                    self.refuse("passage-id", what, remedy)
        return tuple(found.values())

    def _passage(self, value: Any, number: int) -> Passage | None:
        record = {"text": value} if isinstance(value, str) else value
        if not isinstance(record, dict):
            what, remedy = f"passage {number} is {json_kind(value)}", "write an object"
            self.refuse("passages", what, remedy)
            return None
        id, title, text = (record.get(name) for name in ("id", "title", "text"))
        title = "" if title is None else title
        if not isinstance(title, str) or not isinstance(text, str) or not text.strip():
            what = f"passage {number} has no text, or a title that is none"
            self.refuse("passages", what, 'write {"title": "...", "text": "..."}')
            return None
        id = passage_id(title, text) if id is None else self.text(id)
        if id is None or not id.strip():
            what = f"the id of passage {number} is empty or no text"
            self.refuse("passage-id", what, "write a text, or leave it out")
            return None
        self.keep(record, _PASSAGE, f"passage {number}", "passages.", id)
        return Passage(id=id, title=title, text=text)

    def _plan(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, list):
            return tuple(value)
        self.refuse("plan", f'"plan" is {json_kind(value)}', "write a list")
        return ()

    def _meta(self, value: Any) -> dict[str, Any]:
        """`meta`, and the fields that are kept in it."""
        if value is not None and not isinstance(value, dict):
            self.refuse("meta", f'"meta" is {json_kind(value)}', "write an object")
            return {}
        meta = dict(value or {})
        for name, kept in self.extra.items():
            if meta.setdefault(name, kept) != kept:
                what = f'has {name!r} both in and beside "meta"'
                self.refuse("meta", what, "keep one of them")
        return meta


def _is_too_deep(question: Question) -> bool:
    """Whether it is nested more deeply than it can be written."""
    if not question.plan and not any(isinstance(v, dict | list) for v in question.meta.values()):
        return False
    try:
        orjson.dumps(question.model_dump(mode="json"))
    except (ValueError, TypeError, RecursionError):
        return True
    return False
