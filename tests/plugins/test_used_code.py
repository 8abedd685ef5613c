"""A plug-in's digest changes with what it uses of its file, and with nothing else there."""

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.base.plugins.used_code import used_code

FILE = '''\
"""Four plug-ins."""
from __future__ import annotations

import json, math
import logging as log
from functools import lru_cache
from helper import one, other
from pydantic import BaseModel, Field
from branchwise import metric, tool

class Limits(BaseModel):
    most: int = Field(default=3, ge=1)
    unit: "Unit" = None

class Unit(BaseModel):
    name: str = "km"

class Other(BaseModel):
    least: int = 3

PREFIX = "a"
SECTION = PREFIX + ": use it"
LIMIT = 10
_UNUSED = ["x"]

@lru_cache(maxsize=4)
def cached(word):
    return one(word) * LIMIT

def deep(word, start=math.pi):
    other_tool = cached(word)
    return other_tool

@tool(section=SECTION, settings=Limits, seconds=5)
def p(word: str, limits: Limits) -> str:
    """Says.

    Args:
        word: any.
    """
    found = [deep(w) for w in word]
    return found

@tool(settings=Other, section="other" + PREFIX)
def other_tool(word: str, others: Other) -> str:
    """Other."""
    log.info(word)
    return json.dumps(other(word))

@metric
def counted(item):
    """Counts."""
    return len(_UNUSED) + LIMIT

if __name__ == "__main__":
    print(p("x"))
'''


def digest(source: str, name: str = "p") -> str | None:
    used = used_code(source.encode(), name)
    return used and used.sha256


