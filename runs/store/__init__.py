"""The run store: one SQLite file that a killed run continues from."""

from branchwise.runs.store.damage import DamagedError
from branchwise.runs.store.reader import ItemRow, RunReader, open_run
from branchwise.runs.store.run_store import PendingItem, RunStore, create_run
from branchwise.runs.store.spec import RunSpec
from branchwise.runs.store.writer import StoreError

__all__ = [
    "DamagedError",
    "ItemRow",
    "PendingItem",
    "RunReader",
    "RunSpec",
    "RunStore",
    "StoreError",
    "create_run",
    "open_run",
]
