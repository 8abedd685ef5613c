"""Nothing that Python 3.12, 3.13 or 3.14 dropped, or says it will drop, is in the product.

Sources: "Removed" and "Deprecated" of https://docs.python.org/3/whatsnew/3.12.html, 3.13.html and
3.14.html. Calls that warn are errors in every test (pytest's `filterwarnings`).
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rooms import ROOMS, ROOT

MODULES = (
    "asynchat asyncore distutils imp pkg_resources smtpd aifc audioop cgi cgitb chunk crypt imghdr "
    "lib2to3 mailcap msilib nis nntplib ossaudiodev pipes sndhdr spwd sunau telnetlib uu xdrlib"
)
"""Modules that are gone; pkg_resources, of setuptools, came with Python until 3.12."""
NAMES = (
    r"datetime\.utc(now|fromtimestamp) \w+\.link_to ssl\.(wrap_socket|match_hostname) "
    r"configparser\.(SafeConfigParser|LegacyInterpolation) pkgutil\.(ImpImporter|\w+_loader) "
    r"locale\.(format|resetlocale|getdefaultlocale) re\.template typing\.(io|re|ByteString) "
    r"unittest\.makeSuite importlib\.resources\.(open_text|read_text|path|contents) "
    r"ast\.(Num|Str|Bytes|NameConstant|Ellipsis) asyncio\.(get_event_loop|iscoroutinefunction) "
    r"asyncio\.([gs]et_event_loop_policy|\w*ChildWatcher) codecs\.open sqlite3\.version(_info)? "
    r"importlib\.abc\.(Traversable|ResourceReader) urllib\.request\.\w*URLopener "
    r"collections\.abc\.ByteString pty\.(master|slave)_open typing\.no_type_check_decorator "
    r"sre_\w+ platform\.java_ver multiprocessing\.(Pool|Process)"
)
"""Patterns of dotted names that are gone, warn, or (multiprocessing) start otherwise since."""
_DROPPED = re.compile(
    rf"(?<!\w)(?:{'|'.join(NAMES.split())}|(?:{'|'.join(MODULES.split())})(?:\.\w+)?)$"
)
WANTED = {"extractall": "filter", "ProcessPoolExecutor": "mp_context"}
"""Calls that do something else on 3.14 unless an argument says which."""


def faults(tree: ast.Module) -> Iterator[str]:
    """What in a module's source newer Pythons drop or change."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (
                    one.name for one in names if one.name.partition(".")[0] in MODULES.split()
                )
            case ast.ImportFrom(module=str(module), level=0, names=names):
                dotted = [module, *(f"{module}.{one.name}" for one in names)]
                yield from filter(_DROPPED.search, dotted)
            case ast.Attribute() if _DROPPED.search(ast.unparse(node)):
                if ast.unparse(node).partition(".")[0] not in MODULES.split():
                    yield ast.unparse(node)
            case ast.Call(keywords=keywords):
                name, given = ast.unparse(node.func), {one.arg for one in keywords}
                wanted = WANTED.get(name.rpartition(".")[2])
                if (wanted and wanted not in given) or (
                    name == "shutil.rmtree" and "onerror" in given
                ):
                    yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                # `issubclass` raises on 3.13 for a generic; a warning's category is a class.
                for of in re.findall(r"issubclass\(([^,]+),", text := ast.unparse(node)):
                    if f"isinstance({of}, type)" not in text and not of.endswith(".category"):
                        yield f"issubclass({of}, ...)"


@pytest.mark.parametrize(
    "source",
    [
        "import imp", "import cgi.x", "from pipes import quote", "from ast import Num",
        "datetime.datetime.utcnow()", "asyncio.get_event_loop()", "path.link_to(other)",
        "archive.extractall(at)", "ProcessPoolExecutor(2)", "shutil.rmtree(p, onerror=f)",
        "def f(a):\n return issubclass(a, B)", "from typing import ByteString",
        "locale.getdefaultlocale()", "import pkg_resources", "multiprocessing.Pool(2)",
    ],
)  # fmt: skip
def test_each_kind_is_seen(source: str) -> None:
    assert list(faults(ast.parse(source)))


def product() -> list[Path]:
    return [path for name in (*ROOMS, "examples") for path in sorted((ROOT / name).rglob("*.py"))]


@pytest.mark.slow
def test_the_product_uses_nothing_that_newer_pythons_drop() -> None:
    found = {path: [*faults(ast.parse(path.read_text("utf-8")))] for path in product()}
    assert {path: seen for path, seen in found.items() if seen} == {}


CHECK = """
import importlib, sys, warnings
warnings.filterwarnings('error', category=DeprecationWarning, module='branchwise')
warnings.simplefilter('error', SyntaxWarning)
for path in sys.argv[1].split():
    with open(path, 'rb') as file:
        compile(file.read(), path, 'exec')
for name in sys.argv[2].split():
    importlib.import_module(name)
"""


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_every_module_compiles_and_is_imported_without_a_warning() -> None:
    files = product()
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in files]
    modules = [
        ".".join(one if one[0] == "branchwise" else ("branchwise", *one))
        for one in parts
        if one[0] != "examples" and one[-1] not in ("__init__", "__main__")
    ]
    command = (sys.executable, "-c", CHECK, " ".join(map(str, files)), " ".join(modules))
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
