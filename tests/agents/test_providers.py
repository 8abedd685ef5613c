"""Anthropic's, Google's and Mistral's models, asked by their protocols as OpenAI's are."""

import asyncio
import json
from dataclasses import replace

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.refusals import forget_refusals
from branchwise.agents.reply import Completion, ModelError
from branchwise.agents.spec import ModelSpec, check_ready, suggested
from branchwise.base import errors
from branchwise.base.errors import InputError
from branchwise.base.keys import Keys
from branchwise.trace.parts import Usage
from support import provider_server as replies
from support.agents.asking import KEY, QUESTION, RecordingJournal, Waits, ask, error_of
from support.agents.asking import local_retriever as search
from support.chat_server import Answer, call, calls, cut, hang, say
from support.ports import unused_port
from support.provider_server import KEY_HEADERS, PROVIDERS, ProviderServer, failed

each = pytest.mark.parametrize("provider", PROVIDERS)
SCHEMA = {"type": "object", "properties": {"answers": {"type": "object"}}}
COUNTS = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
    "completion_tokens_details": {"reasoning_tokens": 20},
}


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    forget_refusals()
    with ProviderServer() as started:
        yield started


@pytest.fixture
def caller_of(server, monkeypatch):
    monkeypatch.setenv("OWN_KEY", KEY)

    def make(provider, *, name="scripted", **decoding):
        spec = ModelSpec.parse(server.model(provider, name))
        keys = Keys({server.host: "OWN_KEY"})
        settings = Decoding(**{"attempts": 1, "timeout": 20.0, **decoding})
        return ModelCaller(spec, settings, Prompts.load(), keys=keys, sleep=Waits())

    return make


@each
async def test_a_turn_with_parallel_calls_goes_there_and_back(server, caller_of, provider):
    first = calls(("local_retriever", {"query": "Heat"}), ("local_retriever", {"query": "Ran"}))
    server.play([replace(first, reasoning_content="I search.", usage=COUNTS), say("Mann")])
    caller = caller_of(provider, name="gemini-3-x")
    reply = await ask(caller, tools=[search])
    assert [one["args"] for one in reply.tool_calls] == [{"query": "Heat"}, {"query": "Ran"}]
    assert (reply.finish, reply.reasoning) == ("tool_calls", "I search.")
    written = {"anthropic": 100}.get(provider, 100 if provider == "mistral" else 0)
    reasoning = 0 if provider == "anthropic" else 20
    assert reply.usage == Usage(1000, 50, 600, reasoning, written)
    results = [ToolMessage(f"found {n}", tool_call_id=one["id"], name="local_retriever")
               for n, one in enumerate(reply.tool_calls)]  # fmt: skip
    messages = [*QUESTION, reply.message, *results]
    last = await ask(caller, messages=messages, tools=[search])
    await caller.aclose()
    assert (last.text, last.finish) == ("Mann", "stop")
    sent = json.dumps(server.requests[1])
    assert sent.index("found 0") < sent.index("found 1")
    # Mistral's messages have no place for it beside calls.
    assert ("I search." in sent) == (provider != "mistral")
    assert [headers[KEY_HEADERS[provider]].removeprefix("Bearer ") for headers in server.headers] \
        == [KEY, KEY]  # fmt: skip


