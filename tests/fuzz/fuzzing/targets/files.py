"""Files that a user names: written to disk and given to the command that reads them."""

import functools
import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from fuzzing import forms
from fuzzing.ground import QUESTION, SLICE, WORKED, Ground
from fuzzing.target import Check, Opened, Target
from fuzzing.typed import typed
from fuzzing.verdicts import Verdict, ended

Command = tuple[str, ...]
_OUT = "out"
"""What commands write begins so, and is removed before the next input."""


def through(*commands: Command) -> Callable[[Path], Verdict]:
    """Type the commands one after the other, as far as they succeed."""

    def check(here: Path) -> Verdict:
        for left in here.glob(f"{_OUT}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        for command in commands:
            code, printed, errors = typed(*command)
            if code == 1 and command[0] == "ask" and "--json" in command:
                # No answer: the JSON itself says why.
                json.loads(printed)
                continue
            if ended(code, errors, lines=PROGRESS) == "refused":
                return "refused"
        return "accepted"

    return check


PROGRESS = (
    *("reading:", "searching:", "generating:", "counting words:", "indexing words:", "encoding:"),
    *("writing:", "0/"),
)
"""Beginnings of lines of progress."""


def in_file(
    name: str,
    *commands: Command,
    beside: Sequence[str] = (),
    with_files: Mapping[str, bytes] = MappingProxyType({}),
) -> Callable[[Ground, Path], Opened]:
    """Inputs are files of this name; where it is "", they say their own on the first line, and
    `commands` name it as NAME. `beside`: what of the ground lies beside them, by links."""

    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        for one in beside:
            (here / one).symlink_to(getattr(ground, one))
        for other, content in with_files.items():
            (here / other).write_bytes(content)

        def check(data: bytes) -> Verdict:
            first, _, content = (b"", b"", data) if name else data.partition(b"\n")
            own = name or os.fsdecode(first)
            (here / own).write_bytes(content)
            filled = [tuple(word.replace("NAME", own) for word in one) for one in commands]
            return through(*filled)(here)

        yield check

    return opened


named_file = functools.partial(in_file, "")


def lines(*values: object) -> bytes:
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


_WORKED = json.loads(WORKED.read_bytes())
_STATED = {
    "id": "stated",
    "documents": ["B", "C"],
    "text": "I live in Tolmarsh.",
    "kinds": ["q2", "q3"],
    "gold": {
        "q2": {"short": "yes", "groups": [["B-c4", "C-c6"]]},
        "q3": {"short": 2, "groups": []},
    },
}
_IN_PARTS = {
    "id": "parts",
    "documents": ["A", "B"],
    "parts": [{"text": "Hello."}, {"text": "I live in Quenby.", "values": {"A-c2": True}}],
}
_MDCR = [
    json.dumps(_WORKED | {"scenarios": scenarios}).encode()
    for scenarios in (
        _WORKED["scenarios"],
        [*_WORKED["scenarios"], _IN_PARTS],
        [_STATED, _IN_PARTS],
    )
]
_PREDICTIONS = lines(
    {"id": "q1", "answers": {"King Kong (1933 film)": ["Merian C. Cooper", "Schoedsack"]}},
    {"id": "q2", "answers": ["Steven Spielberg"], "reasoning": "It is known.", "epoch": 0}
    | {"citations": {"default": ["p1"]}, "evidence": ["p1", "p2"], "how": "strict", "error": None},
)
_STUDIES = (
    b"name: modules\nquestions: questions\nbase:\n  model: offline\n  corpus: corpus\n"
    b"  retriever: bm25\n  k: 5\n  tools: [local_retriever]\n"
    b"factors:\n  expansion: [off, on]\n  k: [3, 5]\ndesign: factorial\nconcurrency: 4\n",
    b"name: paid\nquestions: {source: questions, ids: [q1], limit: 1, epochs: 2}\n"
    b"base:\n  model: openai:gpt-6-luna\n  temperature: 0.5\n  max_tokens: 100\n"
    b"factors:\n  model: [openai:gpt-6-luna, openai:gpt-6.2-sol]\nmax_cost: 2.5\nmatcher: lexical\n"
    b"judge_entities: true\njudge: openai:gpt-6-luna\nprices: prices.yaml\n",
    b"name: own\nquestions: questions\nnodes: {clean: 'own.py:clean'}\n"
    b"base: {model: offline, corpus: corpus}\nfactors: {clean: [off, on]}\n"
    b"settings: {clean: {depth: 3}}\nmetrics: ['own.py:named']\n",
)
_PLUGINS = b"""
from pydantic import BaseModel
from branchwise import metric, node

class Depth(BaseModel):
    depth: int = 1

@node("after_tools", settings=Depth)
def clean(state, settings: Depth):
    return None

@metric
def named(item) -> float:
    return 1.0
"""
_PRICES = (
    b"as_of: 2026-11-21\nsource: https://example.org\nmodels:\n"
    b"  openai:mine: {input: 0.25, cached: 0.025, output: 2}\n"
    b"  openai:it@http://localhost:8000/v1: {input: 1, output: 0}\n"
    b"  offline: {input: 0, output: 0}\n"
)


def _compressed(ground: Ground) -> list[bytes]:
    import zstandard

    plain = lines(QUESTION, QUESTION | {"id": "q3"})
    return [
        b"file.jsonl.gz\n" + gzip.compress(plain, mtime=0),
        b"file.jsonl.gz\n" + gzip.compress(plain, mtime=0) * 2,
        b"file.jsonl.zst\n" + zstandard.ZstdCompressor().compress(plain),
        b"file.jsonl.zst\n" + zstandard.ZstdCompressor(write_checksum=True).compress(plain) * 2,
    ]


def _prompts(ground: Ground) -> list[bytes]:
    from branchwise.agents.prompt_files import Prompts

    return [f"{name}.md\n{text}".encode() for name, text in Prompts.load().texts.items()]


def _triples(ground: Ground) -> list[bytes]:
    """Films as N-Triples, and what else Turtle has."""
    some = (SLICE / "films.nt").read_bytes()
    turtle = (
        b"@prefix e: <http://www.wikidata.org/entity/> .\n@base <http://x/> .\n"
        b'e:Q1 a e:Q2, _:b ; <p> "x"@en, 1.5, true, """long\n"text"""^^<t> ; '
        b"<q> (1 2 [<r> <s>]) .\n"
    )
    return [b"file.nt\n" + some, b"file.ttl\n" + turtle, b"file.nt.gz\n" + gzip.compress(some)]


def _made_from(kg: str, *more: str) -> Command:
    return ("questions", "generate", "--kg", kg, "--n", "2", "--out", f"{_OUT}.jsonl", *more)


TARGETS = (
    Target(
        "mdcr",
        forms.json_value,
        lambda _: _MDCR,
        in_file(
            "m.json",
            ("questions", "info", "mdcr:m.json"),
            ("mdcr", "info", "m.json"),
            ("mdcr", "solve", "m.json", "--explain"),
            ("mdcr", "solve", "m.json", "--explain", "--json"),
            ("mdcr", "control", "m.json", "--out", f"{_OUT}.json"),
            ("mdcr", "info", f"{_OUT}.json"),
        ),
    ),
    Target(
        "predictions",
        forms.json_lines,
        lambda _: [_PREDICTIONS],
        in_file(
            "p.jsonl",
            ("score", "--questions", "questions", "--predictions", "p.jsonl", "--json"),
            ("score", "--questions", "questions", "--predictions", "p.jsonl"),
            beside=("questions",),
        ),
        needs=("questions",),
    ),
    Target(
        "compressed",
        forms.by_suffix(),
        _compressed,
        named_file(("questions", "info", "NAME")),
    ),
    Target(
        "studies",
        forms.yaml_document,
        lambda _: _STUDIES,
        in_file(
            "study.yaml",
            ("ablate", "study.yaml", "--dry-run"),
            beside=("questions", "corpus"),
            with_files={"prices.yaml": _PRICES, "own.py": _PLUGINS},
        ),
        needs=("questions", "corpus"),
    ),
    Target(
        "prices",
        forms.yaml_document,
        lambda _: [_PRICES],
        in_file("prices.yaml", ("report", "run", "--prices", "prices.yaml"), beside=("run",)),
        needs=("run",),
    ),
    Target(
        "prompts",
        forms.by_suffix(forms.text),
        _prompts,
        named_file(("ask", "Who directed Heat?", "--prompts", ".", "--expand", "--json")),
    ),
    Target(
        "ids",
        forms.text,
        lambda _: [b"q1\nq2\n", b"q2\n"],
        in_file(
            "ids.txt",
            ("run", "--questions", "questions", "--ids", "ids.txt", "--out", f"{_OUT}.R"),
            beside=("questions",),
        ),
        needs=("questions",),
    ),
    Target(
        "triples",
        forms.by_suffix(forms.triples),
        _triples,
        named_file(_made_from("NAME", "--schema", str(SLICE / "films.yaml"))),
    ),
    Target(
        "graphs",
        forms.by_suffix(forms.triples),
        _triples,
        named_file(
            ("kg", "build", "NAME", "--out", f"{_OUT}.G"),
            ("kg", "info", f"{_OUT}.G"),
            ("kg", "search", f"{_OUT}.G", "King Kong"),
        ),
    ),
    Target(
        "schemas",
        forms.yaml_document,
        lambda _: [(SLICE / "films.yaml").read_bytes()],
        in_file("s.yaml", _made_from(str(SLICE / "films.nt"), "--schema", "s.yaml")),
    ),
    Target(
        "names",
        forms.json_lines,
        lambda _: [(SLICE / "names.jsonl").read_bytes()],
        in_file(
            "names.jsonl",
            _made_from(
                str(SLICE / "films.nt"),
                *("--schema", str(SLICE / "films.yaml"), "--names", "names.jsonl"),
            ),
        ),
    ),
)