def edited(source: str, old: str, new: str) -> str:
    assert old in source
    return source.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Four plug-ins."""', '"""Changed."""'),
        ("import json, math", "import math"),
        ("log.info(word)", "log.info(word + word)"),
        ('"""Other."""', '"""Anew."""'),
        ('section="other" + PREFIX', "seconds=9"),
        ("least: int = 3", "least: int = 4"),
        ("from helper import one, other", "from helper import one"),
        ('_UNUSED = ["x"]', '_UNUSED = ["y"]'),
        ("return len(_UNUSED)", "return 3 * len(_UNUSED)"),
        ("LIMIT = 10", "# What may be.\nLIMIT   = 10  # at most\n\n"),
        ('"a"', "'a'"),
        ("@metric\ndef counted", "@metric(name='c')\ndef counts"),
        ('print(p("x"))', 'print(p("y"))'),
        ("PREFIX = ", "def found():\n    return p\n\nPREFIX = "),
    ],
)
def test_neighbours_and_layout_change_nothing(old: str, new: str) -> None:
    assert digest(FILE) is not None
    assert digest(edited(FILE, old, new)) == digest(FILE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from __future__ import annotations\n", ""),
        ("import json, math", "import json, cmath as math"),
        ("from helper import one", "from helper import two as one"),
        ("from helper import one", "from other_helper import one"),
        ("most: int = Field(default=3", "most: int = Field(default=4"),
        ('name: str = "km"', 'name: str = "m"'),
        ("unit: ", "units: "),
        ('"a"', '"b"'),
        (": use it", ": use"),
        ("LIMIT = 10", "LIMIT = 10.0"),
        ("LIMIT = 10", "LIMIT = 10\nLIMIT += 1"),
        ("maxsize=4", "maxsize=5"),
        ("return one(word)", "return 2 * one(word)"),
        ("start=math.pi", "start=math.e"),
        ("word: any", "word: one"),
        ("word: str, limits: Limits) -> str", "word: int, limits: Limits) -> str"),
        ("seconds=5", "seconds=6"),
        ("for w in word]", "for w in word if w]"),
        ("def other_tool(word", "def cached(word): pass\n\ndef other_tool(word"),
        ("PREFIX = ", "def str(word):\n    return word\n\nPREFIX = "),
        ("log.info(word)", "global LIMIT\n    LIMIT = 11"),
        ("LIMIT = 10", "LIMIT = 10\nlog.basicConfig()"),
        ("LIMIT = 10", "LIMIT = 10\nmath.pi = 3"),
        ("import json, math", "import json, math, patches"),
        (
            "import json, math",
            "import json, math\nif log:\n    import patches",
        ),
    ],
)
def test_what_it_uses_changes_its_digest(old: str, new: str) -> None:
    assert digest(edited(FILE, old, new)) != digest(FILE)


CASES = {
    "a factory": """
        def factory(word):
            def made(): return word
            return made
        p = factory("P")
        q = factory("Q")
        """,
    "a class": """
        class Base:
            def shown(self): return "BASE P"
        class Searcher(Base):
            def search(self): return "CLASS P"
        p = Searcher()
        class Sibling(Base):
            def search(self): return "CLASS Q"
        """,
    "a conditional definition": """
        import sys
        if sys.platform == "P":
            def p(): return "ONE P"
        else:
            def p(): return "OTHER P"
        if sys.platform == "Q":
            def q(): return 1
        """,
    "an optional import": """
        try:
            from fast_p import load as load
            FAST = "P"
        except ImportError:
            FAST = "OTHER P"
        def p(): return FAST
        def q(): return "Q"
        """,
    "a redefinition": """
        def p(): return "EARLIER P"
        def q(): return "Q"
        def p(): return "LATER P"
        """,
    "a decorator of the file": """
        SEEN = []
        def register(word):
            def add(f):
                SEEN.append("REGISTER P")
                return f
            return add
        @register("P")
        def p(): return len(SEEN)
        @register("ADDED P")
        def third(): return "BODY P"
        """,
    "a registry of subclasses": """
        class Base:
            known = []
            def __init_subclass__(cls): Base.known.append("HOOK P")
        class One(Base): word = "ONE P"
        def p(): return [c.word for c in Base.known]
        def q(): return "Q"
        """,
    "an object that is changed": """
        class Store: pass
        STORE = Store()
        OTHER = Store()
        STORE.word = "P"
        for _n in ["LOOP P"]: STORE.words[_n] = _n
        def p(): return STORE.word
        def q(): return OTHER, "Q"
        """,
    "an object that is changed by a call that is assigned": """
        ITEMS = ["A P", "B P"]
        def shorten(word): return ITEMS.pop()
        gone = shorten("C P")
        def p(): return ITEMS
        def q(): return gone, "Q"
        """,
    "an alias": """
        ITEMS = [1]
        ALIAS = ITEMS
        ALIAS += ["P"]
        def p(): return ITEMS
        def q(): return ALIAS, "Q"
        """,
    "an iterator": """
        NUMBERS = iter(["P", 2])
        first, *rest = NUMBERS
        taken = [n for n in NUMBERS if n != "NOT P"]
        def p(): return next(NUMBERS)
        def q(): return taken, first, rest, "Q"
        """,
    "a global statement": """
        COUNT = 0
        class Counter:
            def add(self):
                global COUNT
                COUNT += len("P")
        def p(): return COUNT
        def q(): return "Q"
        """,
    "dispatch by type": """
        from functools import singledispatch
        @singledispatch
        def shown(one): return "P"
        @shown.register
        def _(one: int): return "INT P"
        @shown.register
        def of_text(one: str): return "TEXT P"
        def p(): return shown(1)
        def q(): return "Q"
        """,
    "names in classes": """
        limit = "P"
        class Settings:
            limit = limit
            def shown(self, Q="Q P"): return other(self)
        def other(one): return "OTHER P"
        def p(q=1): return Settings
        def q(): return "Q"
        """,
    "types as texts": """
        class InnerP: word = "P"
        PairP = tuple["InnerP", int]
        def p(pair: "PairP") -> str: return {"qP": 1}
        def qP(): return {"Q": 1}
        """,
    "the module's docstring": """
        'SAYS P'
        def p(): return __doc__
        def q(): return "Q"
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_each_way_to_depend_on_a_definition(name: str) -> None:
    """Each word that ends in `P` belongs to `p`, each that ends in `Q` to others."""
    source = dedent(CASES[name]).lstrip()
    was = digest(source)
    assert was is not None
    texts = [part for n, part in enumerate(source.replace("'", '"').split('"')) if n % 2]
    ours = [text for text in texts if text.endswith("P")]
    assert ours
    for text in dict.fromkeys(texts):
        for quote in ('"', "'"):
            there = source.replace(f"{quote}{text}{quote}", f"{quote}{text} changed{quote}")
            if there != source:
                assert (digest(there) != was) == (text in ours), text


