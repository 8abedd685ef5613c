"""What was found: the input, and beside it how it ended. One of each kind is kept."""

import hashlib
import re
import traceback
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_TESTS = _ROOT / "tests"


def explain(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-20_000:]


def kind_of(error: BaseException) -> str:
    """Equal for errors that come from one line of the product."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_ours(f.filename)]
    said = re.sub(r"[\d.]+|/\S+|0x\w+", "#", str(error))[:60]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else said
    return f"{type(error).__name__} {where}"


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    inside = path.is_relative_to(_ROOT) and ".venv" not in path.parts
    return inside and not path.is_relative_to(_TESTS)


class Findings:
    """The folder in which inputs are kept: `TARGET/DIGEST.input`, `TARGET/DIGEST.txt`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, target: str, data: bytes, said: str) -> Path:
        """Write an input and what came of it; the input's path."""
        place = self.folder / target
        place.mkdir(parents=True, exist_ok=True)
        file = place / f"{hashlib.sha256(data).hexdigest()[:12]}.input"
        file.write_bytes(data)
        file.with_suffix(".txt").write_text(said, encoding="utf-8", errors="backslashreplace")
        return file
