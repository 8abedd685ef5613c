"""What `corpus index --kind ivf --from-vectors` takes of many vectors, and whether kills change it.

Synthetic unit vectors, kept as float32 in a `.npy`, of short passages; those that the command
compares are what the encoder makes of their passages. The encoder is a BERT of one layer with
random weights: few numbers a vector, so that millions fit here. What is measured are whole
commands; what is killed are forks of one that has imported them (`killing/launcher.py`).

    nice python benchmarks/many_vectors.py [--sizes 100000 300000 1000000] [--dimension 32]
        [--kills 10] [--latest 1] [--folder DIR] [--killed-only]

Each size is built undisturbed. Then the first is built again, killed (SIGKILL) so many times in
each stage, at a random moment of it, and its files are compared with those of the undisturbed one.
With --killed-only it is built once, killed so, and its rows and vectors are looked at instead.
"""

import argparse
import hashlib
import json
import math
import os
import random
import resource
import select
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":  # before any library starts threads, which forks would lack
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

import numpy as np
from killing.launcher import Launcher, Process, launch
from machine import describe_machine

CHUNK, AROUND_ONE, SPREAD, CENTRES_AT_MOST = 100_000, 50, 0.3, 20_000
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LOOK = 0.005
"""Seconds between two looks at a process."""


class Cost(NamedTuple):
    """Of a build: seconds, of them the processor's, and peak MB: resident, and private alone."""

    seconds: float
    processor: float
    resident: float
    private: float


