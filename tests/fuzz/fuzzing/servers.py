"""A server on the loopback that answers every request with the bytes that it is given."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Answer(NamedTuple):
    body: bytes
    media: str = "application/json"
    status: int = 200


class AnyAnswer:
    """`answer`: what all requests get, or what makes an answer from a request's body."""

    def __init__(self) -> None:
        self.answer: Answer | Callable[[bytes], Answer] = Answer(b"")
        self.url = ""

    def _to(self, request: bytes) -> Answer:
        return self.answer if isinstance(self.answer, Answer) else self.answer(request)


@contextmanager
def serving() -> Iterator[AnyAnswer]:
    """A server at work until the end of the block."""
    answers = AnyAnswer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # A response in two writes would wait for the client to acknowledge the first.
        wbufsize = -1

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            answer = answers._to(self.rfile.read(length))
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.media)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_DELETE = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that has read enough hangs up."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    answers.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield answers
    finally:
        server.shutdown()
        server.server_close()
