"""Data sets of the Hugging Face hub, or local ones that `datasets` loads.

What was loaded before comes from the cache of `datasets`, also without a network. Data sets with
code of their own are refused by it.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from branchwise.corpora.errors import InputError
from branchwise.corpora.rows import Row, Wanted
from branchwise.corpora.rows.arrow import BATCH, batch_rows

if TYPE_CHECKING:
    from datasets import Dataset

_HINT = "name it as hf:NAME[:CONFIG[:SPLIT]]"


def read(place: str, wanted: Wanted = None) -> Iterator[Row]:
    """The rows of `NAME[:CONFIG[:SPLIT]]`; memory holds a thousand of them.

    A configuration or a split may be left out where there is only one. Raises InputError where the
    data set cannot be had, several are possible, and without the package.
    """
    where = f"hf:{place}"
    data = _loaded(place, where)
    if wanted is not None and (columns := [name for name in data.column_names if name in wanted]):
        data = data.select_columns(columns)
    first = 1
    for table in data.with_format("arrow").iter(BATCH):
        yield from batch_rows(table, where, first)
        first += table.num_rows


def _loaded(place: str, where: str) -> "Dataset":
    name, _, rest = place.partition(":")
    config, _, split = rest.partition(":")
    if not name:
        raise InputError("names no data set", where=where, remedy=_HINT)
    datasets = _datasets(where)
    try:
        found = datasets.load_dataset(name, config or None, split=split or None)
    except Exception as error:  # noqa: BLE001 - from the hub, its servers, and files of any form
        raise _refusal(error, name, where) from None
    if isinstance(found, datasets.Dataset):
        return found
    if len(found) > 1:
        splits = ", ".join(found)
        raise InputError(
            f"has several splits ({splits})",
            where=where,
            remedy=f"name one: hf:{name}:{config}:{next(iter(found))}",
        )
    return next(iter(found.values()))


def _datasets(where: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise InputError(
            "data sets of the hub need the package datasets",
            where=where,
            remedy='install it: pip install "branchwise[datasets]"',
        ) from None
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    return datasets


def _refusal(error: Exception, name: str, where: str) -> InputError:
    said = " ".join(str(error).split())
    if isinstance(error, ConnectionError):
        return InputError(
            "is not in the cache, and the hub cannot be reached",
            where=where,
            remedy="load it once with a network, or give its files as jsonl:, csv: or parquet:",
        )
    return InputError(f"cannot be loaded ({said})", where=where, remedy=_HINT)
