"""The notebook of the examples, executed from beginning to end in an empty folder."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.usefixtures("process")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "compare.ipynb"


@pytest.mark.long
def test_the_notebook_runs_and_shows_tables(tmp_path: Path) -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = {cell["id"]: cell["outputs"] for cell in book.cells if cell.cell_type == "code"}
    shown = {
        id: {kind for one in found for kind in one.get("data", {})} for id, found in outputs.items()
    }
    in_html = [id for id, kinds in shown.items() if "text/html" in kinds]
    assert {"cell-8", "cell-9", "cell-11", "cell-14"} <= set(in_html), shown
    assert not [one for found in outputs.values() for one in found if one.output_type == "error"]
    texts = [
        one["data"]["text/plain"] for found in outputs.values() for one in found if "data" in one
    ]
    assert any(text == "<Run base: 12 done, 0 failed>" for text in texts)
    assert max(len(text) for text in texts) < 6_000


def test_the_notebook_is_kept_without_outputs() -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells)
