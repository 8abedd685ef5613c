"""A folder of documents as a corpus: which files are read, and what is left out."""

import inspect
import os
import stat
import sys
from pathlib import Path

import pytest

from branchwise.corpora import documents as files
from branchwise.corpora.build import build_corpus
from support.needs import needs


def filled(folder: Path, contents: dict[str, str | bytes]) -> Path:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def left_out(folder: Path, out: Path) -> list[str]:
    return [
        line.replace(str(folder), ".")
        for line in build_corpus(f"folder:{folder}", out).omissions.lines()
    ]


def test_what_is_left_out_is_counted_and_named(tmp_path: Path) -> None:
    folder = filled(
        tmp_path / "docs",
        {
            "a.md": "# Etna\n\nA volcano.",
            "b/copy.md": "# Etna\n\nA volcano.",
            "b/empty.txt": " \n",
            "b/binary.txt": b"\x7fELF\0\0",
            "c/deep.html": "<div>" * 10_000,
            "c/picture.png": b"\x89PNG",
            "c/style.css": "p {}",
            ".git/config.txt": "hidden",
        },
    )
    assert left_out(folder, tmp_path / "C") == [
        "1 passage without a text: ./b/empty.txt",
        "1 passage that is there already: ./b/copy.md",
        "2 files of other kinds, the first: ./c/picture.png",
        "./b/binary.txt: is not text",
        "./c/deep.html: is nested too deeply",
    ]


def test_links_out_of_the_folder_and_around_in_it_are_not_followed(tmp_path: Path) -> None:
    folder = filled(tmp_path / "docs", {"a.txt": "inside", "b/c.txt": "inside too"})
    (tmp_path / "secret.txt").write_text("outside")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "b/loop").symlink_to(folder)
    (folder / "gone.txt").symlink_to(tmp_path / "nowhere")
    built = build_corpus(f"folder:{folder}", tmp_path / "C")
    assert {built.corpus.passage(row).text for row in range(len(built.corpus))} == {
        "inside",
        "inside too",
    }
    assert built.omissions.as_json()["link"]["count"] == 3
    through_a_link = tmp_path / "named"
    through_a_link.symlink_to(folder)
    assert len(build_corpus(f"folder:{through_a_link}", tmp_path / "D").corpus) == 2


def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "a.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(files.UnreadableDocumentError, match="cannot be read"):
        files.read_document(files.FoundFile(tmp_path / "a.txt", "text"))


def test_names_that_could_steer_a_terminal_are_shown_harmlessly(tmp_path: Path) -> None:
    folder = filled(tmp_path / "docs", {"a\x1b]0;x\x07\n.txt": "text", "b\x1b[31m.txt": b"\0"})
    with_no_utf8 = os.fsencode(folder) + b"/c\xff.txt"
    Path(os.fsdecode(with_no_utf8)).write_text("more text")
    built = build_corpus(f"folder:{folder}", tmp_path / "C")
    shown = [*built.omissions.lines(), *(built.corpus.passage(row).title for row in (0, 1))]
    assert all(line.isprintable() for line in shown)
    assert shown[1:] == ["a�]0;x��", "c?"]


@needs("a user who may not read everything", os.geteuid() != 0, "run as another user than root")
def test_folders_that_may_not_be_read_are_named(tmp_path: Path) -> None:
    folder = filled(tmp_path / "docs", {"a.txt": "text", "b/c.txt": "text"})
    (folder / "b").chmod(0)
    try:
        assert left_out(folder, tmp_path / "C") == ["./b: cannot be read (Permission denied)"]
    finally:
        (folder / "b").chmod(stat.S_IRWXU)


def test_a_page_that_is_too_large_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 2**20)
    folder = filled(tmp_path / "docs", {"a.txt": "text", "b.html": b"<p>" + b"x" * 2**20})
    assert left_out(folder, tmp_path / "C") == ["./b.html: is larger than 1 MiB"]


def test_nested_folders_take_no_recursion(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 300)
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("text")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        found = [file.path for file in files.walk(tmp_path)]
    finally:
        sys.setrecursionlimit(limit)
    assert found == [deep / "a.txt"]


def test_many_files_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    folder = filled(tmp_path / "docs", {f"{n:02}.txt": b"\0" for n in range(12)})
    filled(folder, {"x.txt": "text"})
    lines = left_out(folder, tmp_path / "C")
    assert lines[0] == "./00.txt: is not text"
    assert lines[10:] == ["2 more files that cannot be read"]


def test_one_document_is_a_collection_too(tmp_path: Path) -> None:
    filled(tmp_path, {"a.md": "# A\n\none two", "b.txt": "other"})
    built = build_corpus(str(tmp_path / "a.md"), tmp_path / "C")
    assert [built.corpus.passage(0).title, len(built.corpus)] == ["A", 1]
