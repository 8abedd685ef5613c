"""Source archive and wheel as others get them, and environments that hold no more than they say.

Nothing is downloaded: an environment links to the packages that are installed here, those alone
that the wheel requires, its requirements' requirements included.

As a program (`make dist`): writes both into a folder, and runs the tests of the archive in a copy
outside the checkout, with the wheel installed.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
_ALL = ("fast", "serve", "mcp", "parquet", "dev")
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def copy_of_the_tree(into: Path) -> Path:
    """What git knows, so that building leaves nothing in the checkout."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).write_bytes((ROOT / name).read_bytes())
    return into


def build(tree: Path, into: Path) -> tuple[Path, Path]:
    """The source archive of a tree, and the wheel that is built from the archive, unpacked."""
    into.mkdir(parents=True, exist_ok=True)
    subprocess.run((sys.executable, "-c", _SDIST, into), cwd=tree, check=True, capture_output=True)
    [archive] = into.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(into / "unpacked", filter="data")
    [unpacked] = (into / "unpacked").iterdir()
    build = (*_PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", into)
    subprocess.run((*build, unpacked), check=True, capture_output=True)
    [wheel] = into.glob("*.whl")
    return archive, wheel


def environment(folder: Path, wheel: Path, *extras: str) -> Path:
    """A virtual environment with the wheel and what it requires with these extras: its Python."""
    venv.create(folder, symlinks=True, with_pip=False)
    [site] = folder.glob("lib/python*/site-packages")
    install = (*_PIP, "install", "--no-deps", "--no-index", "--target", site, wheel)
    subprocess.run(install, check=True, capture_output=True)
    for found in _required(wheel.name.split("-")[0], site, extras):
        _link(found, site)
    return folder / "bin" / "python"


def _required(name: str, site: Path, extras: tuple[str, ...]) -> Iterator[Distribution]:
    [own] = Distribution.discover(name=name, path=[str(site)])
    waiting = [(own, extra) for extra in ("", *extras)]
    seen = {(name, extra) for _, extra in waiting}
    while waiting:
        package, extra = waiting.pop()
        for line in package.requires or ():
            need = Requirement(line)
            if need.marker and not need.marker.evaluate({"extra": extra}):
                continue
            for asked in ("", *need.extras):
                if (key := (need.name.lower().replace("_", "-"), asked)) not in seen:
                    seen.add(key)
                    is_own = key[0] == name
                    waiting.append((own if is_own else distribution(need.name), asked))
    for other in sorted({one for one, _ in seen} - {name}):
        yield distribution(other)


def _link(package: Distribution, site: Path) -> None:
    """Link the top of everything that the package has beside its metadata."""
    for file in package.files or ():
        top = file.parts[0]
        if top in ("..", "__pycache__") or (site / top).is_symlink():
            continue
        source = Path(str(package.locate_file(top)))
        if (site / top).is_dir():  # a namespace that several packages share
            continue
        (site / top).symlink_to(source)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("pytest", nargs="*", help="what pytest is given")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        made = build(copy_of_the_tree(work / "tree"), work / "made")
        python = environment(work / "venv", made[1], *_ALL)
        _link(
            distribution("optimum-intel"), next((work / "venv").glob("lib/python*/site-packages"))
        )
        [unpacked] = (work / "made" / "unpacked").iterdir()
        shutil.rmtree(unpacked / "build")
        # Not `python -m`, which would find the archive's folders before the wheel.
        start = "import sys; sys.path.remove(''); import pytest; sys.exit(pytest.main())"
        code = subprocess.run((python, "-c", start, *given.pytest), cwd=unpacked).returncode
        given.out.mkdir(exist_ok=True)
        for file in made:
            shutil.copy(file, given.out)
    return code


if __name__ == "__main__":
    sys.exit(main())
