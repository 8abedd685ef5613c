"""The run store: one SQLite file that a killed run continues from."""

from branchwise.runs.store.connection import DamagedError, StoreError
from branchwise.runs.store.new_run import create_run
from branchwise.runs.store.reader import ItemRow, RunReader, open_run
from branchwise.runs.store.run_file import RunSpec
from branchwise.runs.store.run_store import PendingItem, RunStore

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
