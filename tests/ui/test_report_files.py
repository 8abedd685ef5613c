"""Where `branchwise report` writes its tables and figures."""

from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.commands.report_files import Exports
from branchwise.report.study_report import StudyReport
from support.ui.report_cases import make_report


@pytest.fixture(scope="module")
def report() -> StudyReport:
    return make_report()


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_files_and_folders_are_written(report: StudyReport, tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text("old")
    exports = Exports(tmp_path / "t.md", tmp_path / "t.tex", tmp_path / "a/csv", tmp_path / "f")
    exports.write([report])
    assert (tmp_path / "t.md").read_text().startswith("# modules\n")
    assert "\\toprule" in (tmp_path / "t.tex").read_text()
    assert (tmp_path / "a/csv/results.csv").read_bytes().startswith(b'"system"')
    assert (tmp_path / "f/cost.svg").read_bytes().startswith(b"<?xml")


def test_a_dash_prints_and_nothing_else_goes_to_standard_output(
    report: StudyReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Exports(markdown=Path("-"), csv=tmp_path / "c").write([report])
    printed = capsys.readouterr().out
    assert printed.startswith("# modules\n")
    assert printed.endswith("\n")
    assert "written" not in printed


@pytest.mark.parametrize(
    ("exports", "why"),
    [
        (Exports(markdown=Path("file/t.md")), "file/t.md: cannot be written"),
        (Exports(latex=Path("folder.tex")), "folder.tex: is a folder; name a file"),
        (Exports(latex=Path("file")), "file: is a file; name a folder"),
        (Exports(csv=Path("file")), "file: is a file; name a folder"),
        (Exports(csv=Path("file/csv")), "file/csv: cannot be made"),
    ],
)
def test_a_place_that_cannot_be_written_is_named(
    report: StudyReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exports: Exports, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.tex").mkdir()
    Path("file").touch()
    with pytest.raises(InputError) as raised:
        exports.write([report])
    assert str(raised.value).startswith(why)
