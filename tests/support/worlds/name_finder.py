"""Finds names in a text and parts it into sentences."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_TOKEN = re.compile(r"\w+|[^\w\s]")
_BREAK = re.compile(r"[.!?][\"')\]]*(?:\s+(?=[\"'(\[]?[^\W\d_])|\n)")
_SHORT = re.compile(r"(?:\b(?:St|Dr|Mr|Mrs|Ms|Prof|Jr|Sr|No|vs)|\b[A-Z])$")
MARK = "@"
_END = ""  # key of a name's end in the tree: no token is empty


@dataclass(frozen=True)
class Mention:
    """A name in a sentence, by the offsets of its characters."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Sentence:
    text: str
    mentions: list[Mention]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(mention.name for mention in self.mentions)

    @cached_property
    def apart(self) -> list[Mention]:
        """The mentions without those that overlap an earlier one."""
        apart: list[Mention] = []
        for mention in self.mentions:
            if not apart or mention.start >= apart[-1].end:
                apart.append(mention)
        return apart

    @cached_property
    def masked(self) -> str:
        """The text with a mark for every name of `apart`."""
        parts, at = [], 0
        for mention in self.apart:
            parts += [self.text[at : mention.start], MARK]
            at = mention.end
        return "".join([*parts, self.text[at:]])


class NameFinder:
    """Finds the longest of many names at every place, and no name inside another found one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._tree: dict[str, Any] = {}
        for name in names:
            node = self._tree
            for token in _TOKEN.findall(name):
                node = node.setdefault(token, {})
            node[_END] = name

    def mentions(self, text: str) -> list[Mention]:
        tokens = list(_TOKEN.finditer(text))
        found: list[Mention] = []
        for first, token in enumerate(tokens):
            node, last, at = self._tree.get(token[0]), None, first
            while node is not None:
                if _END in node:
                    last = Mention(node[_END], token.start(), tokens[at].end())
                at += 1
                node = node.get(tokens[at][0]) if at < len(tokens) else None
            if last and (not found or last.end > found[-1].end):
                found.append(last)
        return found

    def sentences(self, text: str) -> list[Sentence]:
        """A text's sentences. A full stop inside a name or after an abbreviation ends none."""
        mentions = self.mentions(text)
        inside = {at for m in mentions for at in range(m.start, m.end - 1)}
        ends = [
            b.end()
            for b in _BREAK.finditer(text)
            if b.start() not in inside and not _SHORT.search(text, max(0, b.start() - 6), b.start())
        ]
        starts = [0, *ends]
        spans = [s for s in zip(starts, [*ends, len(text)], strict=True) if text[slice(*s)].strip()]
        return [_sentence(text, start, end, mentions) for start, end in spans]


def _sentence(text: str, start: int, end: int, mentions: list[Mention]) -> Sentence:
    own = [
        Mention(m.name, m.start - start, m.end - start)
        for m in mentions
        if start <= m.start and m.end <= end
    ]
    return Sentence(text[start:end].rstrip(), own)
