"""`{"reasoning": str, "answers": {branch: [entity, ...]}}`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from branchwise.agents.prediction import (
    MAX_BRANCHES,
    MAX_ENTITIES,
    MAX_ENTITY,
    MAX_NAME,
    AnswerFormat,
    FormatError,
    Prediction,
    distinct,
    first_text,
    flattened,
    is_exactly,
    object_in,
    reasoning_of,
    says_something,
    text_of,
    unwrapped,
)
from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.corpora.written_lists import MAX_WRITTEN, members, written_list
from branchwise.eval.tasks.task import object_schema

_ENTITIES = ("answers", "answer", "entities", "values")
_ENTITY = ("answer", "entity", "text", "name", "value")
_BRANCH = ("branch", "reading", "interpretation", "condition", "key")


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    reasoning: str = ""
    answers: dict[str, list[str]]


class BranchesFormat(AnswerFormat):
    """Entities under the names of readings: what the task `branches` asks for."""

    name: str = "branches"
    schema: ClassVar[dict[str, Any]] = object_schema(
        {
            "reasoning": {"type": "string"},
            "answers": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
            },
        }
    )

    def fits(self, data: object) -> bool:
        return is_exactly(_Exact, data)

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """Also: a bare list or text (`default`), one text for a list, `answer` for `answers`,
        numbers, `{branch: {"answers": [...]}}`, a list of `{"branch", "answers"}`, lists in lists,
        readings of readings, lists and objects that are written as texts, several whole answers in
        a list, and all that in an object or a list of its own."""
        data = unwrapped(data, _ENTITIES, _BRANCH)
        answers = [_answers_in(whole) for whole in _wholes(data)]
        branches: dict[str, list[str]] = defaultdict(list)
        for name, entities in (branch for own in answers for branch in _branches(own)):
            branches[name] += entities
        if not any(branches.values()) and says_something(answers, but=_BRANCH):
            raise FormatError('no list of texts was found under "answers"')
        return Prediction(
            reasoning=reasoning_of(data),
            answers={
                name: distinct(entities, MAX_ENTITIES)
                for name, entities in list(branches.items())[:MAX_BRANCHES]
            },
        )


def _wholes(data: Any) -> list[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        return [data]
    if not isinstance(data, list):
        raise FormatError("the answer is no JSON object")
    are_whole = all(
        isinstance(answer, Mapping)
        and isinstance(answer.get("answers"), Mapping)
        and not any(key in answer for key in _BRANCH)
        for answer in data
    )
    return data if data and are_whole else [{"answers": data}]


def _answers_in(answer: Mapping[str, Any]) -> Any:
    for name in _ENTITIES:
        if name in answer:
            return answer[name]
    # The map of branches itself. Lists only: a tool call, too, is an object of texts.
    if answer and all(isinstance(value, list) for value in answer.values()):
        return answer
    raise FormatError('the answer has no key "answers"')


def _branches(answers: Any) -> list[tuple[str, list[str]]]:
    if answers is None:
        return []
    if isinstance(answers, Mapping):
        named = [(key.strip()[:MAX_NAME], value) for key, value in _readings(answers)]
        return [(name or DEFAULT_BRANCH, _entities(value)) for name, value in named]
    if isinstance(answers, list):
        return [_listed(entry) for entry in answers]
    if isinstance(answers, str) and answers.lstrip().startswith("{"):
        inner = object_in(answers)
        if inner is None:
            raise FormatError('"answers" is a text, not an object')
        return _branches(inner)
    if isinstance(answers, str) and (listed := written_list(answers)) is not None:
        return _branches(listed)
    if text_of(answers, MAX_ENTITY) is not None:
        return [(DEFAULT_BRANCH, _entities(answers))]
    raise FormatError('"answers" is neither an object nor a list')


def _readings(answers: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Branches by name; `{"Heat": {"1986": [...], "1995": [...]}}` has two."""
    for name, value in answers.items():
        if (
            isinstance(value, Mapping)
            and not any(key in value for key in _ENTITIES + _ENTITY)
            and all(isinstance(inner, list) for inner in value.values())
        ):
            yield from ((f"{name} {reading}", inner) for reading, inner in value.items())
        else:
            yield str(name), value


def _listed(entry: Any) -> tuple[str, list[str]]:
    """One entry of a list of answers: an entity, or a branch with its entities."""
    name = first_text(entry, _BRANCH, MAX_NAME) if isinstance(entry, Mapping) else None
    return name or DEFAULT_BRANCH, _entities(entry)


def _entities(value: Any) -> list[str]:
    """Entities of one branch; what is neither text nor holds one is left out."""
    if isinstance(value, Mapping):
        inner = next((value[name] for name in _ENTITIES if name in value), None)
        return _entities(inner) if isinstance(inner, list | str) else _entity(value)
    if isinstance(value, list):
        return [entity for part in flattened(value)[:MAX_ENTITIES] for entity in _entity(part)]
    return _entity(value)


def _entity(value: Any) -> list[str]:
    is_object = isinstance(value, Mapping)
    text = first_text(value, _ENTITY, MAX_WRITTEN) if is_object else text_of(value, MAX_WRITTEN)
    listed = [text] if text is None else members(text)
    if listed == [text]:
        return [text[:MAX_ENTITY]] if text else []
    return [entity for part in flattened(listed)[:MAX_ENTITIES] for entity in _entity(part)]
