"""Folders that a disk, a copy or a careless hand has damaged: one file of each is exchanged."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fuzzing import forms
from fuzzing.ground import Ground
from fuzzing.target import Check, Opened, Target
from fuzzing.targets.files import Command, through
from fuzzing.verdicts import Verdict

_SEARCH = ("corpus", "search", "folder", "King Kong film", "--k", "5", "--json", "--retriever")


def in_folder(name: str, *commands: Command) -> Callable[[Ground, Path], Opened]:
    """Inputs are files of a copy of `ground.NAME`, which the commands call `folder`."""

    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        run = through(*commands)

        def check(data: bytes) -> Verdict:
            ground.copied(name, here / "folder")
            member, _, content = data.partition(b"\n")
            (here / "folder" / os.fsdecode(member)).write_bytes(content)
            return run(here)

        yield check

    return opened


def members(name: str, *patterns: str) -> Callable[[Ground], list[bytes]]:
    """The files of `ground.NAME` that one of the patterns names."""

    def seeds(ground: Ground) -> list[bytes]:
        folder: Path = getattr(ground, name)
        files = sorted({file for pattern in patterns for file in folder.glob(pattern)})
        return [
            str(file.relative_to(folder)).encode() + b"\n" + file.read_bytes()
            for file in files
            if file.is_file()
        ]

    return seeds


def damaged(name: str, ground: str, patterns: Sequence[str], *commands: Command) -> Target:
    """A target of files of `ground.GROUND`, each in its place in a copy."""
    seeds, opened = members(ground, *patterns), in_folder(ground, *commands)
    return Target(name, forms.member, seeds, opened, needs=(ground,))


_CORPUS = ("corpus.jsonl", "corpus.json", "offsets.npy", "checksums.npy")
_WORLD = ("world.json", "names.jsonl", "kg.nt.gz", "kg/graph.json")
_LOOKS = (("corpus", "info", "folder"), (*_SEARCH, "bm25"))
TARGETS = (
    damaged("corpus-folders", "corpus", _CORPUS, *_LOOKS),
    damaged("indexes", "corpus", ["index/**/*"], *_LOOKS),
    damaged(
        *("worlds", "world", _WORLD),
        ("world", "info", "folder"),
        ("kg", "info", "folder"),
        ("questions", "generate", "--kg", "folder", "--n", "2", "--out", "out.jsonl"),
    ),
    damaged(
        *("name-indexes", "kg", ["names.sqlite", "graph.json"]),
        ("kg", "info", "folder"),
        ("kg", "search", "folder", "the"),
        ("kg", "search", "folder", "King Kong", "--json"),
        ("kg", "search", "folder", "directed by", "--kind", "property"),
    ),
    damaged(
        *("study-folders", "study", ["study.json", "*.yaml"]),
        ("report", "folder"),
        ("report", "folder", "--json"),
        ("trace", "folder", "--print"),
    ),
)
