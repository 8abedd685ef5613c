"""What docs/start.md and docs/plugins.md show can be followed by somebody who has only them."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

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


def test_the_plug_ins_on_the_page_work_together(
    tmp_path: Path, type_in: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "plugins.md").read_text()
    assert list(files_of(page, tmp_path)) == ["four"]
    screen = re.search(r"^## All four on one screen$(.*?)^\| kind", page, re.DOTALL | re.MULTILINE)
    assert screen
    assert len([line for line in screen[1].splitlines() if line.strip("`\n ")]) < 60
    (tmp_path / "C").mkdir()
    (tmp_path / "C" / "corpus.jsonl").write_text(
        '{"id": "a", "contents": "Oslo\\nA city."}\n'
        '{"id": "b", "contents": "King Kong\\nMerian C. Cooper directed King Kong."}\n'
    )
    question = '{"id": "q", "question": "Who directed King Kong?", "answers": {"default": ["X"]}}'
    (tmp_path / "q.jsonl").write_text(question)
    commands = re.findall(r"^branchwise ((?:.*\\\n)*.*)$", screen[1], re.MULTILINE)
    for command in commands:
        code, out, err = type_in(*shlex.split(command.replace("\\\n", " ")))
        assert code == 0, err
    assert "answers\n" not in out
    assert "given" in out
    code, out, _ = type_in(*shlex.split(commands[0]))
    assert "  King Kong" in out
    _, out, _ = type_in("export", "R", "--events")
    events = [event for line in out.splitlines() for event in json.loads(line)["events"]]
    kinds = {event["kind"]: event["data"] for event in events}
    assert kinds["node"]["name"] == "shortest"
    assert kinds["tool"]["artifact"]["passages"][0]["id"] == "b"
