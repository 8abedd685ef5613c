"""A server that refuses what OpenAI's models refuse, each by its manner (openai_refusals.yaml)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from support.chat_server import Answer

Body = dict[str, Any]
REFUSALS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
MANNERS = tuple(dict.fromkeys(row["manner"] for row in REFUSALS))


def in_manner(manner: str, script: Callable[[Body], Answer]) -> Callable[[Body], Answer]:
    rows = [row for row in REFUSALS if row["manner"] == manner]

    def refusing(body: Body) -> Answer:
        raw = body.get("responses", body)
        api = "responses" if "responses" in body else "chat"
        asked = _asked(raw)
        for row in rows:
            excused = any(asked.get(name) == value for name, value in row.get("but", {}).items())
            meant = all(asked.get(name) == value for name, value in row.get("only", {}).items())
            if row["api"] == api and asked.keys() >= {*row["has"]} and meant and not excused:
                error = {"type": "invalid_request_error", "message": row["message"]}
                error |= {"param": row["param"], "code": row.get("code")}
                return Answer(status=400, raw=json.dumps({"error": error}))
        return script(body)

    return refusing


def _asked(raw: Body) -> Body:
    include = raw.get("include") or []
    return {
        **raw,
        **({"effort": raw["reasoning_effort"]} if "reasoning_effort" in raw else {}),
        **({"effort": raw["reasoning"]["effort"]} if "effort" in raw.get("reasoning", {}) else {}),
        **({"encrypted": True} if "reasoning.encrypted_content" in include else {}),
        **({"logprobs": True} if "message.output_text.logprobs" in include else {}),
    }
