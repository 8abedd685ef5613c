"""Sentences of a passage that share words with what is asked or searched for, word for word."""

from dataclasses import dataclass
from itertools import takewhile

from branchwise.agents.offline.words import sentences, stems

NOTHING = "NONE"
_QUESTION, _SEARCHED, _PASSAGE = "Question:", "Searched for:", "Passage:"


@dataclass(frozen=True)
class Request:
    """A passage, and why it was searched for."""

    question: str
    searched: str
    title: str
    text: str

    @classmethod
    def read(cls, message: str) -> "Request | None":
        """The request in a user message; None where it is none.

        Its head is lines without an empty one between: an agent's question has passages after one.
        """
        lines = message.strip().splitlines()
        head = list(takewhile(lambda line: not line.startswith(_PASSAGE), lines))
        if len(head) in (0, len(lines)) or not all(head) or not head[0].startswith(_QUESTION):
            return None
        searched = next((line for line in head if line.startswith(_SEARCHED)), "")
        title, text = lines[len(head)], "\n".join(lines[len(head) + 1 :])
        return cls(
            head[0].removeprefix(_QUESTION).strip(),
            searched.removeprefix(_SEARCHED).strip(),
            title.removeprefix(_PASSAGE).strip(),
            text.strip(),
        )


def extract(request: Request) -> str:
    """The sentences that share words with question or search, one a line, or NONE."""
    wanted = stems(request.question) | stems(request.searched)
    found = [" ".join(s.split()) for s in sentences(request.text) if stems(s) & wanted]
    return "\n".join(found) or NOTHING