@each
async def test_settings_have_their_names_of_the_protocol(server, caller_of, provider):
    server.play([say("ok"), say("ok")])
    caller = caller_of(
        provider, temperature=0.5, top_p=0.9, max_tokens=77, reasoning_effort="low",
        extra_body={"cache_control": {"type": "ephemeral"}} if provider == "anthropic" else {},
    )  # fmt: skip
    await ask(caller, schema=SCHEMA)
    bare = caller_of(provider)
    await ask(bare)
    await caller.aclose()
    await bare.aclose()
    full, least = server.requests
    if provider == "google":
        assert full["generationConfig"] == {
            "candidateCount": 1, "temperature": 0.5, "topP": 0.9, "maxOutputTokens": 77,
            "thinkingConfig": {"thinkingLevel": "low"},
            "responseMimeType": "application/json", "responseJsonSchema": SCHEMA,
        }  # fmt: skip
        assert least["generationConfig"] == {"candidateCount": 1}
        return
    assert (full["temperature"], full["top_p"], full["max_tokens"]) == (0.5, 0.9, 77)
    assert least.keys().isdisjoint({"temperature", "top_p", "output_config", "reasoning_effort"})
    if provider == "anthropic":
        formatted = {"type": "json_schema", "schema": SCHEMA}
        assert full["output_config"] == {"effort": "low", "format": formatted}
        assert full["cache_control"] == {"type": "ephemeral"}
        assert least["max_tokens"] > 0
    else:
        assert full["reasoning_effort"] == "low"
        assert full["response_format"]["json_schema"]["schema"] == SCHEMA


@pytest.mark.parametrize(("provider", "path"), [("google", "generationConfig"), ("mistral", "")])
async def test_a_seed_goes_where_there_is_one(server, caller_of, provider, path):
    server.play([say("ok")])
    caller = caller_of(provider, seed=7)
    await ask(caller)
    await caller.aclose()
    (body,) = server.requests
    assert (body[path]["seed"] if path else body["random_seed"]) == 7


@pytest.mark.parametrize(
    ("provider", "setting", "said"),
    [
        ("anthropic", {"seed": 1}, "anthropic has no seed"),
        *((provider, {"stream": True}, "whole replies alone") for provider in PROVIDERS),
        *((provider, {"api": "responses"}, "its own protocol") for provider in PROVIDERS),
    ],
)
def test_what_a_protocol_lacks_is_refused_before_anything_is_asked(
    caller_of, provider, setting, said
):
    with pytest.raises(InputError, match=said):
        caller_of(provider, **setting)


ENDS = {
    "anthropic": [("max_tokens", "length"), ("refusal", "refusal"), ("end_turn", "stop"),
                  ("model_context_window_exceeded", "length"), ("pause_turn", "stop")],
    "google": [("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("STOP", "stop"),
               ("RECITATION", "content_filter"), ("PROHIBITED_CONTENT", "content_filter")],
    "mistral": [("length", "length"), ("model_length", "length"), ("stop", "stop")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "finish", "meaning"), [(p, *end) for p, ends in ENDS.items() for end in ends]
)
async def test_the_end_of_a_reply_is_read_by_what_it_means(
    server, caller_of, provider, finish, meaning
):
    server.play([say("so far", finish=finish)])
    caller = caller_of(provider)
    reply = await ask(caller)
    await caller.aclose()
    assert (reply.text, reply.finish) == ("so far", meaning)


async def test_a_conversation_that_google_blocks_is_filtered(server, caller_of, capfd):
    blocked = {"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 9}}
    server.play([Answer(raw=json.dumps(blocked)), Answer(raw='{"candidates": []}')])
    caller = caller_of("google")
    reply = await ask(caller)
    assert (reply.text, reply.finish) == ("", "content_filter")
    assert (await error_of(caller)).kind == "invalid_response"
    await caller.aclose()
    assert capfd.readouterr().err == ""


@each
@pytest.mark.parametrize(
    ("status", "words", "kind", "retried"),
    [
        (429, "Too many requests", "rate_limit", True),
        (529, "Overloaded", "server", True),
        (500, "Internal error", "server", True),
        (401, "invalid key", "auth", False),
        (403, "not permitted", "auth", False),
        (404, "model: scripted", "not_found", False),
        (400, "prompt is too long: 200001 tokens > 200000 maximum", "context_length", False),
        (400, "Your credit balance is too low to access the API", "credit", False),
        (400, "API key not valid. Please pass a valid API key.", "auth", False),
        (413, "Request exceeds the maximum size", "context_length", False),
        (400, "messages: wrong", "bad_request", False),
    ],
)
async def test_errors_mean_what_openais_do(
    server, caller_of, provider, status, words, kind, retried
):
    server.play([failed(provider, status, f"{words} {KEY}", retry_after="3")])
    caller = caller_of(provider)
    error = await error_of(caller)
    await caller.aclose()
    assert (error.kind, error.status, error.retryable) == (kind, status, retried)
    assert words in str(error)
    assert KEY not in str(error)
    assert error.retry_after == (3.0 if retried else None)
    assert error.__cause__ is None
    assert "OWN_KEY" in str(error) or status != 401


async def test_google_says_in_the_body_when_to_ask_again(server, caller_of):
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
    error = {"code": 429, "message": "Please retry in 7.5s.", "details": [detail]}
    server.play([Answer(status=429, raw=json.dumps({"error": error}))])
    caller = caller_of("google")
    assert (await error_of(caller)).retry_after == 7.5
    await caller.aclose()


@each
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer(raw='{"content": ['), "invalid_response"),
        (Answer(raw="{}"), "invalid_response"),
        (Answer(raw='{"content": 7, "candidates": 7, "choices": 7}'), "invalid_response"),
        (Answer(raw='{"error": {"message": "broken inside"}}'), "server"),
        (cut("before"), "connection"),
        (cut("middle"), "cut"),
    ],
    ids=["half", "empty", "odd", "error", "before", "middle"],
)
async def test_what_is_no_response_is_asked_for_again(server, caller_of, provider, answer, kind):
    server.play([answer, say("Mann")])
    caller = caller_of(provider, attempts=2)
    journal = RecordingJournal()
    reply = await ask(caller, journal)
    await caller.aclose()
    assert reply.text == "Mann"
    ((event, retry),) = journal.events
    assert (event, retry["kind"]) == ("retry", kind)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)  # fmt: skip
