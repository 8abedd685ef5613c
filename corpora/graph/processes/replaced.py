"""Noticing that the folder of a graph in use was built again."""

from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.description import read_description


def refuse_replaced(folder: Path, sha256: str) -> None:
    """Raise GraphError where the folder does not hold the graph with this digest any more.

    To be called after its files were opened: then none of them is a newer graph's, whenever it was
    that the folder was replaced. "" is any graph's digest.
    """
    try:
        found = read_description(folder).sha256
    except InputError:
        found = None
    if sha256 not in ("", found):
        raise GraphError(
            "resources", "The graph was rebuilt since it was opened: the user must start again."
        )
