"""Model specs as users write them."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.spec import ModelSpec, check_ready, suggested
from branchwise.base.errors import InputError
from support.ports import unused_port


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("offline", ModelSpec("offline", "offline", None)),
        ("openai:gpt-6-luna", ModelSpec("openai", "gpt-6-luna", None)),
        (
            "openai:Qwen/Qwen3-8B@http://localhost:8000/v1",
            ModelSpec("openai", "Qwen/Qwen3-8B", "http://localhost:8000/v1"),
        ),
        ("openai:m@x@https://host/v1", ModelSpec("openai", "m@x", "https://host/v1")),
        (
            "openai:llama3:8b@http://[::1]:11434/v1",
            ModelSpec("openai", "llama3:8b", "http://[::1]:11434/v1"),
        ),
    ],
)
def test_a_spec_is_read_and_written_back(text, spec):
    assert ModelSpec.parse(text) == spec
    assert str(spec) == text
    assert not spec.base_url or ModelSpec.parse(f"{text}/") == spec


@pytest.mark.parametrize(
    ("text", "meant"),
    [("gpt-6-luna", "openai:gpt-6-luna"), ("a/b.c", "openai:a/b.c"), ("offlin", "offline")],
)
def test_a_bare_name_is_taken_for_a_model_of_openais_kind(text, meant):
    assert suggested(text) == meant
    with pytest.raises(InputError, match=rf"did you mean {meant}\?"):
        ModelSpec.parse(text)


@pytest.mark.parametrize("text", ["", "sk-abc123", "two words", "x:y", "-x", "m@host"])
def test_what_is_no_name_or_may_be_a_secret_is_not_suggested(text):
    assert suggested(text) is None


EXAMPLES = r"openai:gpt-6-luna.*offline"
KEY = "--key HOST=VARIABLE"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, EXAMPLES) for text in ("", "gpt-6.2-sol", "openai:", "openai: x", "Offline")),
        *((text, EXAMPLES) for text in ("anthropics:claude", "openai:m@ftp://h", "openai:m@")),
        ("sk-verysecretkey", "."), ("opena:m@http://me:verysecret@host/v1", "."),
        ("openai:m@http://me:secret@host/v1", KEY), ("openai:m@http://secret@h/v1", KEY),
        ("openai:m@http://host/v1?key=secret", KEY), ("openai:m@http://h/v1#secret", KEY),
        *((f"openai:m@http://{host}/v1", "host and port") for host in ("host:99999", "", "[::1")),
    ],
)  # fmt: skip
def test_what_is_no_spec_is_refused_and_no_secret_repeated(text, said):
    with pytest.raises(InputError, match=said) as refused:
        ModelSpec.parse(text)
    assert "secret" not in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_a_spec_that_round_trips_or_bad_input(text):
    try:
        spec = ModelSpec.parse(text)
    except InputError:
        return
    assert ModelSpec.parse(str(spec)) == spec


def test_openai_needs_a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set"):
        check_ready(ModelSpec.parse("openai:gpt-6-luna"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    check_ready(ModelSpec.parse("openai:gpt-6-luna"))


def test_behind_a_proxy_the_server_itself_is_not_connected(monkeypatch):
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        check_ready(ModelSpec.parse("openai:m@https://models.invalid/v1"))


def test_a_server_of_ones_own_must_listen_but_needs_no_key(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    port = unused_port()
    with socket.create_server(("127.0.0.1", port)):
        spec = ModelSpec.parse(f"openai:m@http://127.0.0.1:{port}/v1")
        check_ready(spec)
    with pytest.raises(InputError, match="nothing answers at http"):
        check_ready(spec)


@pytest.mark.parametrize("key", ["sk-abc\nsk-def", "sk-abc def", "“sk-abc”", "sk-abc\x01"])
def test_a_key_that_no_request_can_carry_is_refused_and_not_repeated(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    for spec in (
        "openai:m",
        "openai:m@http://127.0.0.1:9/v1",
        "openai:m@https://api.openai.com/v1",
    ):
        with pytest.raises(InputError, match="OPENAI_API_KEY holds") as refused:
            check_ready(ModelSpec.parse(spec))
        assert "abc" not in str(refused.value)
