"""A proxy or a certificate file of the environment that does not work: one line before any work."""

import json
from typing import Any

import pytest

from branchwise.__main__ import main

COMMANDS = {
    "model": ("ask", "Who?", "--model", "openai:m@https://models.invalid/v1"),
    "openai": ("ask", "Who?", "--model", "openai:m"),
    "retriever": ("corpus", "search", "Heat", "--retriever", "http:https://search.invalid/r"),
    "endpoint": ("kg", "query", "https://graph.invalid/sparql", "SELECT ?x WHERE { ?x ?y 1 }"),
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def _refusal(command: str) -> str:
        monkeypatch.setattr("sys.argv", ["branchwise", *COMMANDS[command]])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        return capsys.readouterr().err

    return _refusal


@pytest.mark.parametrize("command", COMMANDS)
def test_a_dead_proxy_is_named_without_its_password(refusal, monkeypatch, command):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:a-password@127.0.0.1:9")
    said = refusal(command)
    assert said.startswith(
        "branchwise: HTTPS_PROXY: nothing answers at the proxy http://***@127.0.0.1:9 "
        "(Connection refused); correct or unset it, or name "
    )
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("proxy", ["htp:/x", "http://", "ftp://h", "http://h:x", "http://[::1"])
def test_what_is_no_proxy_is_named(refusal, monkeypatch, command, proxy):
    monkeypatch.setenv("https_proxy", proxy)
    said = refusal(command)
    assert said.startswith("branchwise: https_proxy: ")
    assert "is not the address of a proxy" in said or "nothing answers at the proxy" in said
    assert said.count("\n") == 1


def test_all_proxy_is_for_models(refusal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    assert "ALL_PROXY: nothing answers at the proxy socks5://127.0.0.1:9" in refusal("openai")


def test_an_address_that_needs_no_proxy_is_asked_without(refusal, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "models.invalid")
    assert "nothing answers at https://models.invalid" in refusal("model")


@pytest.mark.parametrize("command", COMMANDS)
def test_certificates_that_are_not_there_are_named(refusal, monkeypatch, tmp_path, command):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    where = f"SSL_CERT_FILE={tmp_path}/none.pem"
    assert refusal(command) == f"branchwise: {where}: does not exist; correct it\n"
    (tmp_path / "none.pem").write_text(json.dumps({}))
    assert refusal(command).startswith(f"branchwise: {where}: holds no certificates that can be")
