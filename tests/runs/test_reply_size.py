"""However much a server sends, a run keeps little of it, and its time-out holds."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from support.loopback import LoopbackServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("process")]
MOST_MEMORY = 300 * 2**20
# Not `ru_maxrss`, which counts what the process was forked from, too.
_MEASURED = """
from pathlib import Path
from branchwise.__main__ import main
try:
    main()
finally:
    told = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()
    print("PEAK", int(told[0]) * 1024)
"""


def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(2**20)
    return b"".join([*(packer.compress(zeros) for _ in range(1024)), packer.flush()])


class Flood(LoopbackServer):
    """Sends a gibibyte packed, a body that never ends, or a stream that never ends."""

    path = "/v1"
    ends_with_client = True

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what, self.requests = what, 0
        # Made before it is asked for: packing takes seconds.
        self._packed = _bomb() if "gzip" in what else b""

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        await request.read()
        if "gzip" in self._what:
            return web.Response(body=self._packed, headers={"Content-Encoding": "gzip"})
        response = web.StreamResponse()
        await response.prepare(request)
        async for piece in self._pieces():
            await response.write(piece)
        return response

    async def _pieces(self) -> AsyncIterator[bytes]:
        if self._what == "stream":
            delta = {"choices": [{"index": 0, "delta": {"content": "word " * 2000}}]}
            while True:
                yield f"data: {json.dumps(delta)}\n\n".encode()
        yield b'{"choices": [{"message": {"content": "'
        while True:
            yield b"x" * 2**16


@pytest.mark.long
@pytest.mark.parametrize("what", ["gzip", "gzip-stream", "body", "stream"])
def test_a_flood_is_one_failed_question_within_little_memory(what, tmp_path, corpus):
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"id": "q", "question": "Who?", "answers": ["Ana"]}))
    with Flood(what) as server:
        named = ["--questions", questions, "--corpus", corpus, "--out", tmp_path / "R"]
        model = ["--model", f"openai:m@{server.url}", "--timeout", "60"]
        stream = ["--stream"] if "stream" in what else []
        made = subprocess.run(
            [sys.executable, "-c", _MEASURED, "run", *map(str, [*named, *model, *stream])],
            capture_output=True,
            text=True,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            check=False,
        )
        assert server.requests == 1
    assert "the reply is larger than 64 MiB" in made.stderr
    assert made.returncode == 1
    peak = int(made.stdout.rpartition("PEAK ")[2])
    assert peak < MOST_MEMORY, f"{peak / 2**20:.0f} MiB"


def test_a_body_that_never_ends_meets_the_time_out(tmp_path: Path, corpus: Path) -> None:
    """Its pieces come without a pause, so that nothing else would end it before its size does."""
    import asyncio

    from branchwise.agents import reply_stream
    from branchwise.agents.decoding import Decoding
    from branchwise.agents.endpoints import ModelServer
    from branchwise.agents.reply import ModelError
    from branchwise.agents.spec import ModelSpec

    async def ask(url: str) -> None:
        from langchain_core.messages import HumanMessage

        server = ModelServer(ModelSpec.parse(f"openai:m@{url}"), Decoding())
        try:
            await server.complete([HumanMessage("Who?")], (), None, 0.5)
        finally:
            await server.aclose()

    with pytest.MonkeyPatch.context() as patch, Flood("body") as server:
        patch.setattr(reply_stream, "MAX_BYTES", 2**40)
        patch.setenv("NO_PROXY", "127.0.0.1")
        with pytest.raises(ModelError) as failed:
            asyncio.run(ask(server.url))
    assert failed.value.kind == "timeout"
