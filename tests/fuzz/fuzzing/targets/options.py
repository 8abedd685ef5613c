"""Command lines: words left out, doubled, exchanged, and values that no option takes."""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fuzzing.ground import Ground
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
_SEEDS = [json.dumps(line.split()).encode() for line in _LINES]
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
    (here / "p.jsonl").write_text('{"id": "q1", "answers": ["x"]}\n')
    (here / "study.yaml").write_text(
        "name: s\nquestions: questions\nbase: {corpus: corpus}\nfactors: {k: [3, 5]}\n"
    )

    def check(data: bytes) -> Verdict:
        words = [_word(word) for word in _listed(json.loads(data))]
        if words[:1] in _LONG:
            return "refused"
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


def _listed(words: object) -> list[object]:
    return words if isinstance(words, list) else [words]


def _word(value: object) -> str:
    """As a shell can pass it: no NUL in it; half characters are bytes that are no text."""
    text = value if isinstance(value, str) else json.dumps(value)
    text = text.replace("\x00", "").encode("utf-8", "surrogateescape" if _few(text) else "replace")
    return text.decode("utf-8", "surrogateescape")[:100_000]


def _few(text: str) -> bool:
    return all(not 0xD800 <= ord(c) <= 0xDFFF or 0xDC80 <= ord(c) <= 0xDCFF for c in text)


TARGETS = (
    Target(
        "options",
        _command_line,
        lambda _: _SEEDS,
        _typed,
        needs=("questions", "corpus", "world", "run"),
    ),
)