@pytest.mark.parametrize(
    "code",
    [
        "def p(): return globals()['q']()",
        "def p(): return eval('q()')",
        "def p(): return helper()\ndef helper(): return __import__('x')",
        "import sys\ndef p(): return getattr(sys.modules[__name__], 'q')()",
        "import importlib\ndef p(): return importlib.import_module('x')",
        "from sys import modules as m\ndef p(): return m",
        "class Base: pass\ndef p(): return Base.__subclasses__()",
        "from x import *\ndef p(): return 1",
        "try:\n    from x import *\nexcept ImportError: pass\ndef p(): return 1",
        "def change(): globals()['p'] = q\nchanged = change()\ndef p(): return 1",
        "globals()['p'] = lambda: q()",
        "def p(): return " + " + ".join(["'a'"] * 3000),
    ],
)
def test_where_names_are_reached_unseen_the_whole_file_counts(code: str) -> None:
    assert used_code(f"{code}\ndef q(): return 1\n".encode(), "p") is None


def test_which_modules_it_imports() -> None:
    used = used_code(FILE.encode(), "p")
    assert used is not None
    assert used.modules == {"__future__", "branchwise", "functools", "helper", "math", "pydantic"}
    inside = used_code(b"import os\ndef p():\n    import helper.part, os.path\n", "p")
    assert inside is not None
    assert inside.modules == {"helper", "os"}


def test_what_neighbours_register_counts_for_those_who_use_them() -> None:
    source = """
from registry import TOOLS, register
from other import load

@register
def {}(): return 1

TABLE = load("{}")
def p(): return TOOLS
def q(): return TABLE
"""
    beside = frozenset({"registry", "other"})

    def used(*words: str) -> object:
        return used_code(source.format(*words).encode(), "p", beside)

    assert used("a", "b") == used("a", "c")
    assert used("a", "b") != used("c", "b")


KINDS = ("function", "constant", "class", "decorated", "default", "annotated", "lambda")


@st.composite
def modules(draw: st.DrawFn) -> tuple[list[str], dict[str, list[str]], dict[str, str]]:
    """Names in the order of their definitions, what each reads, and its kind."""
    count = draw(st.integers(2, 9))
    names = draw(st.permutations([f"n{k}" for k in range(count)]))
    reads = {name: draw(st.lists(st.sampled_from(names), max_size=3)) for name in names}
    kinds = {name: draw(st.sampled_from(KINDS)) for name in names}
    return names, reads, kinds


def written(name: str, kind: str, reads: list[str], local: str, number: int) -> str:
    """A definition; `local` names a parameter, whatever else has that name."""
    read = ", ".join([*reads, str(number)])
    match kind:
        case "function":
            own = "" if local in (*reads, "") else f"    {local} = {local}_given = 1\n"
            return f"def {name}():\n{own}    return [({read},) for _ in ()]\n"
        case "constant":
            return f"{name} = ({read},)\n"
        case "class":
            return f"class {name}:\n    held = 1\n    def shown(self):\n        return {read}\n"
        case "decorated":
            return f"@tool(section=({read},))\ndef {name}(word):\n    return word\n"
        case "default":
            return f"def {name}(*, word=({read},)):\n    return word\n"
        case "annotated":
            return f"async def {name}(word: 'tuple[{read}]'):\n    return word\n"
        case _:
            return f"{name} = lambda: ({read},)\n"


def reachable(start: str, reads: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(reads[name])
    return found


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(modules(), st.data())
def test_the_digest_changes_if_and_only_if_the_edited_definition_is_reached(
    module: tuple[list[str], dict[str, list[str]], dict[str, str]], data: st.DataObject
) -> None:
    names, reads, kinds = module
    plug_in, changed = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
    locals_ = {name: data.draw(st.sampled_from(names)) for name in names}

    def source(numbers: dict[str, int], gap: str = "") -> str:
        parts = [
            written(name, kinds[name], reads[name], locals_[name], numbers.get(name, 0))
            for name in names
        ]
        return "from branchwise import tool\n" + gap.join(parts)

    was, now = (digest(source(numbers), plug_in) for numbers in ({}, {changed: 1}))
    assert was is not None
    assert (was != now) == (changed in reachable(plug_in, reads))
    assert digest(source({}, "\n# Between.\n\n"), plug_in) == was
