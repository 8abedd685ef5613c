"""What docs/start.md and docs/plugins.md show can be followed by somebody who has only them."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from branchwise import Corpus
from branchwise.corpora.plugin_retriever import RetrieverPlugin
from branchwise.corpora.plugins.specs import find_plugin
from branchwise.eval.plugin_metrics import MetricPlugin
from branchwise.tools.plugin_tools import ToolPlugin

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"```python\n# (\w+)\.py\n(.*?)```", re.DOTALL)
SECTION = re.compile(r"^## Your own tools and steps$(.*)", re.DOTALL | re.MULTILINE)


def files_of(text: str, folder: Path) -> dict[str, Path]:
    """The files that a page shows, as it shows them."""
    written = {}
    for name, code in FILE.findall(text):
        written[name] = folder / f"{name}.py"
        written[name].write_text(code)
    return written


def test_the_section_on_tools_can_be_followed_from_an_empty_folder(
    tmp_path: Path, type_in: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    section = SECTION.search((ROOT / "docs" / "start.md").read_text())
    assert section
    [code] = [code for _, code in FILE.findall(section[1])]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    files_of(section[1], tmp_path)
    commands = re.findall(r"^branchwise (.*)$", section[1], re.MULTILINE)
    outputs = []
    for command in commands:
        ended, out, said = type_in(*shlex.split(command, comments=True))
        # The page's tool names pages; without a language model they are no answer.
        assert ended == (1 if command.startswith("ask ") else 0), said
        outputs.append(out + said)
    tried, asked, begun = outputs
    assert "King Kong may refer to:\n  King Kong (1933 film)\n" in tried
    assert "disambiguation(name='King Kong')" in asked
    assert "film_year.py and test_film_year.py are written" in begun


def test_the_plug_ins_on_the_page_load(tmp_path: Path):
    written = files_of((ROOT / "docs" / "plugins.md").read_text(), tmp_path)
    kinds = {
        "film_year": ("film_year", "tools", ToolPlugin),
        "disambiguation_in_short": ("disambiguation", "tools", ToolPlugin),
        "answers_given": ("answers_given", "metrics", MetricPlugin),
        "by_title": ("by_title", "retrievers", RetrieverPlugin),
    }
    assert set(written) == set(kinds)
    for file, (name, group, kind) in kinds.items():
        assert isinstance(find_plugin(f"{written[file]}:{name}", group).object, kind)


def test_the_retriever_on_the_page_searches(tmp_path: Path):
    written = files_of((ROOT / "docs" / "plugins.md").read_text(), tmp_path)
    (tmp_path / "corpus.jsonl").write_text(
        '{"id": "a", "contents": "Oslo\\nA city."}\n'
        '{"id": "b", "contents": "King Kong\\nA film."}\n'
    )
    search = find_plugin(f"{written['by_title']}:by_title", "retrievers").object(
        Corpus.open(tmp_path)
    )
    [ranked] = search(["king of Oslo or Kong"], 1)
    assert [passage.id for passage, _ in ranked] == ["b"]
