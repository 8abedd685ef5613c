"""The question format, by which its reader, messages, `questions schema` and docs/format.md go."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from branchwise.base.errors import nearest

_TEXT = {"type": "string"}
_FULL = {"type": "string", "pattern": r"\S"}
_NUMBER_OR_TEXT = {"type": ["string", "number"]}
_LISTED = {"type": "array", "items": _NUMBER_OR_TEXT}
_IDS = {"anyOf": [_NUMBER_OR_TEXT, _LISTED]}
_LIKE = 0.8  # as like as "answer" is to "answers" and "_id" to "id"; not "metadata" to "meta"
_FORMS = {"type": "array", "items": _NUMBER_OR_TEXT, "minItems": 1}


@dataclass(frozen=True)
class FormatField:
    """A field: how it is written, what it says, and its JSON schema."""

    name: str
    written: str
    about: str
    schema: Mapping[str, Any]
    required: bool = False


QUESTION = (
    FormatField(
        "id",
        "text or whole number",
        "names the question; no two have the same",
        {"anyOf": [_FULL, {"type": "integer"}]},
        required=True,
    ),
    FormatField("question", "text", "what is asked", _FULL, required=True),
    FormatField(
        "task",
        "text",
        "as what the set is asked and scored, the same in every line; left out: `branches`",
        {"type": ["string", "null"]},
    ),
    FormatField(
        "answers",
        "answers, or an object of them by branch",
        "what is right: of the question, or under each of its readings",
        {"$ref": "#/$defs/answers_by_branch"},
    ),
    FormatField(
        "branches",
        "list of branches",
        "the same, where a branch has more than a name and answers; never beside `answers`",
        {"$ref": "#/$defs/branches"},
    ),
    FormatField(
        "alternatives",
        "list, each like `answers` or `branches`",
        "what other annotators said; the set that suits an answer best scores it",
        {"type": ["array", "null"], "items": {"$ref": "#/$defs/gold_set"}},
    ),
    FormatField(
        "ambiguous",
        "true or false",
        "whether it has several readings; left out: whether it has several branches, in every set",
        {"enum": [True, False, "true", "false", "yes", "no", 0, 1, "0", "1", None]},
    ),
    FormatField(
        "passages",
        "list of passages",
        "what was retrieved for it; `corpus build --from FILE` makes a corpus of them",
        {"type": ["array", "null"], "items": {"$ref": "#/$defs/passage"}},
    ),
    FormatField(
        "plan", "list", "the steps of a question made from a plan", {"type": ["array", "null"]}
    ),
    FormatField(
        "meta",
        "object",
        "anything else; `report --by domain` groups by `meta.domain`",
        {"type": ["object", "null"]},
    ),
)
BRANCH = (
    FormatField("name", "text or number", "the reading", _NUMBER_OR_TEXT, required=True),
    FormatField("answers", "answers", "its answers", {"$ref": "#/$defs/answers"}, required=True),
    FormatField("qid", "text", "the Wikidata item of the reading", {"type": ["string", "null"]}),
    FormatField("citations", "list of texts", "ids of the passages that state it", _IDS),
)
ANSWER = (
    FormatField("text", "text or number", "the name that is shown", _NUMBER_OR_TEXT, required=True),
    FormatField("aliases", "list of texts", "other names that count as it", _IDS),
    FormatField("qid", "text", "its Wikidata item", {"type": ["string", "null"]}),
    FormatField("support", "list of texts", "ids of the passages that state it", _IDS),
    FormatField("description", "text", "what it is, beside its name", {"type": ["string", "null"]}),
)
PASSAGE = (
    FormatField("id", "text or number", "left out: the hash of title and text", _NUMBER_OR_TEXT),
    FormatField("title", "text", "", {"type": ["string", "null"]}),
    FormatField("text", "text", "", _FULL, required=True),
)
OBJECTS: Mapping[str, tuple[FormatField, ...]] = {
    "a question": QUESTION,
    "a branch": BRANCH,
    "an answer": ANSWER,
    "a passage": PASSAGE,
}
"""The fields of each object of the format."""


def names(fields: Iterable[FormatField]) -> frozenset[str]:
    return frozenset(field.name for field in fields)


@cache
def misspelt(key: str, absent: frozenset[str]) -> str | None:
    """The field that `key` seems to mean, of those that are absent beside it; None of most."""
    if len(key) > 40:
        return None
    near = nearest(key, sorted(absent), cutoff=_LIKE)
    return near[0] if near else None


def json_schema() -> dict[str, Any]:
    """The JSON schema (2020-12) of a question, one line of a file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A question of Branchwise",
        **_object(QUESTION),
        "not": {"required": ["answers", "branches"]},
        "$defs": {
            "answer": {"anyOf": [_NUMBER_OR_TEXT, _FORMS, _object(ANSWER)]},
            "answers": {
                "anyOf": [
                    {"type": "array", "items": {"$ref": "#/$defs/answer"}, "minItems": 1},
                    _NUMBER_OR_TEXT,
                    _object(ANSWER),
                ]
            },
            "answers_by_branch": {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"$ref": "#/$defs/answers"}},
                    {"type": "array", "items": {"$ref": "#/$defs/answer"}, "minItems": 1},
                    {"type": ["string", "number", "null"]},
                ]
            },
            "branches": {"type": ["array", "null"], "items": _object(BRANCH)},
            "gold_set": {
                "anyOf": [
                    {"$ref": "#/$defs/answers_by_branch"},
                    {"type": "array", "items": _object(BRANCH), "minItems": 1},
                ]
            },
            "passage": {"anyOf": [_FULL, _object(PASSAGE)]},
        },
    }


def _object(fields: Iterable[FormatField]) -> dict[str, Any]:
    """Other fields are allowed: they are kept in `meta`."""
    known = tuple(fields)
    properties = {
        field.name: {"description": field.about, **field.schema} if field.about else field.schema
        for field in known
    }
    required = [field.name for field in known if field.required]
    return {"type": "object", "properties": properties, "required": required}
