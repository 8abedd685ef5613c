"""The first events of a fork's item, copied from another run when the fork is made.

They are not events of the item yet: each attempt starts with them, and a killed attempt leaves them
unchanged.
"""

import sqlite3
from collections.abc import Sequence

import orjson

from branchwise.runs.store.passage_references import fold
from branchwise.runs.store.tables import Layout
from branchwise.runs.store.writer import Statement
from branchwise.trace.events import Event


def lay_down(connection: sqlite3.Connection, layout: Layout, events: Sequence[Event]) -> None:
    """Store the events in a run that is being made, renumbered from 0."""
    connection.execute(layout.create("opening"))
    for seq, event in enumerate(events):
        slim, passages = fold(event.data)
        connection.executemany(layout.insert_passage(), passages)
        row = (seq, event.kind, event.at, orjson.dumps(slim))
        connection.execute(layout.insert("opening"), row)


def begin_with(layout: Layout, item: int) -> Statement:
    """Makes them the first events of the item."""
    return (layout.copy_opening(), [(item,)])
