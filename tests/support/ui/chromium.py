"""Headless Chromium over its own protocol on a pipe: no driver, no port, no package.

https://chromedevtools.github.io/devtools-protocol/
"""

import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60
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

    def __init__(self, program: str, profile: Path) -> None:
        self.requests, self.complaints = list[str](), list[str]()
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

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Open a page at a size, until it has loaded."""
        self.requests.clear()
        self.complaints.clear()
        self._events.clear()
        screen = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", **screen, mobile=width < 600)
        self.media("screen", dark=dark)
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._read()

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

    def close(self) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._in)
        os.close(self._out)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], PATIENCE)
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
