"""Noticing that the folder of a graph in use was rebuilt."""

from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.description import read_description


def refuse_replaced(folder: Path, sha256: str) -> None:
    """Raise GraphError if the folder no longer contains the graph with this digest.

    Call it after opening the files: then none of them belongs to a newer graph, whenever the folder
    was replaced. "" is any graph's digest.
    """
    try:
        found = read_description(folder).sha256
    except InputError:
        found = None
    if sha256 not in ("", found):
        raise GraphError(
            "resources", "The graph was rebuilt since it was opened: the user must start again."
        )
