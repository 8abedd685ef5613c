"""How long it takes to build a corpus from each form, and how much memory.

Passages of 100 words are made and written in each form; `branchwise corpus build` runs on each as a
process of its own. The peer in the same run reads the same JSON lines and does nothing but parse
each with orjson and hash it: what no reader can do without.

    python benchmarks/corpora.py [--passages 100000] [--repeats 3] [--forms jsonl csv]
"""

import argparse
import csv
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine

_WORDS = 30_000
_PAGES_IN_A_FOLDER = 1_000
_PEER = """
import hashlib, sys, orjson
for line in open(sys.argv[1], "rb"):
    hashlib.blake2b(orjson.loads(line)["contents"].encode(), digest_size=8).hexdigest()
"""


class Made(NamedTuple):
    """A passage."""

    id: str
    title: str
    text: str


class Cost(NamedTuple):
    """Seconds, seconds of the processor and peak memory (MiB) of a process."""

    seconds: float
    processor: float
    mebibytes: float


def main() -> None:
    """Print a line for each form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--forms", nargs="*", default=[*FORMS], choices=FORMS)
    options = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        sources = {form: Path(folder) / form for form in options.forms}
        for form, source in sources.items():
            FORMS[form](source, options.passages)
        costs: dict[str, list[Cost]] = {form: [] for form in sources}
        peer = Path(folder) / "peer.jsonl"
        with_contents(peer, options.passages, ids=False)
        peers = []
        for _ in range(options.repeats):  # one after the other, so that all meet the same machine
            peers.append(measured([sys.executable, "-c", _PEER, str(peer)]))
            for form, source in sources.items():
                costs[form].append(build(form, source, Path(folder) / "C"))
    show("orjson and a hash, the peer", peers, options.passages)
    for form, found in costs.items():
        show(form, found, options.passages)


def build(form: str, source: Path, out: Path) -> Cost:
    """Build a corpus, and remove it."""
    name = "folder" if form == "html" else form.partition(" ")[0]
    command = [sys.executable, "-m", "branchwise", "corpus", "build"]
    cost = measured([*command, "--from", f"{name}:{source}", "--out", str(out)])
    subprocess.run(["rm", "-r", str(out)], check=True)
    return cost


def measured(command: list[str]) -> Cost:
    """Run a command as the only child of a process, whose usage is then the command's."""
    program = (
        "import resource, subprocess, sys; "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, "
        "stderr=subprocess.DEVNULL); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-c", program, *command], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - began
    processor, kibibytes = ended.stdout.split()
    return Cost(seconds, float(processor), int(kibibytes) / 1024)


def show(what: str, costs: list[Cost], passages: int) -> None:
    seconds = statistics.median(cost.seconds for cost in costs)
    processor = statistics.median(cost.processor for cost in costs)
    memory = max(cost.mebibytes for cost in costs)
    print(
        f"{what:28} {seconds:6.1f} s, {processor:6.1f} s of the processor "
        f"({passages / processor:7,.0f} a second), {memory:5.0f} MiB"
    )


def made(passages: int) -> Iterator[Made]:
    """The same passages each time."""
    rng = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 11))) for _ in range(_WORDS)]
    for number in range(passages):
        title = " ".join(rng.choices(words, k=2)).title()
        yield Made(str(number), title, " ".join(rng.choices(words, k=100)))


def with_contents(path: Path, passages: int, *, ids: bool = True) -> None:
    """FlashRAG's lines."""
    with path.open("w") as stream:
        for one in made(passages):
            fields = {"id": one.id} if ids else {}
            stream.write(json.dumps({**fields, "contents": f"{one.title}\n{one.text}"}) + "\n")


def with_texts(path: Path, passages: int) -> None:
    """BEIR's lines."""
    with path.open("w") as stream:
        for one in made(passages):
            stream.write(json.dumps({"_id": one.id, "title": one.title, "text": one.text}) + "\n")


def array(path: Path, passages: int) -> None:
    """One JSON array."""
    with path.open("w") as stream:
        for number, one in enumerate(made(passages)):
            stream.write(
                ("," if number else "[") + json.dumps({"title": one.title, "text": one.text})
            )
        stream.write("]")


def table(path: Path, passages: int) -> None:
    """CSV."""
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([Made._fields, *made(passages)])


def parquet(path: Path, passages: int) -> None:
    """Parquet, in groups of a hundred thousand rows, with a column that nobody wants."""
    import pyarrow as arrow
    from pyarrow import parquet as files

    names = (*Made._fields, "embedding")
    kinds = (arrow.string(), arrow.string(), arrow.string(), arrow.list_(arrow.float32()))
    schema = arrow.schema(list(zip(names, kinds, strict=True)))
    with files.ParquetWriter(path, schema) as writer:
        rows: list[Made] = []
        for one in made(passages):
            rows.append(one)
            if len(rows) == 100_000:
                writer.write_table(_table(rows, schema))
                rows = []
        if rows:
            writer.write_table(_table(rows, schema))


def _table(rows: list[Made], schema: object) -> object:
    import pyarrow as arrow

    columns = [*map(list, zip(*rows, strict=True)), [[0.5] * 64] * len(rows)]
    return arrow.table(columns, schema=schema)


def pages(path: Path, passages: int) -> None:
    """A folder of HTML pages of one passage each, with navigation around it."""
    around = "<nav><ul>" + "<li><a href='#'>Elsewhere</a></li>" * 20 + "</ul></nav>"
    for one in made(passages):
        folder = path / str(int(one.id) // _PAGES_IN_A_FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
        halves = one.text[: len(one.text) // 2], one.text[len(one.text) // 2 :]
        text = "".join(f"<p>{half} <a href='#'>link</a></p>" for half in halves)
        page = (
            f"<html><head><title>{one.title}</title></head><body>{around}<main>{text}</main></body>"
        )
        (folder / f"{one.id}.html").write_text(page)


FORMS: dict[str, Callable[[Path, int], None]] = {
    "jsonl": with_contents,
    "jsonl without ids": lambda path, passages: with_contents(path, passages, ids=False),
    "jsonl of titles and texts": with_texts,
    "jsonl in an array": array,
    "csv": table,
    "parquet": parquet,
    "html": pages,
}


if __name__ == "__main__":
    main()
