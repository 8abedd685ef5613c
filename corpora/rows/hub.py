"""Rows of a set on the Hugging Face Hub, downloaded once and then read from the disk."""

import logging
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from branchwise.base.errors import InputError, require
from branchwise.corpora.rows import DataRow
from branchwise.corpora.rows.parquet_rows import AT_ONCE, plain_rows

if TYPE_CHECKING:
    from datasets import Dataset

PREFIX = "hf:"
_HUB = "https://huggingface.co"
FORM = f"{PREFIX}NAME[:CONFIG[:SPLIT]]"


class HubName(NamedTuple):
    """A set, and which of its configurations and splits, if it has several."""

    name: str
    config: str | None = None
    split: str | None = None

    @classmethod
    def parse(cls, text: str) -> "HubName":
        """NAME[:CONFIG[:SPLIT]]. Raises InputError."""
        parts = [part or None for part in text.split(":")]
        if not parts[0] or len(parts) > 3:
            raise InputError("names no set", where=f"{PREFIX}{text}", remedy=f"write {FORM}")
        return cls(parts[0], *parts[1:])


def hub_rows(text: str, wanted: Collection[str] | None = None) -> Iterator[DataRow]:
    """The rows of the set that `text` names: NAME[:CONFIG[:SPLIT]]; a thousand are in memory.

    `wanted`: columns, beside which others may be left out. Raises InputError without the library
    `datasets`, for a set that is neither on this machine nor can be downloaded, and where it has
    several configurations or splits and none is named.
    """
    found = _loaded(HubName.parse(text), f"{PREFIX}{text}")
    if wanted and (columns := [name for name in found.column_names if name in wanted]):
        found = found.select_columns(columns)
    tables = found.with_format("arrow").iter(AT_ONCE)
    rows = (fields for table in tables for fields in plain_rows(table))
    for number, fields in enumerate(rows, start=1):
        yield DataRow(f"{PREFIX}{text}:row {number}", fields)


def _loaded(wanted: HubName, where: str) -> "Dataset":
    require("datasets", "reading it", where)
    if not Path(wanted.name).exists():
        _go_offline_if_unreachable()
    import datasets
    from datasets.exceptions import DatasetsError

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it tells of each retry
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    try:
        found = datasets.load_dataset(wanted.name, wanted.config, split=wanted.split)
    except (DatasetsError, OSError, RuntimeError, ValueError) as error:
        raise _unavailable(error, where) from None
    return found if wanted.split else _only(found, wanted, where)


def _go_offline_if_unreachable() -> None:
    """Ask the hub once, for five seconds: its library would ask in silence for half a minute before
    it takes what is on this machine. The library reads the variable when it is imported."""
    import httpx

    if os.environ.get("HF_HUB_OFFLINE"):
        return
    try:
        httpx.head(os.environ.get("HF_ENDPOINT", _HUB), timeout=5)
    except (httpx.HTTPError, httpx.InvalidURL):
        os.environ["HF_HUB_OFFLINE"] = "1"


def _only(splits: Any, wanted: HubName, where: str) -> "Dataset":
    if len(splits) == 1:
        return next(iter(splits.values()))
    names = ", ".join(splits)
    remedy = f"name one: {PREFIX}{wanted.name}:{wanted.config or ''}:{next(iter(splits))}"
    raise InputError(f"has the splits {names}", where=where, remedy=remedy)


def _unavailable(error: Exception, where: str) -> InputError:
    """Why it cannot be had."""
    said = " ".join(str(error).split()).partition(" Example of usage")[0][:300].rstrip(".")
    if isinstance(error, ValueError):
        return InputError(said, where=where, remedy=f"write {FORM}")
    remedy = "check its name, or load it where there is a network"
    what = f"is not on this machine, and cannot be loaded from the hub ({said})"
    return InputError(what, where=where, remedy=remedy)
