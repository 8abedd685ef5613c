"""Shards where whole runs are shown: what one is called, and several as the run that they are."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from branchwise.eval.studies.merging import MergedFolder


class ShownFolder(NamedTuple):
    """A folder to show: the one that was `given`, or what several shards were put together as."""

    path: Path
    given: tuple[Path, ...]
    merged: "MergedFolder | None" = None


def put_together(paths: Sequence[Path]) -> list[ShownFolder]:
    """The folders, shards of one run or study as one, which is removed when the command ends.

    Raises InputError for shards that `merge` refuses.
    """
    from branchwise.corpora.scratch import scratch_folder
    from branchwise.eval.studies.merging import merge_folders, shard_groups

    shown: list[ShownFolder] = []
    for group in shard_groups(paths):
        if len(group) == 1:
            shown.append(ShownFolder(group[0], tuple(group)))
            continue
        scratch = click.get_current_context().with_resource(scratch_folder("branchwise-merged-"))
        merged = merge_folders(group, scratch / "whole")
        place = merged.path.rename(merged.path.with_name(_name(group, merged)))
        shown.append(ShownFolder(place, tuple(group), merged))
    return shown


def _name(paths: Sequence[Path], merged: "MergedFolder") -> str:
    """What the folders' names have in common, else where they are; and which shards these are where
    some are missing."""
    folders = [path.resolve() for path in paths]
    letters = zip(*(folder.name for folder in folders), strict=False)
    shared = takewhile(lambda at: len(set(at)) == 1, letters)
    common = "".join(letter for letter, *_ in shared).rstrip(" -_.([0")
    name = common or folders[0].parent.name or "shards"
    numbers = sorted({int(one.shard.partition("/")[0]) for one in merged.given})
    if len(numbers) == merged.of:
        return name
    return f"{name} (shards {', '.join(map(str, numbers))} of {merged.of})"


def shard_name(path: Path) -> str:
    """What a run is called: its folder's name, and which shard it is."""
    from branchwise.eval.store import open_run
    from branchwise.eval.store.shards import Shard

    with closing(open_run(path)) as reader:
        shard = Shard.recorded(reader.meta)
        return reader.name if shard is None else f"{reader.name} (shard {shard})"


def say_shard(path: Path) -> None:
    """Say on standard error that a run is a shard, if it is."""
    from branchwise.eval.store import open_run
    from branchwise.eval.store.shards import Shard
    from branchwise.ui.console import error_console

    with closing(open_run(path)) as reader:
        shard, meta = Shard.recorded(reader.meta), reader.meta
    if shard:
        whole = meta["question_count"] * meta["epochs"]
        line = f"{path}: shard {shard}, {meta['shard']['items']} of {whole} items of the run"
        error_console().print(line, markup=False, soft_wrap=True)


def missing_lines(merged: "MergedFolder") -> Iterator[str]:
    """What of a run has not ended, with the commands that run it."""
    for one in merged.unended:
        folder = shlex.quote(str(one.path))
        again = f"ablate STUDY.yaml --shard {one.shard} --out {folder}"
        yield _missing(
            one.items - one.ended, one.shard, again if merged.is_study else f"resume {folder}"
        )
    for number, items in merged.missing.items():
        shard = f"{number}/{merged.of}"
        again = f"{'ablate STUDY.yaml' if merged.is_study else 'run …'} --shard {shard} --out DIR"
        yield _missing(items, shard, again)


def _missing(items: int, shard: str, command: str) -> str:
    return f"  {items} of shard {shard}: branchwise {command}"
