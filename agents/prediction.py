"""What an agent answers: the prediction, and the shapes in which models write it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.registry import Registry
from branchwise.corpora.written_lists import MAX_WRITTEN, joined

MAX_BRANCHES = 200
MAX_ENTITIES = 1000
MAX_NAME = 500
MAX_ENTITY = 2_000
MAX_SENTENCES = 10_000
MAX_REASONING = 50_000


class Prediction(BaseModel):
    """A parsed answer.

    `answers` maps a branch name to its entities (`default` for a single reading), `citations` a
    branch name to passage ids where the task asks for them; `task_output` is for tasks whose
    answer is not a set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reasoning: str = ""
    answers: Mapping[str, tuple[str, ...]] = {}
    citations: Mapping[str, tuple[str, ...]] = {}
    task_output: Any = None


class FormatError(Exception):
    """The data holds no answer of the format; the message is one line for a model or a reader."""


class TextAnswer(NamedTuple):
    """What a text itself says, and whether it says it exactly as the form has it."""

    prediction: Prediction
    is_exact: bool


class AnswerFormat(Protocol):
    """One shape of answers: a JSON object, or text in a `form` of its own."""

    @property
    def name(self) -> str:
        """Its key in `FORMATS`."""
        ...

    @property
    def by_branch(self) -> bool:
        """Whether the answers are texts by branch; else they are a `task_output`."""
        return True

    @property
    def cites(self) -> bool:
        """Whether answers name the passages that support them."""
        return False

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the shape that prompts ask for, JSON-serialisable; None with a `form`."""
        return None

    @property
    def form(self) -> str | None:
        """A pattern of the text that prompts ask for, as a model is shown it; None where they ask
        for JSON."""
        return None

    @property
    def repair(self) -> str:
        """The prompt file that asks for an answer again that could not be read."""
        return "repair_form" if self.form else "repair"

    def fits(self, data: object) -> bool:
        """Whether JSON data is exactly of the shape that prompts ask for."""
        return False

    def read_text(self, text: str) -> TextAnswer | None:
        """The answer that a text gives in the `form`; None where it does not try to.

        In time linear in the length of `text`, which is bounded. Raises FormatError where what
        stands in the places of the form is no answer.
        """
        return None

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """The prediction in JSON data, common variants of the shape included.

        `fragments`: ids of the passages that were given to the model as 1, 2, ... Raises
        FormatError if `data` holds no answer.
        """
        ...


FORMATS: Registry[AnswerFormat] = Registry()
"""Those of all tasks, by their names."""


def is_exactly(model: type[BaseModel], data: object) -> bool:
    """Whether `data` has the model's shape, nothing more and nothing less."""
    try:
        model.model_validate(data)
    except ValidationError:
        return False
    return True


def text_of(value: Any, limit: int) -> str | None:
    """A string or a number as text, stripped and bounded; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return str(value).strip()[:limit]
    except ValueError:  # an integer of more than 4,300 digits
        return None


def first_text(mapping: Mapping[str, Any], names: Iterable[str], limit: int) -> str | None:
    """The text under the first of `names` that has one."""
    texts = (text_of(mapping.get(name), limit) for name in names)
    return next((text for text in texts if text), None)


def reasoning_of(data: Any) -> str:
    """The reasoning of an answer, or of each in a list of them; joined where there are several."""
    if isinstance(data, list):
        return "\n".join(filter(None, map(reasoning_of, data)))[:MAX_REASONING]
    given = data.get("reasoning") if isinstance(data, Mapping) else None
    texts = (text_of(part, MAX_REASONING) for part in flattened(given))
    return "\n".join(filter(None, texts))[:MAX_REASONING]


def distinct(texts: Iterable[str], limit: int) -> tuple[str, ...]:
    """The texts in their order, empty ones and exact repeats left out, at most `limit`."""
    return tuple(dict.fromkeys(text for text in texts if text))[:limit]


def flattened(value: Any) -> list[Any]:
    """The parts of a list, those of lists in it among them; a list of `value` if it is none."""
    if not isinstance(value, list):
        return [value]
    return [part for inner in value for part in flattened(inner)]


def object_in(text: str) -> Mapping[str, Any] | None:
    """The JSON object that a text is; None for any other text."""
    try:
        data = json.loads(text[:MAX_WRITTEN], object_pairs_hook=joined)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, Mapping) else None


def says_something(value: Any, but: Iterable[str] = ()) -> bool:
    """Whether JSON data holds more than blanks, anywhere but under the keys `but`."""
    # What says something that cannot be read is a format error, never an empty answer.
    if isinstance(value, Mapping):
        return any(says_something(v, but) for k, v in value.items() if k not in but)
    if isinstance(value, list):
        return any(says_something(part, but) for part in value)
    return bool(value.strip()) if isinstance(value, str) else value is not None


def unwrapped(data: Any, keys: Iterable[str], names: Iterable[str]) -> Any:
    """The whole answer in `data`, where it is the only thing in a list or in an object.

    A whole answer has objects under one of `keys`, and none of `names`, as a branch has.
    """
    keys, names = tuple(keys), tuple(names)

    def is_whole(value: Any) -> bool:
        if not isinstance(value, Mapping) or any(name in value for name in names):
            return False
        parts = [value.get(key) for key in keys]
        firsts = [part[0] if isinstance(part, list) and part else part for part in parts]
        return any(isinstance(first, Mapping) for first in firsts)

    while True:
        inner = data if isinstance(data, list) else []
        if isinstance(data, Mapping):
            inner = [data[key] for key in keys if key in data] or list(data.values())
        if len(inner) != 1 or not is_whole(inner[0]):
            return data
        data = inner[0]