def write_encoder(folder: Path, dimension: int) -> None:
    """A BERT of one layer that reads letters; its vectors mean nothing."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    letters = string.ascii_lowercase + string.digits
    plain = folder.with_name(f"{folder.name}-bert")
    plain.mkdir(parents=True)
    (plain / "vocab.txt").write_text("\n".join([*SPECIAL, *letters, *(f"##{x}" for x in letters)]))
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(SPECIAL) + 2 * len(letters),
        hidden_size=dimension,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=dimension,
        max_position_embeddings=64,
        initializer_range=1.0,
    )
    BertModel(config).eval().save_pretrained(plain)
    BertTokenizerFast(vocab_file=str(plain / "vocab.txt")).save_pretrained(plain)
    words = Transformer(str(plain), max_seq_length=32)
    SentenceTransformer(modules=[words, Pooling(dimension, "mean")]).save(str(folder))


def write_corpus(folder: Path, count: int) -> None:
    """Passages of a few words."""
    folder.mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as file:
        for row in range(count):
            file.write(
                f'{{"id":"p{row}","contents":"Place {row}\\nvillage {row * 7919 % count}"}}\n'
            )


def write_vectors(file: Path, corpus: Path, encoder: Path, count: int, dimension: int) -> None:
    """Around centres; those that are compared come from the encoder."""
    from branchwise.corpora.encoders import load_encoder
    from branchwise.corpora.folder import Corpus

    chance = np.random.default_rng(1)
    number = min(CENTRES_AT_MOST, max(1, count // AROUND_ONE))
    centres = chance.standard_normal((number, dimension), dtype=np.float32)
    made = np.lib.format.open_memmap(file, "w+", np.float32, (count, dimension))
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        noise = chance.standard_normal((stop - start, dimension), dtype=np.float32)
        vectors = centres[chance.integers(0, number, stop - start)] + np.float32(SPREAD) * noise
        made[start:stop] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    passages = Corpus.open(corpus)
    looked_at = range(0, count, max(1, count // 256))
    texts = {row: next(iter(passages.contents(row, row + 1))) for row in looked_at}
    compared = sorted(texts, key=lambda row: len(texts[row]))[:16]
    made[compared] = load_encoder(str(encoder), "torch").encode_passages(
        [texts[row] for row in compared]
    )
    made.flush()


class Inputs(NamedTuple):
    """What a build reads."""

    corpus: Path
    vectors: Path
    encoder: Path

    @property
    def command(self) -> Sequence[str]:
        """The build, as arguments of `branchwise`."""
        given = ["--from-vectors", str(self.vectors), "--encoder", str(self.encoder)]
        return ["corpus", "index", str(self.corpus), "--kind", "ivf", *given]

    @property
    def index(self) -> Path:
        """Where its index is made."""
        return self.corpus / "index"


def write_inputs(folder: Path, count: int, dimension: int) -> Inputs:
    """Encoder, corpus, vectors, unless they are there."""
    made = Inputs(folder / f"C{count}", folder / f"{count}.npy", folder / f"encoder{dimension}")
    if not made.encoder.exists():
        write_encoder(made.encoder, dimension)
    if not made.corpus.exists():
        write_corpus(made.corpus, count)
        write_vectors(made.vectors, made.corpus, made.encoder, count, dimension)
    return made


def undisturbed(inputs: Inputs) -> Cost:
    """Build, and measure."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began, resident, private = time.perf_counter(), 0.0, 0.0
    command = [sys.executable, "-m", "branchwise", *inputs.command]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as build:
        while build.poll() is None:
            now = memory(build.pid)
            resident = max(resident, now.get("VmHWM", 0))
            private = max(private, now.get("RssAnon", 0))
            time.sleep(LOOK)
    if build.returncode:
        sys.exit(f"this failed: {' '.join(command)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.perf_counter() - began, processor, resident, private)


def memory(pid: int) -> dict[str, float]:
    """MB by the name of the system's line; empty at the end of the process."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(value) / 2**10 for name, value, _ in fields}


def digests(inputs: Inputs) -> dict[str, str]:
    """What the files of the index hold."""
    found = {}
    for file in sorted((inputs.index / "ivf").iterdir()):
        with file.open("rb") as stream:
            found[file.name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


Stage = Callable[[Inputs], bool]


def _kept(inputs: Inputs, pattern: str) -> bool:
    return any(inputs.index.glob(f".ivf.unfinished/{pattern}"))


def _made(inputs: Inputs, pattern: str) -> bool:
    return any(inputs.index.glob(f".ivf.*.partial/*/{pattern}"))


def _all_parts(inputs: Inputs) -> bool:
    vectors = np.load(inputs.vectors, mmap_mode="r")
    last = (len(vectors) - 1) // 1_000_000 * 1_000_000
    return _kept(inputs, f"part-{last}.faiss")


def _whole_vectors(inputs: Inputs) -> bool:
    vectors = np.load(inputs.vectors, mmap_mode="r")
    file = inputs.index / ".ivf.unfinished" / "vectors.bin"
    return file.exists() and file.stat().st_size == vectors.nbytes


STAGES: dict[str, Stage] = {
    "taking over": lambda made: _kept(made, "vectors.bin") and not _whole_vectors(made),
    "training": lambda made: _whole_vectors(made) and not _kept(made, "trained.faiss"),
    "adding": lambda made: _kept(made, "trained.faiss") and not _all_parts(made),
    "merging": lambda made: _all_parts(made) and not _made(made, "lists.faiss"),
    "choosing": lambda made: _made(made, "lists.faiss"),
}
"""By the files that tell it, in the order of a build."""


class Survived(NamedTuple):
    """Kills in all, and MB: the last process's peak of private memory."""

    kills: int
    private: float


def disturbed(inputs: Inputs, kills: int, latest: float, launcher: Launcher) -> Survived:
    """Build, killed in each stage at random moments, up to `latest` seconds into it."""
    chance, done = random.Random(1), dict.fromkeys(STAGES, 0)
    for name, within in STAGES.items():
        for _ in range(3 * kills):
            if done[name] == kills:
                break
            build = launcher.start(inputs.command, inputs.corpus, {}, real=False)
            while running(build) and not within(inputs):
                time.sleep(LOOK)
            # Log-uniform: the first milliseconds of a stage and its middle alike.
            time.sleep(math.exp(chance.uniform(math.log(0.001), math.log(latest))))
            build.kill()
            status = build.wait().status
            if status == -signal.SIGKILL:
                done[name] += 1
            else:  # it ended before it was met
                check(status, inputs)
        print(f"killed {done[name]} times while {name}", flush=True)
    last, private = launcher.start(inputs.command, inputs.corpus, {}, real=False), 0.0
    while running(last):
        private = max(private, memory(number(last)).get("RssAnon", 0))
        time.sleep(LOOK)
    check(last.wait().status, inputs)
    return Survived(sum(done.values()), private)


def number(process: Process) -> int:
    """What the system calls it by."""
    lines = Path(f"/proc/self/fdinfo/{process.handle}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def running(build: Process) -> bool:
    """Whether it has not ended."""
    return build.handle is not None and not select.select([build.handle], [], [], 0)[0]


def check(status: int, inputs: Inputs) -> None:
    """End this where a build failed."""
    if status:
        sys.exit(f"a build failed: {(inputs.corpus / 'complained').read_text()}")


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Of growth between the last two."""
    return math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--dimension", type=int, default=32)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--latest", type=float, default=1, help="Seconds into a stage.")
    parser.add_argument("--killed-only", action="store_true", help="Build nothing undisturbed.")
    parser.add_argument("--folder", type=Path, help="Keep and use again what is made here.")
    options = parser.parse_args()
    launcher = launch()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if options.killed_only:
            inputs = write_inputs(folder, options.sizes[0], options.dimension)
            look(inputs, options.kills, options.latest, launcher)
        costs = []
        print(f"{'vectors':>12}{'s':>9}{'CPU s':>9}{'peak MB':>9}{'private':>9}{'probed':>14}")
        for size in options.sizes:
            inputs = write_inputs(folder, size, options.dimension)
            shutil.rmtree(inputs.index, ignore_errors=True)
            costs.append(undisturbed(inputs))
            made = json.loads((inputs.index / "ivf" / "manifest.json").read_bytes())
            figures = "".join(f"{figure:>9.0f}" for figure in costs[-1])
            print(f"{size:>12,}{figures}{made['probes']:>8}{made['recall']:>7}", flush=True)
        if len(costs) > 1:
            for name, values in zip(Cost._fields, zip(*costs, strict=True), strict=True):
                print(f"exponent of {name}: {exponent(options.sizes, values):.2f}")
        if options.kills:
            inputs = write_inputs(folder, options.sizes[0], options.dimension)
            compare(inputs, options.kills, options.latest, launcher)


def compare(inputs: Inputs, kills: int, latest: float, launcher: Launcher) -> None:
    """Whether a build that was killed makes what an undisturbed one made."""
    whole = digests(inputs)
    shutil.rmtree(inputs.index)
    done = disturbed(inputs, kills, latest, launcher)
    left = [file.name for file in inputs.index.iterdir() if file.name != "ivf"]
    same = digests(inputs) == whole
    print(f"{done.kills} kills; {'the same' if same else 'OTHER'} files; left: {left}")
    sys.exit(0 if same and not left else 1)


def look(inputs: Inputs, kills: int, latest: float, launcher: Launcher) -> None:
    """Whether a build that was killed holds each row once, and the vectors that were given."""
    shutil.rmtree(inputs.index, ignore_errors=True)
    began = time.perf_counter()
    done = disturbed(inputs, kills, latest, launcher)
    seconds = time.perf_counter() - began
    print(f"{done.kills} kills, {seconds:.0f} s, {done.private:.0f} MB private", flush=True)
    left = [file.name for file in inputs.index.iterdir() if file.name != "ivf"]
    rows, vectors = each_row_once(inputs), vectors_as_given(inputs)
    print(f"each row once: {rows}; vectors as given: {vectors}; left: {left}")
    print((inputs.corpus / "said").read_text())
    sys.exit(0 if rows and vectors and not left else 1)


def each_row_once(inputs: Inputs) -> bool:
    """Whether each row of the vectors is in one list, once."""
    import faiss

    from branchwise.corpora.ivf import open_lists

    lists = open_lists(inputs.index / "ivf")
    stored = faiss.downcast_InvertedLists(lists.invlists)
    count = len(np.load(inputs.vectors, mmap_mode="r"))
    seen = np.zeros(count, dtype=np.uint8)
    for number in range(lists.nlist):
        if size := stored.list_size(number):
            np.add.at(seen, faiss.rev_swig_ptr(stored.get_ids(number), size), 1)
    return bool((seen == 1).all())


def vectors_as_given(inputs: Inputs) -> bool:
    """Whether the vectors that are reranked from are, bit for bit, those of the file."""
    given = np.load(inputs.vectors, mmap_mode="r")
    kept = np.memmap(inputs.index / "ivf" / "vectors.bin", np.float32, "r", shape=given.shape)
    starts = range(0, len(given), CHUNK)
    return all(np.array_equal(given[s : s + CHUNK], kept[s : s + CHUNK]) for s in starts)


if __name__ == "__main__":
    main()
