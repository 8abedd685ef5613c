"""Damaged copies of runs: each is whole, is saved, or is refused with one line.

    python benchmarks/store_damage.py               # 2,000 copies
    python benchmarks/store_damage.py --copies 40 --seed 7

Two runs of the offline reader over a small corpus, one of them with expansion and extraction, are
copied while they are written (file and log at different moments) and when they have ended. Bits
and bytes of a copy are changed, pages zeroed, dropped, swapped, doubled, taken from an earlier
moment or from the other run, files and logs cut off, damaged or exchanged. Of every copy:

* what verifying, scoring, exporting, resuming and replaying say is a result or one line;
* saved scores, where they are taken, are the undamaged run's;
* a score is the undamaged run's to the last digit: as a whole, or item by item where the copy is
  of an earlier moment;
* what `recover` saves is whole, with the undamaged run's scores item by item, and resumed it ends
  with all of them.

Exits with 1 where anything else happened, or where something took more than `--patience` seconds.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from branchwise import resume
from branchwise.base.errors import InputError
from branchwise.commands.folders import export_lines
from branchwise.corpora.build import build_corpus, build_index
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.store import RunStore, open_run
from branchwise.runs.store.connection import PAGE_SIZE
from branchwise.runs.store.merging import recover_run
from branchwise.runs.store.recordings import open_recordings
from branchwise.runs.store.verifying import verify_run

FILE, LOG = "run.sqlite", "run.sqlite-wal"
PAGE = PAGE_SIZE
READS = ScoringSettings(saves=False, reuses=False)
REUSES = ScoringSettings(saves=False)
Damage = Callable[[random.Random, "Copy"], None]
Items = Mapping[tuple[str, int], Any]


@dataclass
class Source:
    """An undamaged run, and its files at moments of its making."""

    path: Path
    questions: Path
    scores: bytes
    items: Items
    moments: list[Path]


@dataclass
class Copy:
    """A copy that is to be damaged. `other`: another run; `now`: whether it is of the end."""

    folder: Path
    source: Source
    other: Source
    now: bool = True

    @property
    def file(self) -> Path:
        return self.folder / FILE

    @property
    def log(self) -> Path:
        return self.folder / LOG


def change_bits(chance: random.Random, copy: Copy) -> None:
    """One to eight bits, half of the time where there is content."""
    data = bytearray(copy.file.read_bytes())
    for _ in range(chance.randint(1, 8)):
        data[_place(chance, data)] ^= 1 << chance.randrange(8)
    copy.file.write_bytes(data)


def change_bytes(chance: random.Random, copy: Copy) -> None:
    """Up to 64 bytes in a row."""
    data = bytearray(copy.file.read_bytes())
    at, count = _place(chance, data), chance.choice([1, 1, 2, 8, 64])
    data[at : at + count] = chance.randbytes(min(count, len(data) - at))
    copy.file.write_bytes(data)


def change_digit(chance: random.Random, copy: Copy) -> None:
    """A letter or digit of a text, so that it remains a text."""
    data = bytearray(copy.file.read_bytes())
    texts = [n for n, byte in enumerate(data) if chr(byte).isalnum() and byte < 128]
    data[chance.choice(texts)] = ord(chance.choice("0123456789abcdexyz"))
    copy.file.write_bytes(data)


def damage_pages(chance: random.Random, copy: Copy) -> None:
    """Pages that are zeroed, random, dropped, swapped or doubled."""
    pages = _pages(copy.file)
    one, two = chance.randrange(len(pages)), chance.randrange(len(pages))
    match chance.choice(["zero", "noise", "drop", "swap", "double"]):
        case "zero":
            for n in {one, *(chance.sample(range(len(pages)), min(3, len(pages))))}:
                pages[n] = bytes(PAGE)
        case "noise":
            pages[one] = chance.randbytes(PAGE)
        case "drop":
            del pages[one]
        case "swap":
            pages[one], pages[two] = pages[two], pages[one]
        case "double":
            pages[one] = pages[two]
    copy.file.write_bytes(b"".join(pages))


def mix_pages(chance: random.Random, copy: Copy) -> None:
    """Pages of an earlier moment, or of the other run."""
    folder = chance.choice([*copy.source.moments, copy.other.path, *copy.other.moments])
    pages, others = _pages(copy.file), _pages(folder / FILE)
    few = min(len(pages), len(others))
    for n in chance.sample(range(few), chance.randint(1, min(4, few))):
        pages[n] = others[n]
    copy.file.write_bytes(b"".join(pages))


def cut(chance: random.Random, copy: Copy) -> None:
    """The file cut off anywhere."""
    data = copy.file.read_bytes()
    copy.file.write_bytes(data[: chance.randrange(len(data))])


def take_moment(chance: random.Random, copy: Copy) -> None:
    """File and log as they were while the run was written, from one moment or two."""
    copy.now = False
    first, second = chance.choice(copy.source.moments), chance.choice(copy.source.moments)
    _place_files(copy, first, chance.choice([first, second, None]))


def damage_log(chance: random.Random, copy: Copy) -> None:
    """A log that is cut off, changed, or of the other run."""
    take_moment(chance, copy)
    if not copy.log.exists() or chance.random() < 0.3:
        _place_files(copy, copy.folder, chance.choice(copy.other.moments))
        return
    data = bytearray(copy.log.read_bytes())
    if not data:
        return
    if chance.random() < 0.5:
        del data[chance.randrange(len(data)) :]
    else:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    copy.log.write_bytes(data)


def damage_moment(chance: random.Random, copy: Copy) -> None:
    """A file of an earlier moment that is damaged as well."""
    take_moment(chance, copy)
    chance.choice([change_bits, change_bytes, damage_pages])(chance, copy)


DAMAGES: tuple[Damage, ...] = (
    change_bits,
    change_bytes,
    change_digit,
    damage_pages,
    mix_pages,
    cut,
    take_moment,
    damage_log,
    damage_moment,
)


def _place(chance: random.Random, data: bytearray) -> int:
    at = chance.randrange(len(data))
    if chance.random() < 0.5:
        while not data[at]:
            at = chance.randrange(len(data))
    return at


def _pages(file: Path) -> list[bytes]:
    data = file.read_bytes()
    return [data[at : at + PAGE] for at in range(0, len(data), PAGE)]


def _place_files(copy: Copy, file: Path, log: Path | None) -> None:
    if file != copy.folder:
        shutil.copyfile(file / FILE, copy.file)
    copy.log.unlink(missing_ok=True)
    if log and (log / LOG).exists():
        shutil.copyfile(log / LOG, copy.log)


def prepare(folder: Path, questions: int) -> tuple[Source, Source]:
    """A corpus, a question set, and two runs that were copied while they were written."""
    names = [f"Film {n}" for n in range(questions)]
    passages = [
        {"id": f"{n}-{year}", "contents": f"{name} ({year} film)\n{name} ({year} film) was directed"
         f" by Person {n} {year}. It was shown in town {n}."}
        for n, name in enumerate(names) for year in (1950, 1990)
    ]  # fmt: skip
    asked = [
        {"id": f"q{n}", "question": f"Who directed {name}?", "answers":
         {f"{name} ({year} film)": [f"Person {n} {year}"] for year in (1950, 1990)}}
        for n, name in enumerate(names)
    ]  # fmt: skip
    for file, lines in (("p.jsonl", passages), ("q.jsonl", asked)):
        (folder / file).write_text("\n".join(map(json.dumps, lines)) + "\n")
    build_corpus(str(folder / "p.jsonl"), folder / "C")
    build_index(folder / "C", "bm25")
    return _source(folder, "base"), _source(folder, "modules", "--expand", "--extract")


def _source(folder: Path, name: str, *options: str) -> Source:
    """Run it in a process of its own, and copy its files over and over until it ends."""
    path = folder / name
    command = [sys.executable, "-m", "branchwise", "run", "--questions", str(folder / "q.jsonl")]
    command += ["--corpus", str(folder / "C"), "--retriever", "bm25", "--model", "offline"]
    command += ["--concurrency", "2", "--out", str(path), *options]
    moments = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if (path / FILE).exists() and (size := _written(path)) not in {m for m, _ in moments}:
                moments.append((size, _snapshot(path, folder / f"{name}-{len(moments)}")))
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    scored = score_answers(path, READS)
    scores, items, files = as_bytes(scored), items_of(scored), [file for _, file in moments]
    return Source(path, folder / "q.jsonl", scores, items, files)


def _written(path: Path) -> tuple[int, ...]:
    sizes = []
    for name in (FILE, LOG):
        with suppress(FileNotFoundError):  # the log goes when the run ends
            sizes.append((path / name).stat().st_size)
    return tuple(sizes)


def _snapshot(path: Path, to: Path) -> Path:
    to.mkdir()
    for name in (FILE, LOG):
        with suppress(FileNotFoundError):
            shutil.copyfile(path / name, to / name)
    return to


def as_bytes(scored: ScoredAnswers) -> bytes:
    return orjson.dumps(scored.to_json(), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def items_of(scored: ScoredAnswers) -> Items:
    return {(item.id, item.epoch): item.to_json() for item in scored.scores.items}


class Surprise(Exception):  # noqa: N818 - what the benchmark looks for
    """Something that no copy may lead to."""


def said(work: Callable[[], Any]) -> Any:
    """The result, or the one line that refused it."""
    try:
        return work()
    except InputError as error:
        line = str(error)
        if "\n" in line or len(line) > 2000:
            raise Surprise(f"not one line: {line[:300]!r}") from error
        return line


def look(copy: Copy, work: Path) -> str:
    """What becomes of a copy, in a word; Surprise where it is none of those that may be."""
    verdict = said(lambda: verify_run(copy.folder))
    whole = not isinstance(verdict, str) and verdict.is_whole
    scored = said(lambda: score_answers(copy.folder, READS))
    if isinstance(scored, ScoredAnswers):
        _compare(copy, scored)
    reused = said(lambda: items_of(score_answers(copy.folder, REUSES)))
    if not isinstance(reused, str) and any(
        copy.source.items.get(k) != v for k, v in reused.items()
    ):
        raise Surprise("an item's saved score differs")
    exported = said(lambda: _exported(copy.folder))
    opened = said(lambda: RunStore(_twin(copy.folder, work / "store")).close())
    replayed = said(lambda: open_recordings(copy.folder).close())
    refused = [x for x in (scored, exported, opened, replayed) if isinstance(x, str)]
    if whole:
        if refused:
            raise Surprise(f"verified as whole, but refused: {refused[0]}")
        return "whole" if copy.now else "whole, of an earlier moment"
    if opened is None or replayed is None:
        raise Surprise("resumed or replayed, though not whole")
    return _recovered(copy, work)


def _exported(folder: Path) -> list[bytes]:
    reader = open_run(folder)
    try:
        reader.check_file()
        return list(export_lines(reader, with_events=True))
    finally:
        reader.close()


def _twin(folder: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    return to


def _compare(copy: Copy, scored: ScoredAnswers) -> None:
    ended = items_of(scored)
    if any(copy.source.items.get(key) != item for key, item in ended.items()):
        raise Surprise("an item's score differs")
    counted = len(ended) + scored.scores.counts.pending
    if counted != len(copy.source.items):
        raise Surprise(f"{counted} items are counted")
    if copy.now and as_bytes(scored) != copy.source.scores:
        pending = scored.scores.counts.pending
        # Of a file with pages of an earlier moment: that these items have not ended is said.
        raise Surprise(f"the scores differ, {pending} items have not ended")


def _recovered(copy: Copy, work: Path) -> str:
    shutil.rmtree(work / "new", ignore_errors=True)
    new = work / "new"
    found = said(lambda: recover_run(copy.folder, new))
    if isinstance(found, str) and "--questions" in found:
        from branchwise.corpora.loaders import load_questions

        given = load_questions(str(copy.source.questions))
        shutil.rmtree(new, ignore_errors=True)
        found = said(lambda: recover_run(copy.folder, new, given))
    if isinstance(found, str):
        return "refused: settings lost" if "settings are lost" in found else f"refused: {found}"
    if not (verdict := verify_run(new)).is_whole:
        raise Surprise(f"recovered, but not whole: {verdict.problems}")
    _compare_items(copy, new)
    saved = found.saved["items"]
    resume(new)
    _compare_items(copy, new)
    if len(items_of(score_answers(new, READS))) != len(copy.source.items):
        raise Surprise("resumed, but items are missing")
    return "recovered, all items" if saved == len(copy.source.items) else "recovered, some items"


def _compare_items(copy: Copy, new: Path) -> None:
    for key, item in items_of(score_answers(new, READS)).items():
        if copy.source.items.get(key) != item:
            raise Surprise(f"the recovered score of {key} differs")


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Raises where the work takes longer."""

    def end(*_: object) -> None:
        raise Surprise(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--copies", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, default=24)
    parser.add_argument("--patience", type=int, default=60)
    parser.add_argument("--keep", type=Path, help="folder for the copies that surprised")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    surprises = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = prepare(folder, options.questions)
        for source in sources:
            print(f"{source.path.name}: {len(source.moments)} moments", flush=True)
        for number in range(options.copies):
            chance = random.Random(f"{options.seed}-{number}")
            damage = DAMAGES[number % len(DAMAGES)]
            one, two = chance.sample(sources, 2)
            copy = Copy(_twin(one.path, folder / "copy"), one, two)
            damage(chance, copy)
            try:
                with patience(options.patience):
                    outcome = look(copy, folder)
            except Exception as error:  # noqa: BLE001 - every failure is reported
                outcome = f"SURPRISE {type(error).__name__}: {str(error)[:200]}"
                surprises += 1
                print(f"{number} {damage.__name__}: {outcome}", flush=True)
                if options.keep:
                    shutil.copytree(copy.folder, options.keep / str(number), dirs_exist_ok=True)
            counts[outcome] += 1
            if number % 100 == 99:
                print(f"{number + 1} copies", flush=True)
    for outcome, count in counts.most_common():
        print(f"{count:6} {outcome}")
    sys.exit(bool(surprises))


if __name__ == "__main__":
    main()
