"""What is in the tree is in the wheel."""

from pathlib import Path

from support.rooms import PROJECT, ROOMS, ROOT

FOLDERS = (*ROOMS, "examples")
MADE = {  # by a reader, not by us
    *(ROOT / "examples" / "studies" / name for name in ("W", "WIKI", "CAMBIGNQ")),
    ROOT / "examples" / "graph" / "C",
    ROOT / "examples" / "plugins" / "F",
}
SETUP = PROJECT["tool"]["setuptools"]


def package_of(folder: Path) -> str:
    parts = folder.relative_to(ROOT).parts
    return ".".join(parts if parts[0] == "branchwise" else ("branchwise", *parts))


def home_of(folder: Path) -> Path:
    """The nearest folder that is a package: patterns of package data count from it."""
    return folder if package_of(folder) in SETUP["packages"] else home_of(folder.parent)


def test_every_folder_of_code_is_a_package_of_the_wheel():
    found = {package_of(file.parent) for name in FOLDERS for file in (ROOT / name).rglob("*.py")}
    assert found == set(SETUP["packages"])


def test_every_data_file_of_a_package_is_in_the_wheel():
    for name in FOLDERS:
        for file in (ROOT / name).rglob("*"):
            if MADE & {*file.parents}:
                continue
            if file.is_file() and file.suffix not in (".py", ".pyc"):
                home = home_of(file.parent)
                patterns = SETUP["package-data"].get(package_of(home), [])
                found = {path for pattern in patterns for path in home.glob(pattern)}
                assert file in found, file
