"""Folders that a disk, a copy or a careless hand has damaged: one file of each is exchanged."""

import os
from collections.abc import Callable, Iterator
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


TARGETS = (
    Target(
        "corpus-folders",
        forms.member,
        members("corpus", "corpus.jsonl", "corpus.json", "offsets.npy", "checksums.npy"),
        in_folder("corpus", ("corpus", "info", "folder"), (*_SEARCH, "bm25")),
        needs=("corpus",),
    ),
    Target(
        "indexes",
        forms.member,
        members("corpus", "index/**/*"),
        in_folder("corpus", ("corpus", "info", "folder"), (*_SEARCH, "bm25")),
        needs=("corpus",),
    ),
    Target(
        "worlds",
        forms.member,
        members("world", "world.json", "names.jsonl", "kg.nt.gz", "kg/graph.json"),
        in_folder(
            "world",
            ("world", "info", "folder"),
            ("kg", "info", "folder"),
            ("questions", "generate", "--kg", "folder", "--n", "2", "--out", "out.jsonl"),
        ),
        needs=("world",),
    ),
    Target(
        "name-indexes",
        forms.member,
        members("kg", "names.sqlite", "graph.json"),
        in_folder(
            "kg",
            ("kg", "info", "folder"),
            ("kg", "search", "folder", "the"),
            ("kg", "search", "folder", "King Kong", "--json"),
            ("kg", "search", "folder", "directed by", "--kind", "property"),
        ),
        needs=("kg",),
    ),
    Target(
        "study-folders",
        forms.member,
        members("study", "study.json", "*.yaml"),
        in_folder(
            "study",
            ("report", "folder"),
            ("report", "folder", "--json"),
            ("trace", "folder", "--print"),
        ),
        needs=("study",),
    ),
)
