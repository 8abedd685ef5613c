"""What extras bring, beyond `pip install branchwise`: one line says what is missing."""

import importlib.util
from collections.abc import Iterable, Mapping

from branchwise.base.errors import InputError

_MODULES: Mapping[str, tuple[str, ...]] = {
    "local": ("sentence_transformers", "faiss"),
    "flashrag": ("flashrag",),
    "mcp": ("mcp", "langchain_mcp_adapters", "starlette", "uvicorn"),
    "serve": ("starlette", "uvicorn"),
    "parquet": ("pyarrow",),
    "datasets": ("datasets",),
    "notebook": ("pandas",),
    "ray": ("ray",),
}


def missing(modules: Iterable[str]) -> list[str]:
    """Those of the modules that are not installed."""
    return [name for name in modules if importlib.util.find_spec(name) is None]


def require(
    extra: str, doing: str, where: str | None = None, modules: tuple[str, ...] = ()
) -> None:
    """Raise InputError with the command that installs `extra` where a module of it is missing.

    `doing`: what needs them, to begin the line. `modules`: those that this needs, by default all
    of the extra.
    """
    lacking = missing(modules or _MODULES[extra])
    if lacking:
        names = " and ".join(filter(None, (", ".join(lacking[:-1]), lacking[-1])))
        raise InputError(
            f"{doing} needs {names}, which {'is' if len(lacking) == 1 else 'are'} not installed",
            where=where,
            remedy=f"pip install 'branchwise[{extra}]'",
        )
