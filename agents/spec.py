"""Which model answers: what the user writes after `--model`, and when its server shuts it down."""

import re
import socket
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from branchwise.base.errors import InputError, nearest, require
from branchwise.base.http import HTTP, ExchangeError, check_way, proxy_of, user_agent
from branchwise.base.keys import (
    NO_KEYS,
    Keys,
    check_value,
    headers_for,
    is_providers,
    openai_base,
)
from branchwise.base.providers import OPENAI_URL, PROVIDERS, Provider
from branchwise.base.text import counted

REPLAY = "replay:"
REPLAY_OFFER = ", replay:RUN (what a run recorded)"
_OTHERS = "/".join(name for name in PROVIDERS if name != "openai")
EXAMPLES = (
    f"write openai:gpt-6-luna (or {_OTHERS}:NAME), "
    "openai:Qwen/Qwen3-8B@http://localhost:8000/v1 (any OpenAI-compatible server)"
    f"{REPLAY_OFFER}, or offline"
)
_FAMILIES = {"claude": "anthropic", "gemini": "google", "mistral": "mistral", "grok": "xai"}
"""How models' names begin, by whose they are."""
SOON_DAYS = 60
SECONDS = 2.0
"""How long the servers have to say when they shut models down, all together."""
_LIMIT = 4 * 2**20
_CONNECT_SECONDS = 2.0
_PORTS = {"http": 80, "https": 443}
_SPEC = re.compile(
    rf"(?P<provider>{'|'.join(PROVIDERS)}):"
    r"(?P<name>[^\s@]+(?:@(?!https?://)[^\s@]+)*)(?:@(?P<url>https?://\S+))?"
)
_BARE_NAME = re.compile(r"[A-Za-z][\w.-]*(/[\w.-]+)*")
# Names may hold an @ themselves (vendor/model@version), but no version looks like host:port.
_ADDRESS = re.compile(r"@(localhost|[\w.-]+:\d+)(/|$)")


@dataclass(frozen=True)
class ModelSpec:
    """A provider (of `base/providers.py`, or `offline`, `replay`), a model's name there (of a
    replay the folder of the run that answers) and, for a server of one's own that speaks the
    provider's protocol, its base URL. `str(spec)` is what `parse` reads. It holds no keys.
    """

    provider: str
    name: str
    base_url: str | None = None

    @classmethod
    def parse(cls, text: str) -> "ModelSpec":
        """Read `PROVIDER:NAME`, `PROVIDER:NAME@BASE_URL`, `replay:RUN` or `offline`.

        Raises InputError for anything else, and for a base URL that carries credentials.
        """
        text = text.strip()
        if text == "offline":
            return cls("offline", "offline")
        if text.startswith(REPLAY):
            run = text.removeprefix(REPLAY).strip()
            if not run or "\0" in run:
                remedy = "write replay:RUN with the folder of a run, for example replay:runs/base"
                raise InputError("the model names no run to replay", remedy=remedy)
            return cls("replay", run)
        match = _SPEC.fullmatch(text)
        if match and match["url"] is None and _ADDRESS.search(match["name"]):
            raise InputError(
                f"the address in {_shown(text)!r} does not begin with http:// or https://",
                remedy="write the full address, with OpenAI's protocol up to /v1",
            )
        if match is None or "://" in match["name"]:
            near = suggested(text)
            remedy = f"did you mean {near}? Else {EXAMPLES}" if near else EXAMPLES
            raise InputError(f"unknown model {_shown(text)!r}", remedy=remedy)
        url = match["url"]
        return cls(match["provider"], match["name"], None if url is None else _checked_url(url))

    @property
    def service(self) -> Provider | None:
        """Whose protocol a server speaks that is asked; None where none is asked."""
        return PROVIDERS.get(self.provider)

    @property
    def model(self) -> str:
        """Provider and name without the server: what answers depend on. A server may move."""
        return f"{self.provider}:{self.name}"

    @property
    def url(self) -> str:
        """Where a model is asked that has a server."""
        return self.addressed().base_url or PROVIDERS[self.provider].url

    def addressed(self) -> "ModelSpec":
        """With the address in `OPENAI_BASE_URL` where it has none of its own and that is set.

        Raises InputError where the variable holds no address.
        """
        if self.provider != "openai" or self.base_url is not None:
            return self
        base = openai_base()
        return self if base in (None, OPENAI_URL) else replace(self, base_url=base)

    @property
    def run(self) -> Path:
        """The folder of the run that a replay answers from."""
        path = Path(self.name)
        return Path.home().joinpath(*path.parts[1:]) if path.parts[:1] == ("~",) else path

    def __str__(self) -> str:
        if self.provider == "offline":
            return "offline"
        if self.provider == "replay":
            return REPLAY + self.name
        return self.model + (f"@{self.base_url}" if self.base_url else "")


