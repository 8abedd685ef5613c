"""How a run ended, checked for what holds whatever the server did."""

from branchwise import score


def ended(made):
    """The outcomes of a run in which every item ended and is scored, and the fields left out."""
    reader = made.open()
    rows = list(reader.items())
    events = [event for row in rows for event in reader.events(row.item)]
    reader.close()
    assert {row.status for row in rows} <= {"done", "failed"}
    for row in rows:
        assert (row.status == "failed") == (row.outcome["error"] is not None)
    assert score(made).counts.items == len(rows)
    left_out = {event.data["field"] for event in events if event.kind == "left_out"}
    return [row.outcome for row in rows], left_out