FULL = replace(
    calls(("local_retriever", {"query": "Heat"})),
    content="Mann", reasoning_content="Hm.", usage=COUNTS,
)  # fmt: skip


def places_in(body, path=()):
    """Where something stands in a body, at any depth."""
    for key, value in body.items() if isinstance(body, dict) else enumerate(body):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places_in(value, (*path, key))


@pytest.mark.long
@each
@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_part_of_a_response_may_be_anything(server, caller_of, provider, data):
    body = json.loads(json.dumps(replies.REPLIES[provider](FULL, COUNTS)))
    *path, last = data.draw(st.sampled_from(sorted(places_in(body), key=str)))
    inner = body
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(ANY)
    server.play([Answer(raw=json.dumps(body))])
    caller, journal = caller_of(provider), RecordingJournal()

    async def asked():
        try:
            await ask(caller, journal, tools=[search])
        except ModelError as error:
            return error.kind
        finally:
            await caller.aclose()

    assert asyncio.run(asked()) in (None, "invalid_response", "interrupted", "server")
    for payload in journal.kept.values():
        assert Completion.from_payload(orjson.loads(orjson.dumps(payload))).payload(0.0)


async def test_no_connection_is_a_server_that_is_gone(monkeypatch):
    for provider in PROVIDERS:
        spec = ModelSpec.parse(f"{provider}:m@http://127.0.0.1:{unused_port()}")
        caller = ModelCaller(spec, Decoding(attempts=1), Prompts.load())
        error = await error_of(caller)
        await caller.aclose()
        assert (error.kind, error.sign) == ("connection", "gone")


@each
async def test_a_reply_that_does_not_come_is_not_waited_for(server, caller_of, provider):
    server.play([hang()])
    caller = caller_of(provider, timeout=0.1)
    assert (await error_of(caller)).kind == "timeout"
    await caller.aclose()


