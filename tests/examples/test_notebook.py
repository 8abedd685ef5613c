"""The notebook of the examples, executed from beginning to end in an empty folder."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

pytestmark = pytest.mark.usefixtures("process")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "compare.ipynb"


@pytest.mark.long
def test_the_notebook_runs_and_shows_tables(tmp_path: Path) -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = {cell["id"]: cell["outputs"] for cell in book.cells if cell.cell_type == "code"}
    pages = {
        id: one["data"]["text/html"]
        for id, found in outputs.items()
        for one in found
        if "text/html" in one.get("data", {})
    }
    # Asked, two runs, scores, a frame, a comparison, a study, a trace.
    assert [*pages] == [f"cell-{n}" for n in (3, 5, 6, 8, 9, 11, 14, 16)]
    assert not [page for page in pages.values() if "<script" in page]
    assert not [one for found in outputs.values() for one in found if one.output_type == "error"]
    texts = [
        one["data"]["text/plain"] for found in outputs.values() for one in found if "data" in one
    ]
    assert any(text == "<Run base: 45 done, 0 failed>" for text in texts)
    assert any(text.startswith("45/45 ended") for text in texts)
    assert max(text.count("\n") for text in texts) <= 5
    # Progress is one line that changes.
    assert {len(outputs[id]) for id in ("cell-5", "cell-6", "cell-14")} == {2}


@pytest.mark.long
def test_a_wrong_input_is_one_line_in_a_notebook(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("import branchwise\nbranchwise.score('nowhere')")
    book = nbformat.v4.new_notebook(cells=[cell])
    client = NotebookClient(book, resources={"metadata": {"path": str(tmp_path)}})
    with pytest.raises(CellExecutionError):
        client.execute()
    [output] = book.cells[0].outputs
    assert output.traceback == [f"InputError: {output.evalue}"]


def test_the_notebook_is_kept_without_outputs() -> None:
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells)
