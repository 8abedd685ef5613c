"""Command lines: words left out, doubled, exchanged, and for every option of every command values
that nobody should give it."""

import functools
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from fuzzing.ground import WORKED, Ground
from fuzzing.hostile import SCALARS
from fuzzing.target import Check, Target
from fuzzing.targets.files import PROGRESS
from fuzzing.typed import typed
from fuzzing.values import mutated_value
from fuzzing.verdicts import Verdict, ended, plain

_LINES = (
    "ask Who? --corpus corpus --retriever bm25 --k 3 --model offline --max-turns 3 --json",
    "ask Who? --corpus corpus --expand --extract --temperature 0.5 --tool-protocol text",
    "run --questions questions --corpus corpus --limit 1 --epochs 2 --out out.R --concurrency 4",
    "run --questions questions --set a.b=1 --seed 3 --stream --max-seconds 5 --out out.R",
    "score --questions questions --predictions p.jsonl --task branches --json",
    "score run --matcher lexical --scan-corpus --concurrency 3 --json",
    "report run --by branches,calls --json",
    "report run run --markdown out.md --latex out.tex --csv out.csv",
    "report run --html out.html",
    "errors run --json",
    "trace run --print --question movie-5-0001 --step 1 --passages 2 --epoch 0",
    "export run --events",
    "fork run --question movie-5-0001 --step 1 --out out.F",
    "corpus build --from questions --out out.C",
    "corpus index corpus --kind bm25 --name again",
    "corpus search corpus King --k 3 --retriever bm25 --json",
    "corpus search corpus King --retriever http:http://127.0.0.1:9/retrieve",
    "kg search world Reef --kind item --limit 5 --json",
    "kg info world --json",
    "world info world",
    "world make --entities 10 --seed 1 --out out.W --domains film",
    "questions generate --kg world --n 1 --ambiguous 0.5 --seed 2 --domains film --out out.jsonl",
    "questions info questions --id q1 --figures out.figures --json",
    "questions convert questions --out out.jsonl",
    "tools list --json",
    "tools show local_retriever",
    "tools try local_retriever --args {} --corpus corpus --k 2",
    "tools new film_year --out .",
    "ablate study.yaml --dry-run --max-cost 2.5 --concurrency 3 --max-requests 2",
    "resume run --concurrency 2 --retry-failed",
    "--version",
)
_OTHER_LINES = (
    "resume run --concurrency 2",
    "ablate study.yaml --dry-run --out out.S",
    "errors run --limit 2",
    "trace run --print",
    "export run",
    "merge run --out out.M",
    "verify run",
    "recover run --out out.V",
    "corpus forms",
    "corpus search corpus King",
    "corpus eval corpus --questions questions",
    "corpus info corpus",
    "kg build graph.nt --out out.G",
    "kg query world ASK{} --seconds 1",
    "questions check questions",
    "questions forms",
    "questions schema",
    "benchmarks list",
    "mdcr solve worked.json",
    "mdcr info worked.json",
    "mdcr generate --documents 2 --groups 1 --scenarios 1 --out out.json",
    "mdcr control worked.json --out out.json",
    "serve retrieve --corpus folder",
    "serve mcp --corpus folder",
)
"""Beginnings for the options of commands that `_LINES` lacks. Those of `serve` are refused: what it
serves is no corpus."""
_SEEDS = [json.dumps(line.split()).encode() for line in _LINES]
_EVERY_SEED = [json.dumps(line.split()).encode() for line in (*_LINES, *_OTHER_LINES)]
_LONG = (["demo"], ["serve"])
"""Commands that take minutes, or never end."""


