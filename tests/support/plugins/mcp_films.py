"""An MCP server made with the reference SDK: `python mcp_films.py [PORT]`, stdio without a port."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from mcp.server.fastmcp import FastMCP

app = FastMCP("films", instructions="Ask film_year for years.")
app._mcp_server.version = "1.2.3"


@app.tool()
def film_year(title: str, exact: bool = True) -> str:
    """Year a film was released."""
    return {"Heat": "1995"}.get(title, "unknown")


@app.tool()
def odd(config: str, runtime: str, callbacks: int) -> str:
    """Arguments whose names mean something to others."""
    return f"{config} {runtime} {callbacks}"


@app.tool()
def surroundings() -> dict[str, str]:
    """The environment, and the process."""
    return {**os.environ, "pid": str(os.getpid())}


@app.tool()
async def waits(mark: str) -> str:
    """Waits until it is cancelled, and leaves a mark then, as it does when it begins."""
    # Of a pipe this waits for its reader; nothing else waits for this server.
    Path(f"{mark}-begun").open("w").close()  # noqa: ASYNC230
    try:
        await asyncio.sleep(1000)
    finally:
        Path(mark).touch()  # noqa: ASYNC240 - nothing else waits for this server
    return ""


@app.tool()
def blocks() -> str:
    """Holds the whole server."""
    time.sleep(1000)
    return ""


@app.tool()
def dies() -> str:
    """Ends the server."""
    sys.stderr.write("the film burnt\n")
    sys.stderr.flush()
    os._exit(3)


if __name__ == "__main__":
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if sys.argv[-1].isdigit():
        app.settings.port = int(sys.argv[-1])
        app.run("streamable-http")
    else:
        app.run()
        if "--stubborn" in sys.argv:
            time.sleep(1000)
