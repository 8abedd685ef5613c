"""`<ans>yes|no|N</ans> <cond>[["doc17-c4", ...], ...]</cond>`: a conditional answer (MDCR).

N is a number, a group a list of ids of sentences whose conditions must all hold, and one group is
enough; without a group the answer holds as it is.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict

from branchwise.agents.prediction import (
    MAX_NAME,
    MAX_REASONING,
    AnswerFormat,
    FormatError,
    Prediction,
    TextAnswer,
    first_text,
    reasoning_of,
    text_of,
)
from branchwise.base.text import one_line
from branchwise.eval.tasks.task import holder_of

MAX_GROUPS, MAX_IDS = 1_000, 20_000
"""Groups of an answer, and ids in all of them together; an answer with more is none."""


class ConditionalOutput(TypedDict):
    """A prediction's `task_output`: `yes`, `no` or a number, and the groups of ids."""

    answer: str
    groups: list[list[str]]


_TAG = re.compile(r"<(/?)(ans|answer|cond|conditions?)\s?>", re.IGNORECASE)
_EXACT_TAGS = ["<ans>", "</ans>", "<cond>", "</cond>"]
_EXACT_SHORT = re.compile(r"yes|no|0|[1-9]\d{0,18}")
_EXACT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}-c\d{1,4}")
_ID = re.compile(r"(?<![\w-])([A-Za-z0-9][A-Za-z0-9_-]{0,99}?)[-‑–._:/ ]([cC]\d{1,4})\b")
_BETWEEN_IDS = re.compile(r"(?:[\s,;&+]|and\b|or\b)*", re.IGNORECASE)
_TOKEN = re.compile(r"""([\[({])|([\])}])|"([^"\n]*)"|'([^'\n]*)'|([^\[\](){},;"'\n]+)""")
_YES_NO = re.compile(r"(yes|no|true|false)(?:[.,;:!].*)?", re.DOTALL)
_NUMBER = re.compile(r"(\d{1,19})(?:\.0+)?(?:\s[^\d]*)?[.!]?")
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SHORT_WORDS = {"true": "yes", "false": "no", **{word: str(n) for n, word in enumerate(_COUNTED)}}
_NOTHING = frozenset({"none", "null", "n/a", "nil", "nothing", "empty"})
_ANSWER_KEYS = ("answer", "ans", "short_answer")
_GROUP_KEYS = ("groups", "cond", "conditions", "condition", "conditional_answer")
_OPEN, _CLOSE = object(), object()


class MDCRFormat(AnswerFormat):
    """A short answer and its groups of conditions; `task_output` is a `ConditionalOutput`."""

    name: str = "mdcr"
    by_branch: bool = False
    form: str = '<ans>yes or no or a number</ans> <cond>[["doc17-c4", ...], ...]</cond>'

    def read_text(self, text: str) -> TextAnswer | None:
        """The last answer between tags; what stands before its tags is the reasoning. Exact: the
        tags once each and nothing behind them, in them one of the words or a number, and JSON. Also
        read: other cases of letters, `<answer>` and `<conditions>`, tags that are not closed, or
        left out for the conditions; numbers in words; single quotes or none, ids such as
        `doc17.c4`, brackets that are not balanced, and none around one group."""
        tags = list(_TAG.finditer(text))
        ends = [*(tag.start() for tag in tags[1:]), len(text)]
        # What stands behind each opening tag, as far as the next tag, and whether it is an answer.
        parts = [
            (text[tag.end() : end], tag[2].lower().startswith("ans"))
            for tag, end in zip(tags, ends, strict=False)
            if not tag[1]
        ]
        answers = [n for n, (part, is_answer) in enumerate(parts) if is_answer and part.strip()]
        if not answers:
            return None
        last = parts[answers[-1]][0]
        after = [part for part, is_answer in parts[answers[-1] :] if not is_answer]
        conditions = after or [part for part, is_answer in parts if not is_answer]
        groups = conditions[-1] if conditions else ""
        output = _output(last, _grouped(_tokens(groups)))
        exact = [tag[0] for tag in tags] == _EXACT_TAGS and not text[tags[-1].end() :].strip()
        reasoning = text[: tags[0].start()].strip()[:MAX_REASONING]
        prediction = Prediction(reasoning=reasoning, task_output=output)
        return TextAnswer(prediction, exact and _is_exact(last.strip(), groups))

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """An object with both, under these or similar keys; also alone in a list or an object."""
        problem = "the answer is not in the form that was asked for"
        holder = holder_of(data, _ANSWER_KEYS, problem)
        short = next(holder[key] for key in _ANSWER_KEYS if key in holder)
        if isinstance(short, bool):
            short = "yes" if short else "no"
        groups = next((holder[key] for key in _GROUP_KEYS if key in holder), None)
        output = _output(text_of(short, MAX_NAME) or "", _grouped(_tokens_of(groups)))
        return Prediction(reasoning=reasoning_of(holder), task_output=output)


