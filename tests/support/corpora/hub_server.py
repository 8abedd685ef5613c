"""A hub of data sets on the loopback, as `datasets` asks it: cards, listings, files."""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_REVISION = "a" * 40


@contextmanager
def hub(name: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Serve a set of that name (`me/films`) with these files; gives the hub's address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(name, files))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(name: str, files: Mapping[str, bytes]) -> type[BaseHTTPRequestHandler]:
    listed = [
        {"type": "file", "path": path, "size": len(data), "oid": _digest(data)}
        for path, data in files.items()
    ]
    described = {"id": name, "sha": _REVISION, "private": False, "gated": False, "tags": []}
    described["siblings"] = [{"rfilename": path} for path in files]

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._reply()

        def do_GET(self) -> None:
            self._reply()

        def log_message(self, *_: object) -> None: ...

        def _reply(self) -> None:
            data, tag = self._found()
            self.send_response(200 if data is not None else 404)
            self.send_header("Content-Length", str(len(data or b"")))
            if tag:
                self.send_header("ETag", f'"{tag}"')
                self.send_header("X-Repo-Commit", _REVISION)
            self.end_headers()
            if data and self.command == "GET":
                self.wfile.write(data)

        def _found(self) -> tuple[bytes | None, str]:
            path = self.path.partition("?")[0]
            files_at, tree_at = f"/datasets/{name}/resolve/", f"/api/datasets/{name}/tree/"
            if path.startswith(files_at):
                data = files.get(path.removeprefix(files_at).partition("/")[2])
                return data, _digest(data) if data is not None else ""
            if path.startswith(tree_at):
                folder = path.removeprefix(tree_at).partition("/")[2]
                found = [one for one in listed if str(one["path"]).startswith(f"{folder}/")]
                return json.dumps(found).encode(), ""
            if path.startswith(f"/api/datasets/{name}"):
                return json.dumps(described).encode(), ""
            return None, ""

    return Handler


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