def _command_line(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    words = json.loads(data)
    how = rng.random()
    if how < 0.3:
        words = mutated_value(words, rng)
    elif how < 0.6:
        words[rng.randrange(len(words))] = rng.choice([w for w in SCALARS if isinstance(w, str)])
    elif how < 0.8:
        other = json.loads(rng.choice(seeds))
        at = rng.randrange(len(words) + 1)
        start = rng.randrange(len(other))
        words[at:at] = other[start : start + 2]
    else:
        numbers = ("-1", "0", "1e9", "nan", "inf", "-0.0", "9" * 50, "0x1", "1,5", "٣", "")
        words[rng.randrange(len(words))] = rng.choice(numbers)
    return json.dumps(words).encode()


@contextmanager
def _typed(ground: Ground, here: Path) -> Iterator[Check]:
    (here / "folder").mkdir()
    (here / "empty").touch()
    (here / "unreadable").write_text("{}")
    (here / "unreadable").chmod(0)
    (here / "binary").write_bytes(bytes(range(256)) * 9)
    (here / "latin-1").write_bytes('{"id": "q", "question": "Où ?"}\n'.encode("latin-1"))
    (here / "link").symlink_to(here / "link")
    (here / "plug.py").write_text("none = None\n")
    (here / "graph.nt").write_text('<http://x/a> <http://x/b> "c" .\n')
    shutil.copy(WORKED, here / "worked.json")
    (here / "p.jsonl").write_text('{"id": "q1", "answers": ["x"]}\n')
    (here / "study.yaml").write_text(
        "name: s\nquestions: questions\nbase: {corpus: corpus}\nfactors: {k: [3, 5]}\n"
    )

    def check(data: bytes) -> Verdict:
        listed = json.loads(data)
        words = [_word(word) for word in (listed if isinstance(listed, list) else [listed])]
        if words[:1] in _LONG and "folder" not in words:
            return "refused"
        for left in here.glob("out*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        for one in {"run", "corpus"} & set(words):
            ground.copied(one, here / one)
        for one in {"questions", "world"} & set(words):
            if not (here / one).exists():
                (here / one).symlink_to(getattr(ground, one))
        code, out, errors = typed(*words)
        if code == 2 and "Usage:" in out + errors:
            return "refused"  # a command without any words says how it is used
        if code == 1 and out.strip():
            return plain(errors, "refused")  # a tool's call that failed is its output
        return ended(code, errors, lines=PROGRESS)

    yield check


_VALUES = (
    *("nan", "NaN", "inf", "-inf", "infinity", "-0", "-0.0", "0", "-1", "1", "0.5", "1e309"),
    *("1e23", "-1e-320", str(2**31), str(2**63 - 1), str(2**63), str(2**70), "9" * 5_000, "0x10"),
    *("1_000", "1,5", "٣", "½", "99999d", "1e9s", "3/2", "0/0", "1/1", "true", "None", "null"),
    *("", " ", "\t", "\n", "a\nb", "-", "--", "--help", "=", "a=b", "a.b=1", "a=b=c", "=,=", ","),
    *(".", "a,b", "..", "/", "~", "no/such/path", "no-such", "folder", "folder/none", "empty"),
    *("unreadable", "binary", "latin-1", "questions", "study.yaml", "link", "out.new"),
    *("out.new/deep", "." * 300, "/dev/null", "/dev/zero", "/dev/full", "/dev/tty"),
    *("/proc/self/mem", "/dev/stdin", "x" * 100_000, "é" * 3_000, "/x" * 3_000),
    *("\u202eevil\u2066", "\x1b[31mred", "e\u0301", "日本語", "\udcff\udcfe", "😀", "[bold]"),
    *("{}", "[]", '{"a": NaN}', "[[" * 2_000, "%s", "${HOME}", "*", "http://", "http://[::1"),
    *("http://x y/", "https://:0/", "file:///etc/passwd", "openai:", "a:b", "hf:", "jsonl:"),
    *("csv:questions", "ray://", "replay:", "replay:folder", "mcp:", "http:", "study.yaml:x"),
    *("plug.py:none", "plug.py:", "os:system", "builtins:exit", "none", "all", "*=*"),
)
_EVERY_VALUE = [*_VALUES, *(word for word in SCALARS if isinstance(word, str))]


def _one_option(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    """A good command line, to which an option of its command is added, or of which an argument is
    another."""
    words = json.loads(data)
    command, used = _commands(), 0
    while isinstance(command, click.Group) and words[used : used + 1]:
        at = click.Context(command)
        command, used = command.get_command(at, words[used]) or click.Command(None), used + 1
    options = [p for p in command.get_params(click.Context(command)) if p.name != "help"]
    for _ in range(rng.choice((1, 1, 1, 2))):
        param, value = rng.choice(options), rng.choice(_EVERY_VALUE)
        if isinstance(param, click.Argument):
            words[used : used + 1] = [value]
        else:
            flag = isinstance(param, click.Option) and param.is_flag
            words += [rng.choice(param.opts), *([] if flag else [value])]
    return json.dumps(words).encode()


@functools.cache
def _commands() -> click.Command:
    import typer.main

    from branchwise import cli

    return cli.app if isinstance(cli.app, click.Command) else typer.main.get_command(cli.app)


def _word(value: object) -> str:
    """As a shell can pass it: no NUL in it; half characters are bytes that are no text."""
    text = value if isinstance(value, str) else json.dumps(value)
    is_bytes = all(not 0xD800 <= ord(c) <= 0xDFFF or 0xDC80 <= ord(c) <= 0xDCFF for c in text)
    text = text.replace("\x00", "").encode("utf-8", "surrogateescape" if is_bytes else "replace")
    return text.decode("utf-8", "surrogateescape")[:100_000]


_NEEDS = ("questions", "corpus", "world", "run")
TARGETS = (
    Target("every-option", _one_option, lambda _: _EVERY_SEED, _typed, _NEEDS),
    Target("options", _command_line, lambda _: _SEEDS, _typed, _NEEDS),
)
