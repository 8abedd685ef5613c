"""What `branchwise tools new` writes: a tool that works, and its test."""

import importlib.util
import keyword
import sys
from importlib.resources import files
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.tools.registry import known_tools

MAX_NAME_CHARS = 64


def write_tool(name: str, folder: Path) -> tuple[Path, Path]:
    """Write `NAME.py` and `test_NAME.py`; returns their paths.

    Raises InputError for a name that cannot be both a tool's and a module's, and if one of the
    files exists: nothing is overwritten.
    """
    _check_name(name)
    paths = folder / f"{name}.py", folder / f"test_{name}.py"
    texts = [_filled(template, name) for template in ("new_tool.py.txt", "new_tool_test.py.txt")]
    for path in paths:
        if path.exists() or path.is_symlink():
            raise InputError(
                "already exists and is not overwritten",
                where=str(path),
                remedy="choose another name, or another folder with --out",
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts, strict=True):
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise InputError(
            f"cannot be written: {error.strerror}", where=str(folder), remedy="see --out"
        ) from None
    return paths


def _filled(template: str, name: str) -> str:
    text = (files("branchwise.commands") / template).read_text(encoding="utf-8")
    return text.format(name=name, file=f"{name}.py")


def _check_name(name: str) -> None:
    """A name is a tool's, a function's and a module's at once."""
    wrong = None
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        wrong = "is not a valid function name"
    elif len(name) > MAX_NAME_CHARS or name.startswith(("_", "test_")):
        wrong = (
            f"is not a valid tool name (at most {MAX_NAME_CHARS} characters, no _ or test_ first)"
        )
    elif name in known_tools():
        wrong = "is a built-in tool"
    elif name in sys.builtin_module_names or name in sys.stdlib_module_names or _is_module(name):
        wrong = "is an installed module: the test could not import the tool"
    elif name in ("tool", "settings", "Settings", "ToolError", "BaseModel", "asyncio"):
        wrong = "is a name that the generated file uses itself"
    if wrong:
        raise InputError(f"{name[:80]!r} {wrong}", remedy="choose one like film_year")


def _is_module(name: str) -> bool:
    """Whether a module of that name is installed; the working folder is checked later."""
    found = importlib.util.find_spec(name)
    origin = Path(found.origin) if found and found.origin else None
    return found is not None and not (origin and origin.parent == Path.cwd())
