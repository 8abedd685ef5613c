"""Thinking tags: what is in `<think>…</think>` is part of the trace, not of the answer.

Also `<thinking>`, `<thought>`, `[THINK]` (Magistral) and `◁think▷` (Kimi).
"""

import re

_TAG = re.compile(r"[<\[◁](/?)(?:think(?:ing)?|thought)[>\]▷]", re.IGNORECASE)


def split_thinking(text: str) -> tuple[str, str]:
    """Split `text` into (answer, thinking), both stripped if there is any thinking.

    A block that never closes is thinking to its end. A closing tag without an opening one (some
    templates put it into the prompt) makes everything before it thinking. Linear in the length of
    `text`.
    """
    tags = list(_TAG.finditer(text))
    if not tags:
        return text, ""
    said: list[str] = []
    thought: list[str] = []
    at, is_open = 0, bool(tags[0][1])
    for tag in tags:
        if is_open and not tag[1]:
            continue
        (thought if is_open else said).append(text[at : tag.start()])
        at, is_open = tag.end(), not tag[1]
    (thought if is_open else said).append(text[at:])
    return "".join(said).strip(), "\n".join(t.strip() for t in thought if t.strip())
