"""Arrays that take long to make, kept in a folder and mapped from there.

The folder holds one .npy file an array and `arrays.json`, which says what they were made of (their
origin) and their digests. Arrays of another origin or of an older format, and damaged ones, are
made again; removing the folder loses nothing.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.base.atomic import new_folder
from branchwise.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray]

_DESCRIPTION = "arrays.json"
_FORMAT = 1


def kept_arrays(
    folder: Path | None, origin: Mapping[str, Any], make: "Callable[[], Arrays]"
) -> "Arrays":
    """The arrays of this origin, mapped where they are kept; else made, and kept if they can be.
    `origin`: JSON values, which change with all that the arrays depend on."""
    if folder is None:
        return make()
    described = orjson.loads(orjson.dumps({"format": _FORMAT, "origin": origin}))
    known = _mapped(folder, described)
    if known is not None:
        return known
    made = make()
    with suppress(OSError, InputError):
        _keep(folder, described, made)
    return _mapped(folder, described) or made


def file_origin(path: Path) -> dict[str, int]:
    """What tells a file from what it was before it was written to."""
    status = path.stat()
    return {"bytes": status.st_size, "modified_ns": status.st_mtime_ns}


class TextPacker:
    """Texts one after another, in a few bytes each beside their own."""

    def __init__(self) -> None:
        self._text, self._starts = bytearray(), array("q", [0])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, text: str) -> None:
        self._text += text.encode()
        self._starts.append(len(self._text))

    def arrays(self) -> "tuple[np.ndarray, np.ndarray]":
        """The texts as bytes, and where each begins; a last number is their end."""
        import numpy as np

        starts = np.frombuffer(self._starts, dtype=np.int64)
        return np.frombuffer(self._text, dtype=np.uint8), starts


def packed(texts: Iterable[str]) -> "tuple[np.ndarray, np.ndarray]":
    """All texts as the arrays of a `TextPacker`."""
    packer = TextPacker()
    for text in texts:
        packer.add(text)
    return packer.arrays()


class PackedTexts:
    """The texts of a `TextPacker`, by their places."""

    def __init__(self, text: "np.ndarray", starts: "np.ndarray") -> None:
        self._text, self._starts = text.data, starts.data

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> str:
        return str(self._text[self._starts[place] : self._starts[place + 1]], "utf-8")


def _keep(folder: Path, described: Mapping[str, Any], arrays: "Arrays") -> None:
    import numpy as np

    with new_folder(folder) as made:
        for name, array in arrays.items():
            np.save(made / f"{name}.npy", array, allow_pickle=False)
        digests = {name: _digest(made / f"{name}.npy") for name in arrays}
        description = orjson.dumps({**described, "sha256": digests}, option=orjson.OPT_INDENT_2)
        (made / _DESCRIPTION).write_bytes(description + b"\n")


def _mapped(folder: Path, described: Mapping[str, Any]) -> "Arrays | None":
    """The folder's arrays; None where they are of something else, damaged or missing."""
    import numpy as np

    try:
        description = orjson.loads((folder / _DESCRIPTION).read_bytes())
        digests = description.pop("sha256")
        paths = {name: folder / f"{name}.npy" for name in digests}
        if description == described and all(_digest(paths[n]) == digests[n] for n in digests):
            return {name: np.load(path, mmap_mode="r") for name, path in paths.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
