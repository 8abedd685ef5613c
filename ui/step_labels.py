"""What a step did in a few words: the lines of a trace's tree."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from branchwise.ui.node_steps import node_label
from branchwise.ui.steps import MALFORMED, describe, without_edit
from branchwise.ui.tool_steps import short

MAX_LABEL = 160


def label(kind: str, data: Mapping[str, Any]) -> str:
    """One line of at most 160 printable characters, the essential first.

    Kinds without words of their own are said as `describe` says them. A step that a fork edited
    says so first.
    """
    own = _OWN.get(kind)
    edited, data = without_edit(data)
    try:
        said = own(data) if own else describe(kind, data)[0]
    except MALFORMED:
        said = f"{kind}: {short(data)}"
    said = f"edited {said}" if edited else said
    return short("".join(c if c.isprintable() else " " for c in said), MAX_LABEL)


def failed(kind: str, data: Mapping[str, Any]) -> bool:
    """Whether a step brought an error."""
    if kind in ("error", "retry", "repair_failed"):
        return True
    if kind == "extraction":
        passages = data.get("passages")
        listed = passages if isinstance(passages, list) else []
        return any(isinstance(p, Mapping) and p.get("how") == "failed" for p in listed)
    return bool(data.get("error")) or data.get("how") == "failed"


def _model(data: Mapping[str, Any]) -> str:
    calls = len([*data["tool_calls"], *data["invalid_tool_calls"]])
    name = "repair" if data.get("role") == "repair" else f"turn {data.get('turn', '')}"
    what = count(calls, "call") if calls else "reply"
    cut = data["finish"] if data["finish"] in ("length", "refusal", "content_filter") else ""
    return f"{name}: {what}{f', {cut}' if cut else ''}"


def _tool(data: Mapping[str, Any]) -> str:
    name, args = data["call"]["name"], data["call"]["args"]
    if data["error"]:
        return f"{name} failed: {data['error']}"
    artifact = data["artifact"]
    found = ""
    if "rows" in artifact:
        rows = artifact["rows"]
        yes_or_no = rows.get("boolean")
        answer = {True: "yes", False: "no"}.get(yes_or_no)
        found = answer or count(len(rows["rows"]), "row")
    elif "matches" in artifact or "passages" in artifact:
        found = str(len(artifact.get("matches", artifact.get("passages"))))
    return " ".join(filter(None, [name, found, _asked(args)]))


def _asked(args: Any) -> str:
    """The first text among the arguments."""
    values = args.values() if isinstance(args, Mapping) else [args]
    first = next((value for value in values if isinstance(value, str)), None)
    return "" if first is None else f'"{short(first)}"'


def _extraction(data: Mapping[str, Any]) -> str:
    passages = data["passages"]
    how = Counter(passage["how"] for passage in passages)
    spans = sum(len(passage["spans"]) for passage in passages)
    failures = f", {how['failed']} failed" if how["failed"] else ""
    return f"extract {count(spans, 'span')}, {how['spans']} of {len(passages)}{failures}"


def _expansion(data: Mapping[str, Any]) -> str:
    if data["how"] == "failed":
        return f"expand failed: {data['error']}"
    return f"expand {count(len(data['readings']), 'reading')}"


def _answer(data: Mapping[str, Any]) -> str:
    if data["how"] == "failed":
        return f"answer: format error: {data['problem']}"
    answers = data["prediction"]["answers"]
    entities = sum(len(texts) for texts in answers.values())
    said = f"{count(len(answers), 'branch', 'branches')}, {count(entities, 'answer')}"
    return f"answer {said}" if answers else "answer none"


def count(number: int, what: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number} {what if number == 1 else many or f'{what}s'}"


_OWN: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "model": _model,
    "tool": _tool,
    "extraction": _extraction,
    "expansion": _expansion,
    "node": node_label,
    "answer": _answer,
}