def sentence_id(text: str) -> str:
    """An id as documents have it, `doc17-c4`; a text that is none stays, on one line."""
    parts = _ID.fullmatch(text.strip())
    return f"{parts[1]}-{parts[2].lower()}" if parts else one_line(text)[:MAX_NAME]


def _output(short: str, groups: list[list[str]]) -> ConditionalOutput:
    text = short.strip(" \t\r\n*`\"'.").lower()[:MAX_NAME]
    text = _SHORT_WORDS.get(text, text)
    if word := _YES_NO.fullmatch(text):
        return {"answer": _SHORT_WORDS.get(word[1], word[1]), "groups": groups}
    if number := _NUMBER.fullmatch(text):
        return {"answer": str(int(number[1])), "groups": groups}
    raise FormatError("the short answer is neither yes nor no nor a number")


def _is_exact(short: str, groups: str) -> bool:
    try:
        data = json.loads(groups)
    except (ValueError, RecursionError):
        return False
    is_listed = isinstance(data, list) and all(isinstance(group, list) for group in data)
    ids = [id for group in data for id in group] if is_listed else [None]
    is_exact = all(isinstance(id, str) and _EXACT_ID.fullmatch(id) for id in ids)
    return is_exact and _EXACT_SHORT.fullmatch(short) is not None


def _grouped(tokens: Iterable[Any]) -> list[list[str]]:
    """The ids that stand in one list, or in none, are a group; each id and group once, and none
    that is empty."""
    stack: list[dict[str, None]] = [{}]
    listed: list[list[str]] = []
    count = 0
    for token in tokens:
        if token is _OPEN:
            stack.append({})
        elif token is not _CLOSE:
            ids = _ids(token)
            count += len(ids)
            stack[-1].update(dict.fromkeys(ids))
        elif len(stack) > 1:
            listed.append(list(stack.pop()))
    listed += [list(group) for group in reversed(stack)]
    groups = list({frozenset(group): group for group in reversed(listed) if group}.values())[::-1]
    if len(groups) > MAX_GROUPS or count > MAX_IDS:
        raise FormatError(f"more than {MAX_GROUPS:,} groups or {MAX_IDS:,} ids")
    return groups


def _ids(text: str) -> list[str]:
    """The ids in a text that holds nothing else, or the text; nothing where it says so."""
    text = text.strip(" \t\r\n.`*")
    if not text or text.lower() in _NOTHING:
        return []
    ids = [sentence_id(match[0]) for match in _ID.finditer(text)]
    return ids if ids and _BETWEEN_IDS.fullmatch(_ID.sub("", text)) else [sentence_id(text)]


def _tokens(text: str) -> Iterator[Any]:
    """Brackets of every kind, and the texts between them, quotes and commas."""
    for token in _TOKEN.finditer(text):
        if token[1]:
            yield _OPEN
        elif token[2]:
            yield _CLOSE
        else:
            yield token[3] or token[4] or token[5] or ""


def _tokens_of(data: object) -> Iterator[Any]:
    """The same of JSON data; an object stands for the id in it. Nesting is not recursion."""
    stack: list[object] = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += [_CLOSE, *reversed(value), _OPEN]
        elif isinstance(value, Mapping):
            yield first_text(value, ("id", "sentence", "condition"), MAX_NAME) or ""
        elif value is _OPEN or value is _CLOSE:
            yield value
        elif isinstance(value, str):
            yield from _tokens(value)
