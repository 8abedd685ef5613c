"""Train the dictionary that a store's bodies are compressed with.

    python benchmarks/store_dictionary.py RUN... --out bodies.dictionary

It was made once, from the runs of `branchwise demo` and those in `tests/kept`, and belongs to the
store's format: another one would be another format (`runs/store/tables.py`). Samples are single
bodies of every table, so that what is learnt is what records share.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import zstandard

from branchwise.runs.store.run_file import RunFile
from branchwise.runs.store.tables import COLUMNS
from branchwise.runs.store.verifying import ReadableRows

SIZE = 32768
TABLES = ("events", "responses", "questions", "items", "item_errors", "scores", "passages")


def samples(run: Path) -> Iterator[bytes]:
    """The bodies of a run, and what identifies its rows as packing writes it."""
    file = RunFile(run)
    rows = ReadableRows(file)
    for table in TABLES:
        for row in rows(table):
            body = row[COLUMNS[table].index("text" if table == "passages" else COLUMNS[table][-1])]
            if body:
                yield body.encode() if isinstance(body, str) else body
    file.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    found = [sample for run in options.runs for sample in samples(run)]
    data = zstandard.train_dictionary(SIZE, found).as_bytes()
    options.out.write_bytes(data)
    print(f"{len(found)} bodies of {sum(map(len, found))} bytes; {len(data)} bytes written")


if __name__ == "__main__":
    main()
