"""Whether the packages that serving needs are installed: they come with extras."""

import importlib.util

from branchwise.corpora.errors import InputError

_NEEDED = {"serve": ("starlette", "uvicorn"), "mcp": ("mcp", "starlette", "uvicorn")}


def require_extra(extra: str) -> None:
    """Raise InputError with the command that installs `serve` or `mcp` if it is missing."""
    missing = [name for name in _NEEDED[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"serving needs {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed",
            remedy=f"pip install 'branchwise[{extra}]'",
        )
