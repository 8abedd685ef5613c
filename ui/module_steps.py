"""Query expansion and evidence extraction, in lines of a trace."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from branchwise.ui.tool_steps import few, indented, short

AS_IT_STANDS = "the question is asked as it stands"


def expansion_lines(data: Mapping[str, Any]) -> Iterator[str]:
    """The readings, one a line; why there are none; what was dropped."""
    readings = data["readings"]
    if data["how"] == "failed":
        said = f"failed: {short(data['error'])}; {AS_IT_STANDS}"
    elif readings:
        said = ", ".join([f"{len(readings)} readings", *_cost([data])])
    else:
        said = ", ".join([f"no readings: {AS_IT_STANDS}", *_cost([data])])
    yield f"{'expand':<9} {said}"
    if data["reasoning"]:
        yield indented(f"thinks: {short(data['reasoning'])}")
    yield from (indented(f"- {short(reading)}") for reading in readings)
    if data["dropped"]:
        yield indented(short(f"dropped: {_reasons(data['dropped'])}"))


def extraction_lines(data: Mapping[str, Any], most: int) -> Iterator[str]:
    """Counts of spans and passages, then the spans of the first `most` passages that have some."""
    passages = data["passages"]
    how = Counter(passage["how"] for passage in passages)
    spans = sum(len(passage["spans"]) for passage in passages)
    kept = f"{_count(spans, 'span')} from {how['spans']} of {_count(len(passages), 'passage')}"
    # Extractions follow all tool results of the turn, in the order of its calls.
    which = f"call {data['of'] + 1}: " if data["of"] else ""
    yield f"{'extract':<9} {which}{', '.join([kept, *_cost(passages)])}"
    if how["none"]:
        yield indented(f"nothing in {_count(how['none'], 'passage')}")
    if dropped := [dropped for passage in passages for dropped in passage["dropped"]]:
        yield indented(short(f"dropped: {_reasons(dropped)}"))
    failed = [passage for passage in passages if passage["how"] == "failed"]
    if failed:
        shown = "shown whole" if len(failed) == 1 else "all shown whole"
        what = f"{_count(len(failed), 'call')} failed, {shown}"
        yield indented(f"{what}: {short(failed[0]['error'])}")
    lines = [_spans(passage) for passage in passages if passage["spans"]]
    yield from map(indented, few(lines, most, "more"))


def _spans(passage: Mapping[str, Any]) -> str:
    return short(f"[{passage['id']}] {' … '.join(passage['spans'])}")


def _reasons(dropped: Sequence[Mapping[str, Any]]) -> str:
    """How many for each reason, in the order in which the reasons came."""
    counts = Counter(one["why"] for one in dropped)
    return ", ".join(f"{count} {why}" for why, count in counts.items())


def _cost(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Tokens where servers count them, seconds together, and whether all are replays."""
    made = list(calls)
    read = sum(call["usage"]["input"] for call in made)
    written = sum(call["usage"]["output"] for call in made)
    notes = [f"{read} tokens in, {written} out"] if read or written else []
    notes.append(f"{sum(call['seconds'] for call in made):.2f} s")
    return [*notes, "replayed"] if made and all(call["replayed"] for call in made) else notes


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
