"""The modules beside an agent: an expander that writes only readings that it can see, and an
extractor that copies sentences."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from manners.text import names, sentences, stems

NOTHING = "NONE"
_ANSWER_FORM, _EXTRACTS = '"answers"', "copy"
"""Words of instructions: of an agent's, of an extractor's."""
_LINE = re.compile(r"^(Question|Searched for): (.*)$", re.MULTILINE)
_PASSAGE = re.compile(r"^Passage(?: \[?([^\s\[\]:]+)\]?)?: (.*)$")
_BEFORE_TITLE = re.compile(
    r"^(?:[-*•]\s+|\d+[.)]\s+|\[[^\[\]\s]+\]\s+|(?:Passage|Title)[^:]*:\s+|[\"“])*"
)


def module_reply(messages: Sequence[BaseMessage]) -> str | None:
    """What a module says; None where an agent is asked, whose instructions hold the form of the
    answer."""
    match messages:
        case [SystemMessage() as told, HumanMessage() as asked] if _ANSWER_FORM not in told.text:
            extracts = _EXTRACTS in told.text.lower()
            return extract(ExtractionRequest.read(asked.text)) if extracts else expand(asked.text)
    return None


def expand(message: str) -> str:
    """The question with each title in its place that the message lists for its name, one a line;
    the question alone where it lists none."""
    question = _question(message)
    readings = {
        question.replace(name, title): None
        for name in names(question)
        for title in _titles(message, name)
    }
    return "\n".join(readings or [question])


def _question(message: str) -> str:
    marked = dict(_LINE.findall(message))
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return str(marked.get("Question") or next((x for x in lines if x.endswith("?")), lines[0]))


def _titles(message: str, name: str) -> list[str]:
    """`NAME (…)` and `NAME, …` at the beginnings of lines, behind a bullet, a number or an id, or
    of the parts that semicolons divide."""
    title = re.compile(rf"{re.escape(name)}(?: \([^()]+\)|, [^\W\d_a-z][\w '’-]*(?=$|[:;—–]))")
    parts = (part for line in message.splitlines() for part in line.split("; "))
    lines = (_BEFORE_TITLE.sub("", part) for part in parts)
    return list(dict.fromkeys(found[0] for line in lines if (found := title.match(line))))


@dataclass(frozen=True)
class RequestedPassage:
    """A passage of an extractor's request; `id` is "" where a request holds only one."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class ExtractionRequest:
    """An extractor's message: the question, all that was searched for, the passages."""

    question: str
    searched: str
    passages: tuple[RequestedPassage, ...]

    @classmethod
    def read(cls, message: str) -> "ExtractionRequest":
        """Read a message, whose passages come last, each headed by its title."""
        lines = message.splitlines()
        heads = [(n, found) for n, line in enumerate(lines) if (found := _PASSAGE.match(line))]
        ends = [n for n, _ in heads[1:]] + [len(lines)]
        passages = tuple(
            RequestedPassage(
                found[1] or "",
                found[2],
                " ".join(lines[n + 1 : end]).strip().removeprefix("Text: "),
            )
            for (n, found), end in zip(heads, ends, strict=True)
        )
        told = _LINE.findall("\n".join(lines[: heads[0][0] if heads else None]))
        searched = "; ".join(said for what, said in told if what == "Searched for")
        return cls(dict(told).get("Question", ""), searched, passages)


def extract(request: ExtractionRequest) -> str:
    """Sentences that share a content word with the question or the search, in the reply's form."""
    wanted = stems(request.question) | stems(request.searched)
    copied = [
        [sentence for sentence in sentences(passage.text) if stems(sentence) & wanted]
        for passage in request.passages
    ]
    if len(request.passages) == 1 and not request.passages[0].id:
        return "\n".join(copied[0]) or NOTHING
    return _reply_for_several(request.passages, copied)


def _reply_for_several(
    passages: Sequence[RequestedPassage], copied: Sequence[Sequence[str]]
) -> str:
    """Under each passage's number what was copied out of it, or NONE."""
    blocks = (
        "\n".join([f"Passage {passage.id}:", *(lines or [NOTHING])])
        for passage, lines in zip(passages, copied, strict=True)
    )
    return "\n".join(blocks)