def suggested(text: str) -> str | None:
    """The spec that a bare name, or one after a misspelt provider, stands for; None if it is not a
    name, or may be a secret."""
    text = text.strip()
    if nearest(text, ["offline"], cutoff=0.8):
        return "offline"
    provider, colon, name = text.partition(":")
    if colon and (near := nearest(_FAMILIES.get(provider, provider), PROVIDERS, cutoff=0.65)):
        text, provider = name, near[0]
    if not _BARE_NAME.fullmatch(text) or _shown(text) != text:
        return None
    if colon:
        return f"{provider}:{text}"
    known = (provider for family, provider in _FAMILIES.items() if text.startswith(family))
    return f"{next(known, 'openai')}:{text}"


def is_replay(text: str) -> bool:
    """Whether a model spec names a run whose recorded replies answer."""
    return text.strip().startswith(REPLAY)


def located(text: str) -> str:
    """The same model from any folder and in any environment: a replay's run as an absolute path,
    another with the address in `OPENAI_BASE_URL` where it has none."""
    if is_replay(text):
        return f"{REPLAY}{ModelSpec.parse(text).run.resolve()}"
    spec = ModelSpec.parse(text)
    addressed = spec.addressed()
    return text if addressed is spec else str(addressed)


def check_ready(spec: ModelSpec, keys: Keys = NO_KEYS) -> None:
    """Raise InputError, before any work, for what would make every call fail: no client for the
    provider's protocol, no key for its own service, a key that no request can carry, a proxy or a
    certificate file that does not work, or nothing listens at the base URL. Sends no request.

    Whether there is anything to replay is checked when the run is opened.
    """
    if spec.service is None:
        return
    if spec.service.package:
        require(spec.service.extra, f"{spec.provider}:", modules=(spec.service.package,))
    spec = spec.addressed()
    keys.check(spec.url)
    if variable := keys.variable(spec.url, of_model=True):
        check_value(variable)
    if is_providers(spec.url) and keys.key(spec.url, of_model=True) is None:
        remedy = f"set {variable}, name a server with {spec.model}@URL, or use offline"
        raise InputError(f"no key for {spec}: {variable} is not set", remedy=remedy)
    check_way(spec.url, takes_all=True)
    if is_providers(spec.url):
        return
    assert spec.base_url is not None
    address = urlsplit(spec.base_url)
    host, port = address.hostname or "", address.port or _PORTS[address.scheme]
    if proxy_of(spec.base_url, takes_all=True):
        return  # Requests go through a proxy: only they show whether it finds the host.
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        raise InputError(
            f"nothing answers at {spec.base_url} ({error.strerror or type(error).__name__})",
            remedy="start the model server or correct the URL in --model",
        ) from None


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise InputError("the model's base URL has no valid host and port", remedy=EXAMPLES)
    if parts.username or parts.password or "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(
            "the model's base URL carries credentials or parameters",
            remedy="remove them; put the key into a variable and name it: --key HOST=VARIABLE",
        )
    return url.rstrip("/")


def _shown(text: str) -> str:
    """The user's text for a message, short and without what may be a secret in it."""
    text = re.sub(r"//[^/\s]*@", "//***@", text)
    return re.sub(r"\bsk-\S+", "***", text)[:80]


def shutdown_warnings(
    models: Iterable[str], keys: Keys, headers: Mapping[str, str], today: date
) -> Iterator[str]:
    """A line for each model that is shut down within `SOON_DAYS`, or was.

    A server that does not know the path, or the field, or does not answer in time, is as one that
    announces nothing: never raises for it. OpenAI's service gives a `shutdown_date` (YYYY-MM-DD, or
    null) with each model:
    https://developers.openai.com/api/reference/resources/models/methods/list
    """
    deadline = time.monotonic() + SECONDS
    listed: dict[str, Mapping[str, date]] = {}
    for model in dict.fromkeys(models):
        try:
            spec = ModelSpec.parse(model).addressed()
        except InputError:
            continue  # The run refuses it, and says in which option it stands.
        if spec.service is None or spec.service.package:
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
    if key is None and is_providers(url):
        return {}
    sent = {"User-Agent": user_agent(), **headers_for(headers, url, of_model=True)}
    sent |= {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(f"{url}/models", headers=sent)  # noqa: S310 (http or https)
    try:
        reply = HTTP.send(request, deadline, _LIMIT)
        body = orjson.loads(reply.body) if reply.status == 200 and reply.whole else None
    except (ExchangeError, ValueError):
        return {}
    data = body.get("data") if isinstance(body, dict) else None
    days: dict[str, date] = {}
    for model in data if isinstance(data, list) else ():
        if isinstance(model, dict):
            # What is not a name, or not a day, is left out.
            with suppress(KeyError, TypeError, ValueError):
                days[str(model.get("id"))] = date.fromisoformat(model["shutdown_date"])
    return days
