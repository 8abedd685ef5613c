"""Thinking tags: what is in `<think>…</think>` is part of the trace, not of the answer."""

_OPEN, _CLOSE = "<think>", "</think>"


def split_thinking(text: str) -> tuple[str, str]:
    """Split `text` into (answer, thinking), both stripped if there is any thinking.

    A block that never closes is thinking to its end. A `</think>` without an opening tag (some
    templates put it into the prompt) makes everything before it thinking. Linear in the length of
    `text`.
    """
    if _CLOSE not in text and _OPEN not in text:
        return text, ""
    said: list[str] = []
    thought: list[str] = []
    first_open, first_close = text.find(_OPEN), text.find(_CLOSE)
    at = 0
    if first_close != -1 and (first_open == -1 or first_close < first_open):
        thought.append(text[:first_close])
        at = first_close + len(_CLOSE)
    while (start := text.find(_OPEN, at)) != -1:
        said.append(text[at:start])
        end = text.find(_CLOSE, start)
        if end == -1:
            thought.append(text[start + len(_OPEN) :])
            at = len(text)
            break
        thought.append(text[start + len(_OPEN) : end])
        at = end + len(_CLOSE)
    said.append(text[at:])
    return "".join(said).strip(), "\n".join(t.strip() for t in thought if t.strip())