async def test_calls_that_cannot_be_read_go_back_with_what_is_said_of_them(server, caller_of):
    server.play([calls(("local_retriever", '{"query": "He')), say("Mann")])
    caller = caller_of("mistral")
    reply = await ask(caller, tools=[search])
    (broken,) = reply.invalid_tool_calls
    assert (broken["args"], reply.finish) == ('{"query": "He', "tool_calls")
    answered = ToolMessage("no JSON", tool_call_id=broken["id"], name="local_retriever")
    for provider in PROVIDERS:
        server.play([say("Mann")])
        other = caller_of(provider, name="gemini-3-x")
        last = await ask(other, messages=[*QUESTION, reply.message, answered], tools=[search])
        await other.aclose()
        assert last.text == "Mann"
    await caller.aclose()


@each
async def test_a_field_that_a_model_refuses_is_left_out_and_told(server, caller_of, provider):
    words = "`temperature` is deprecated for this model."
    server.play([failed(provider, 400, words), say("Mann"), say("Mann")])
    caller = caller_of(provider, temperature=0.0)
    reply = await ask(caller)
    await ask(caller)
    await caller.aclose()
    assert reply.left_out == ("temperature",)
    assert ["0.0" in json.dumps(body) for body in server.requests] == [True, False, False]


@each
async def test_tools_may_be_described_in_the_text(server, caller_of, provider):
    text = '```tool_call\n{"name": "local_retriever", "arguments": {"query": "Heat"}}\n```'
    server.play([say(text)])
    caller = caller_of(provider, tool_protocol="text")
    reply = await ask(caller, tools=[search])
    await caller.aclose()
    assert "tools" not in server.requests[0]
    assert [one["args"] for one in reply.tool_calls] == [{"query": "Heat"}]


@each
async def test_a_key_goes_to_its_own_host_alone(server, caller_of, provider, monkeypatch):
    for name in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    server.play([say("ok")])
    spec = ModelSpec.parse(server.model(provider))
    caller = ModelCaller(spec, Decoding(attempts=1), Prompts.load())
    await ask(caller)
    await caller.aclose()
    assert KEY not in json.dumps([server.headers, server.paths])


def test_each_provider_has_a_variable(monkeypatch):
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    names = {"anthropic:m": "ANTHROPIC", "google:m": "GOOGLE", "groq:m": "GROQ"}
    for spec, variable in names.items():
        with pytest.raises(InputError, match=f"no key for {spec}: {variable}_API_KEY is not set"):
            check_ready(ModelSpec.parse(spec))
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    check_ready(ModelSpec.parse("google:m"))
    assert Keys().variable(ModelSpec.parse("google:m").url, of_model=True) == "GEMINI_API_KEY"
    assert Keys().variable("http://api.anthropic.com", of_model=True) is None
    assert Keys().variable("https://api.anthropic.com.example", of_model=True) is None
    assert Keys().variable("https://api.groq.com/openai/v1") is None


def test_a_missing_package_is_said_with_its_extra(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setattr(errors, "missing", list)
    with pytest.raises(InputError, match="langchain_anthropic, which is not installed") as refused:
        check_ready(ModelSpec.parse("anthropic:claude-opus-5"))
    assert refused.value.remedy == "pip install 'branchwise[anthropic]'"


def test_a_bare_name_is_taken_for_its_makers():
    assert suggested("claude-opus-5") == "anthropic:claude-opus-5"
    assert suggested("gemini-3.5-flash") == "google:gemini-3.5-flash"


async def test_a_call_of_a_provider_of_openais_protocol_is_made_as_openais(server, caller_of):
    server.play([call("local_retriever", query="Heat")])
    spec = ModelSpec.parse(f"groq:llama@{server.url}/v1")
    caller = ModelCaller(spec, Decoding(attempts=1), Prompts.load())
    reply = await ask(caller, tools=[search])
    await caller.aclose()
    assert caller.identity["model"] == "groq:llama"
    assert [one["args"] for one in reply.tool_calls] == [{"query": "Heat"}]
