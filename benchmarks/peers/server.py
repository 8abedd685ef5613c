"""A chat-completions server that takes its time, not the processor's: no client waits for it.

It makes two searches a turn in three turns and then answers, by the conversation alone. It reads
of a request what it needs and keeps nothing, so that beside a client it takes a small part of the
machine.

    python benchmarks/peers/server.py [--delay 0.2]     prints its URL, serves until it is killed
"""

import argparse
import asyncio
import json

from aiohttp import web

SEARCH_TURNS, SEARCHES = 3, 2
TURNS, CALLS = SEARCH_TURNS + 1, SEARCH_TURNS * SEARCHES
ANSWER = json.dumps({"reasoning": "r", "answers": {"default": ["Ann Bell"]}})
USAGE = {"prompt_tokens": 2000, "completion_tokens": 40, "total_tokens": 2040}


def body_of(request: dict[str, object]) -> bytes:
    """The reply to a conversation."""
    messages = request["messages"]
    assert isinstance(messages, list)
    turn = sum(message["role"] == "assistant" for message in messages)
    question = next(message["content"] for message in messages if message["role"] == "user")
    message: dict[str, object] = {"role": "assistant", "content": None}
    if turn < SEARCH_TURNS:
        message["tool_calls"] = [_search(f"{question} {turn} {n}", n) for n in range(SEARCHES)]
    else:
        message["content"] = ANSWER
    finish = "tool_calls" if turn < SEARCH_TURNS else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
    return json.dumps({**head, "choices": [choice], "usage": USAGE}).encode()


def _search(query: str, number: int) -> dict[str, object]:
    function = {"name": "local_retriever", "arguments": json.dumps({"query": query[:200]})}
    return {"id": f"c{number}", "type": "function", "function": function}


class Server:
    """Serves on the loopback; each reply comes `delay` seconds after its request."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self.requests = 0

    async def start(self) -> str:
        """Its URL."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/v1"

    async def _chat(self, request: web.Request) -> web.Response:
        self.requests += 1
        body = body_of(json.loads(await request.read()))
        await asyncio.sleep(self._delay)
        return web.Response(body=body, content_type="application/json")


async def serve(delay: float) -> None:
    """Until killed."""
    print(await Server(delay).start(), flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A server that replies after a delay.")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds")
    asyncio.run(serve(parser.parse_args().delay))


if __name__ == "__main__":
    main()
