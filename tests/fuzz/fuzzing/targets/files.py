"""Files that a user names: written to disk and given to the command that reads them."""

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
    """Inputs are files of this name. `beside`: what of the ground lies beside them, by links."""

    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        for one in beside:
            (here / one).symlink_to(getattr(ground, one))
        for other, content in with_files.items():
            (here / other).write_bytes(content)
        run = through(*commands)

        def check(data: bytes) -> Verdict:
            (here / name).write_bytes(data)
            return run(here)

        yield check

    return opened


def named_file(*commands: Command, beside: Sequence[str] = ()) -> Callable[[Ground, Path], Opened]:
    """Inputs say their own name on the first line; `commands` name it as NAME."""

    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        for one in beside:
            (here / one).symlink_to(getattr(ground, one))

        def check(data: bytes) -> Verdict:
            first, _, content = data.partition(b"\n")
            name = os.fsdecode(first)
            (here / name).write_bytes(content)
            filled = [tuple(word.replace("NAME", name) for word in c) for c in commands]
            return through(*filled)(here)

        yield check

    return opened


def lines(*values: object) -> bytes:
    """JSON lines."""
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


_NATIVE = {
    "id": "q3",
    "question": "Which volcanoes?",
    "ambiguous": True,
    "branches": [
        {
            "name": "default",
            "answers": [{"text": "Etna", "aliases": ["Mount Etna"]}],
            "citations": ["p1"],
        }
    ],
    "passages": [{"id": "p1", "title": "Etna", "text": "Etna is a volcano."}],
    "meta": {"domain": "film"},
}
_AMBIGNQ = [
    {
        "id": "a",
        "question": "Who made Heat?",
        "annotations": [
            {
                "type": "multipleQAs",
                "qaPairs": [
                    {"question": "Who made Heat (1986)?", "answer": ["Dick Richards", "Richards"]},
                    {"question": "Who made Heat (1995)?", "answer": ["Michael Mann"]},
                ],
            }
        ],
    },
    {
        "id": "b",
        "question": "Who made Ronin?",
        "annotations": [{"type": "singleAnswer", "answer": ["John Frankenheimer"]}],
    },
]
_FANOUTQA = [
    {
        "id": "q1",
        "question": "How old is each of them?",
        "answer": {"Ann": 41, "Bo": [3.0, True], "Cy": {"at first": "1"}},
        "categories": ["People"],
        "decomposition": [{"evidence": {"title": "Ann"}, "decomposition": []}],
    },
    {"id": "q2", "question": "How many?", "answer": 2},
]
_CAMBIGNQ = [
    {
        "id": "a",
        "question": "Who made Heat?",
        "viewed_doc_titles": ["Heat"],
        "used_queries": [{"query": "Heat"}],
        "nq_doc_title": "Heat",
        "dqs": ["Who made Heat (1986)?", "Who made Heat (1995)?"],
        "clarification_answers": [["Dick Richards", "Richards"], ["Michael Mann"]],
        "clarification_question": "Which version: the film of 1986, or the film of 1995?",
    }
]
_CONDITIONS = [
    {
        "id": "c1",
        "question": "When?",
        "properties": [
            {
                "condition": "In Italy",
                "groundtruth": "1861",
                "citations": [{"title": "1. Italy", "text": "United in 1861."}],
            }
        ],
        "ctxs": [{"title": "Italy", "text": "Italy was united in 1861."}],
    }
]
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
_PASSAGES = lines(
    {"id": "p1", "contents": '"Heat"\nHeat is a film of 1995.'},
    {"id": "p2", "contents": "Jaws\nJaws is a film.", "statements": [["Q1", "P57", "Q2"]]},
    {"contents": "A line without an id."},
)
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


def _question_sets(ground: Ground) -> list[bytes]:
    return [lines(QUESTION, _NATIVE), lines(_NATIVE), lines(QUESTION)]


def _compressed(ground: Ground) -> list[bytes]:
    import zstandard

    plain = lines(QUESTION, _NATIVE)
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


def _after_name(form: forms.Form) -> forms.Form:
    def mutate(data: bytes, seeds: Sequence[bytes], rng: "forms.random.Random") -> bytes:
        name, _, content = data.partition(b"\n")
        others = [other.partition(b"\n")[2] for other in seeds]
        chosen = forms.binary if name.endswith((b".gz", b".zst")) else form
        return name + b"\n" + chosen(content, others, rng)

    return mutate


def _made_from(kg: str, *more: str) -> Command:
    return ("questions", "generate", "--kg", kg, "--n", "2", "--out", f"{_OUT}.jsonl", *more)


TARGETS = (
    Target(
        "questions",
        forms.json_lines,
        _question_sets,
        in_file(
            "q.jsonl",
            ("questions", "info", "q.jsonl", "--json"),
            ("questions", "info", "q.jsonl"),
            ("questions", "convert", "q.jsonl", "--out", f"{_OUT}.jsonl"),
            ("questions", "info", f"{_OUT}.jsonl"),
        ),
    ),
    Target(
        "condambigqa",
        forms.json_value,
        lambda _: [json.dumps(_CONDITIONS).encode(), json.dumps(_CONDITIONS * 3).encode()],
        in_file(
            "dev.json",
            ("questions", "info", "condambigqa:dev.json"),
            ("corpus", "build", "--from", "condambigqa:dev.json", "--out", f"{_OUT}.C"),
        ),
    ),
    *(
        Target(
            form,
            forms.json_value,
            lambda _, rows=rows: [json.dumps(rows).encode()],
            in_file("dev.json", ("questions", "info", f"{form}:dev.json")),
        )
        for form, rows in (("ambignq", _AMBIGNQ), ("fanoutqa", _FANOUTQA), ("cambignq", _CAMBIGNQ))
    ),
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
        "corpora",
        forms.json_lines,
        lambda _: [_PASSAGES],
        in_file(
            "c.jsonl",
            ("corpus", "build", "--from", "c.jsonl", "--out", f"{_OUT}.C"),
            ("corpus", "info", f"{_OUT}.C"),
            ("corpus", "index", f"{_OUT}.C", "--kind", "bm25"),
            ("corpus", "search", f"{_OUT}.C", "film of 1995", "--k", "5"),
            ("corpus", "search", f"{_OUT}.C", "film of 1995", "--json"),
            ("ask", "Which film is of 1995?", "--corpus", f"{_OUT}.C", "--json"),
        ),
    ),
    Target(
        "compressed",
        _after_name(forms.binary),
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
        _after_name(forms.text),
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
        _after_name(forms.triples),
        _triples,
        named_file(_made_from("NAME", "--schema", str(SLICE / "films.yaml"))),
    ),
    Target(
        "graphs",
        _after_name(forms.triples),
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
