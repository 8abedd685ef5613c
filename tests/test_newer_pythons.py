"""Nothing that Python 3.12, 3.13 or 3.14 dropped, or says it will drop, is in the product."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rooms import ROOMS

ROOT = Path(__file__).parents[1]
PRODUCT = (*ROOMS, "examples")
MODULES = {
    "3.12": "asynchat asyncore distutils imp pkg_resources smtpd",
    "3.13": "aifc audioop cgi cgitb chunk crypt imghdr lib2to3 mailcap msilib nis nntplib "
    "ossaudiodev pipes sndhdr spwd sunau telnetlib uu xdrlib",
}
"""Modules that are gone since; pkg_resources, of setuptools, came with Python until 3.12."""
NAMES = {
    "3.12": r"datetime\.utc(now|fromtimestamp) \w+\.link_to ssl\.(wrap_socket|match_hostname) "
    r"configparser\.SafeConfigParser pkgutil\.ImpImporter locale\.format",
    "3.13": r"locale\.resetlocale re\.template typing\.(io|re) unittest\.makeSuite "
    r"configparser\.LegacyInterpolation importlib\.resources\.(open_text|read_text|path|contents)",
    "3.14": r"ast\.(Num|Str|Bytes|NameConstant|Ellipsis) asyncio\.get_event_loop "
    r"asyncio\.(get|set)_event_loop_policy asyncio\.iscoroutinefunction asyncio\.\w*ChildWatcher "
    r"pkgutil\.(find|get)_loader importlib\.abc\.(Traversable|ResourceReader) codecs\.open "
    r"sqlite3\.version(_info)? (typing|collections\.abc)\.ByteString urllib\.request\.\w*URLopener "
    r"pty\.(master|slave)_open",
    "3.15": r"locale\.getdefaultlocale typing\.no_type_check_decorator sre_\w+ platform\.java_ver",
}
"""Patterns of dotted names that are gone, or warn, since."""
_DROPPED = re.compile(rf"(?<!\w)(?:{'|'.join(' '.join(NAMES.values()).split())})$")
KEYWORDS = {"shutil.rmtree": "onerror"}
"""Arguments that warn, by call."""
UNLIKE = {
    "extractall": "filter",
    "ProcessPoolExecutor": "mp_context",
    "multiprocessing.Pool": "",
    "multiprocessing.Process": "",
}
"""Calls that do something else on 3.14 unless an argument says which ("": none can)."""


def product() -> list[Path]:
    return [path for name in PRODUCT for path in sorted((ROOT / name).rglob("*.py"))]


def faults(tree: ast.Module) -> Iterator[str]:
    """What in a module's source newer Pythons drop or change."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        elif isinstance(node, ast.Attribute):
            yield from _named(ast.unparse(node))
        elif isinstance(node, ast.Call):
            yield from _called(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _unguarded(node)
        elif isinstance(node, ast.Try):
            ends = (ast.Return, ast.Break, ast.Continue)
            inside = (inner for line in node.finalbody for inner in ast.walk(line))
            yield from ("leaves finally" for inner in inside if isinstance(inner, ends))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""] if not node.level else []
        yield from (fault for one in node.names for fault in _named(f"{node.module}.{one.name}"))
    else:
        names = [one.name for one in node.names]
    gone = {module for modules in MODULES.values() for module in modules.split()}
    yield from (name for name in names if name.partition(".")[0] in gone)


def _named(dotted: str) -> Iterator[str]:
    if _DROPPED.search(dotted):
        yield dotted


def _called(node: ast.Call) -> Iterator[str]:
    name, given = ast.unparse(node.func), {keyword.arg for keyword in node.keywords}
    if KEYWORDS.get(name) in given - {None}:
        yield name
    wanted = next((UNLIKE[one] for one in UNLIKE if name.endswith(one)), None)
    if wanted is not None and wanted not in given:
        yield name


def _unguarded(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """`issubclass` raises on 3.13 for a generic; it was False before."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    for call in (one for one in calls if getattr(one.func, "id", "") == "issubclass"):
        of = ast.unparse(call.args[0])
        # A warning's category is a class.
        if f"isinstance({of}, type)" not in ast.unparse(function) and not of.endswith(".category"):
            yield f"issubclass({of}, ...)"


@pytest.mark.parametrize(
    "source",
    [
        "import imp", "import cgi.x", "from pipes import quote", "from ast import Num",
        "datetime.datetime.utcnow()", "asyncio.get_event_loop()", "path.link_to(other)",
        "archive.extractall(at)", "ProcessPoolExecutor(2)", "shutil.rmtree(p, onerror=f)",
        "def f(a):\n return issubclass(a, B)", "try:\n pass\nfinally:\n return",
        "from typing import ByteString", "locale.getdefaultlocale()", "import pkg_resources",
    ],
)  # fmt: skip
def test_each_kind_is_seen(source: str) -> None:
    assert list(faults(ast.parse(source)))


@pytest.mark.slow
def test_the_product_uses_nothing_that_newer_pythons_drop() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {fault}"
        for path in product()
        for fault in faults(ast.parse(path.read_text("utf-8")))
    }
    assert found == set()


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_every_module_compiles_and_is_imported_without_a_warning() -> None:
    packages = {
        name: "branchwise" if name == "branchwise" else f"branchwise.{name}" for name in PRODUCT
    }
    modules = [
        ".".join([packages[top], *path.relative_to(ROOT / top).with_suffix("").parts])
        for top in PRODUCT
        if top != "examples"
        for path in sorted((ROOT / top).rglob("*.py"))
        if path.stem not in ("__init__", "__main__")
    ]
    code = (
        "import importlib, sys, warnings\n"
        "warnings.filterwarnings('error', category=DeprecationWarning, module='branchwise')\n"
        "for path in sys.stdin.readline().split():\n"
        "    with open(path, 'rb') as file:\n"
        "        warnings.simplefilter('error', SyntaxWarning)\n"
        "        compile(file.read(), path, 'exec')\n"
        "for name in sys.stdin.readline().split():\n"
        "    importlib.import_module(name)\n"
    )
    given = " ".join(map(str, product())) + "\n" + " ".join(modules) + "\n"
    command = (sys.executable, "-c", code)
    ended = subprocess.run(command, input=given, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
