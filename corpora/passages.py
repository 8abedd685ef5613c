"""A passage and its id."""

import hashlib
import re

from pydantic import BaseModel, ConfigDict

_DISAMBIGUATOR = re.compile(r"(?<=\S)\s*\([^()]*\)$")


class Passage(BaseModel):
    """A titled piece of text that a retriever returns and an answer cites."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text on separate lines: what is encoded, and FlashRAG's `contents` field."""
        return f"{self.title}\n{self.text}"


def name_of(title: str) -> str:
    """A title without its disambiguator: `Heat` of `Heat (1995 film)`."""
    return _DISAMBIGUATOR.sub("", title.strip())


def passage_id(title: str, text: str) -> str:
    """Content hash of title and text: 16 hexadecimal digits (64 bits of BLAKE2b).

    Loaders and `corpus build` use the same function, so deduplication keeps citations valid.
    Of a million passages, two share an id with a probability of about 3e-8.
    """
    return hashlib.blake2b(f"{title}\n{text}".encode(), digest_size=8).hexdigest()


def make_passage(title: str, text: str) -> Passage:
    """The passage with its content hash as id."""
    return Passage(id=passage_id(title, text), title=title, text=text)
