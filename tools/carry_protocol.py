"""Renames the protocol `conditions` of stored runs to `default`: run once."""

import hashlib
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import orjson

from branchwise.runs.store.tables import row_checksum

ROOT = Path(__file__).parents[1]
OLD, NEW = '"protocol":"conditions"', '"protocol":"default"'


def digest_of(identity: str) -> str:
    data = orjson.dumps(orjson.loads(identity), option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    tracked = subprocess.check_output(
        ["git", "ls-files", "examples/recorded", "tests/kept"], cwd=ROOT, text=True
    ).splitlines()
    runs = [ROOT / name for name in tracked if name.endswith("run.sqlite")]
    digests: dict[str, str] = {}
    for run in runs:
        with closing(sqlite3.connect(run)) as connection:
            (identity,) = connection.execute(
                "SELECT value FROM meta WHERE key = 'identity'"
            ).fetchone()
        if OLD in identity:
            digests[digest_of(identity)] = digest_of(identity.replace(OLD, NEW))
    for run in runs:
        with closing(sqlite3.connect(run)) as connection:
            values = dict(connection.execute("SELECT key, value FROM meta"))
            for key, value in values.items():
                changed = value.replace(OLD, NEW)
                for old, new in digests.items():
                    changed = changed.replace(old, new)
                if changed != value:
                    row = (changed, row_checksum(0, "meta", (key, changed)), key)
                    connection.execute("UPDATE meta SET value = ?, checksum = ? WHERE key = ?", row)
            connection.commit()
    for name in tracked:
        if name.endswith((".json", ".txt")):
            text = changed = (ROOT / name).read_text("utf-8")
            for old, new in {
                **digests,
                OLD: NEW,
                OLD.replace(":", ": "): NEW.replace(":", ": "),
            }.items():
                changed = changed.replace(old, new)
            if changed != text:
                (ROOT / name).write_text(changed, "utf-8")


if __name__ == "__main__":
    main()
