"""Which models their servers will shut down soon, by what `GET /models` says of them.

OpenAI's service gives a `shutdown_date` (YYYY-MM-DD, or null) with each model:
https://developers.openai.com/api/reference/resources/models/methods/list
"""

import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import orjson

from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError
from branchwise.base.http import HTTP, ExchangeError, user_agent
from branchwise.base.keys import Keys, headers_for, is_openai
from branchwise.base.text import counted

SOON_DAYS = 60
SECONDS = 2.0
"""How long the servers have to answer, all together."""
_LIMIT = 4 * 2**20


def shutdown_warnings(
    models: Iterable[str], keys: Keys, headers: Mapping[str, str], today: date
) -> Iterator[str]:
    """A line for each model that is shut down within `SOON_DAYS`, or was.

    A server that does not know the path, or the field, or does not answer in time, is as one that
    announces nothing: never raises for it.
    """
    deadline = time.monotonic() + SECONDS
    listed: dict[str, Mapping[str, date]] = {}
    for model in dict.fromkeys(models):
        try:
            spec = ModelSpec.parse(model).addressed()
        except InputError:
            continue  # The run refuses it, and says in which option it stands.
        if spec.provider != "openai":
            continue
        if spec.url not in listed:
            listed[spec.url] = _shutdowns(spec.url, keys, headers, deadline)
        day = listed[spec.url].get(spec.name)
        if day is None or (left := (day - today).days) > SOON_DAYS:
            continue
        when = f", in {counted(left, 'day')}" if left > 0 else ""
        yield f"{spec}: its server shuts this model down on {day}{when}; finish before it"


def _shutdowns(
    url: str, keys: Keys, headers: Mapping[str, str], deadline: float
) -> Mapping[str, date]:
    """The days that a server names, by model."""
    key = keys.key(url, of_model=True)
    if key is None and is_openai(url):
        return {}
    sent = {"User-Agent": user_agent(), **headers_for(headers, url, of_model=True)}
    if key:
        sent["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(f"{url}/models", headers=sent)  # noqa: S310 (http or https)
    try:
        reply = HTTP.send(request, deadline, _LIMIT)
        body = orjson.loads(reply.body) if reply.status == 200 and reply.whole else None
    except (ExchangeError, ValueError):
        return {}
    data = body.get("data") if isinstance(body, dict) else None
    models = [model for model in data if isinstance(model, dict)] if isinstance(data, list) else []
    named = ((model.get("id"), _day(model.get("shutdown_date"))) for model in models)
    return {name: day for name, day in named if isinstance(name, str) and day}


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None
