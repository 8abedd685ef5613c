"""Headless Chromium over its own protocol on a pipe: no driver, no port, no package.

https://chromedevtools.github.io/devtools-protocol/
"""

import json
import os
import select
import shutil
import subprocess
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip


def find_chromium() -> str | None:
    """The browser's path; $CHROMIUM is one elsewhere."""
    named = os.environ.get("CHROMIUM")
    return next(filter(None, map(shutil.which, [*([named] if named else []), *NAMES])), None)


class Chromium:
    """One browser with one page. Requests, console messages and uncaught errors are kept."""

    def __init__(self, program: str, profile: Path, patience: float = 60) -> None:
        self.patience, self.requests, self.complaints = patience, list[str](), list[str]()
        self._number, self._rest, self._session = 0, b"", None
        self._events: list[dict[str, Any]] = []
        to_browser, ours = os.pipe()
        theirs, from_browser = os.pipe()[::-1]
        self._in, self._out = ours, from_browser

        def as_3_and_4() -> None:
            # Through high numbers, so that neither is overwritten before it is copied.
            os.dup2(to_browser, 50)
            os.dup2(theirs, 51)
            os.dup2(50, 3)
            os.dup2(51, 4)

        self._process = subprocess.Popen(
            [program, *_FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=as_3_and_4, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(theirs)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "Security"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask, and read until the answer is there."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._in, json.dumps(message).encode() + b"\0")
        while True:
            got = self._read()
            if got.get("id") == self._number:
                assert "error" not in got, (method, got)
                return got["result"]

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> float:
        """Open a page at a size; the seconds until it has loaded."""
        self.requests.clear()
        self.complaints.clear()
        self._events.clear()
        self.size(width, height)
        self.media("screen", dark=dark)
        begun = time.monotonic()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._read()
        return time.monotonic() - begun

    def size(self, width: int, height: int) -> None:
        """Change the size of the page."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def media(self, medium: str, *, dark: bool = False) -> None:
        """`screen` or `print`, and which colours the reader prefers."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=medium, features=features)

    def run(self, expression: str) -> Any:
        """The JSON value of an expression in the page; promises are awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """A picture of what is to be seen, or of the whole page."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(b64decode(found["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed on A4."""
        self.media("print")
        found = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        return b64decode(found["data"])

    def close(self) -> None:
        """End the browser, and wait for it."""
        self._session = None
        self.call("Browser.close")
        self._process.wait(self.patience)
        os.close(self._in)
        os.close(self._out)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], self.patience)
            assert ready, "the browser says nothing"
            more = os.read(self._out, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        got: dict[str, Any] = json.loads(line)
        self._note(got)
        return got

    def _note(self, got: dict[str, Any]) -> None:
        method, params = got.get("method"), got.get("params", {})
        if method is None:
            return
        self._events.append(got)
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(str(params["entry"]))
