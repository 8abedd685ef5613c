"""The prompts: files that can be read, compared and replaced (`--prompts DIR`).

They lie in `prompts/` of the package that they belong to: here, or a task's. That is the default
set (`--prompt-set`); `paper` has a folder there, with the files in which it differs, and those that
it alone has. It takes only those of the default that give no advice; a test holds it to that.

A prompt NAME_expanded stands in the place of NAME where a system expands its questions.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import get_args

from branchwise.base.errors import InputError, nearest
from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.base.registry import Registry

PROMPTS: Registry[Traversable] = Registry()
"""The folder of every prompt, by its name. What may stand in a prompt as `$name` is what stands in
the default one (a dollar sign itself is written `$$`)."""
MAPPING_PROMPTS = frozenset({"matcher", "judge", "mapping_repair"})
GRADING_PROMPTS = frozenset({"grade_condition", "grade_answer"})
SCORING_PROMPTS = MAPPING_PROMPTS | GRADING_PROMPTS
"""Prompts that no answer depends on: a run may be scored with others than it began with."""
MAX_BYTES = 200_000


def register_prompts(package: str) -> None:
    """Add the prompts of a package: the files of its folder `prompts`, and of each set's there."""
    folder = files(package) / "prompts"
    folders = [one for one in (folder, *map(folder.joinpath, get_args(PromptSet))) if one.is_dir()]
    names = {file.name for one in folders for file in one.iterdir()}
    for name in sorted(names):
        if name.endswith(".md"):
            PROMPTS.register(name.removesuffix(".md"), folder)


register_prompts("branchwise.agents")


def variables_of(name: str) -> frozenset[str]:
    """What may stand in a prompt as `$name`."""
    texts = (_built_in(name, of) for of in get_args(PromptSet))
    return frozenset(Template(next(filter(None, texts))).get_identifiers())


@dataclass(frozen=True)
class Prompts:
    """The prompts of a run by name, white space at both ends removed."""

    texts: Mapping[str, str]
    of: PromptSet = DEFAULT_SET

    @classmethod
    def load(cls, directory: Path | None = None, of: PromptSet = DEFAULT_SET) -> "Prompts":
        """The built-in prompts of a set, those that `directory` holds as NAME.md replaced by it.

        Raises InputError for a missing directory, a file that is not one of our prompts, and a
        prompt with an unknown variable.
        """
        texts = {name: text for name in PROMPTS if (text := _built_in(name, of))}
        if directory is not None:
            if not directory.is_dir():
                where, remedy = str(directory), "correct --prompts"
                raise InputError("no such directory", where=where, remedy=remedy)
            texts |= {path.stem: _read(path) for path in sorted(directory.glob("*.md"))}
        return cls(MappingProxyType(texts), of)

    def render(self, name: str, **values: str) -> str:
        """The prompt `name` with its variables filled in, once: values are not read again. Raises
        KeyError for an unknown prompt, and a variable without a value."""
        return Template(self.texts[name]).substitute(values)

    def where_expanded(self, name: str) -> str:
        """The prompt in the place of `name` where questions are expanded: `name` in most sets."""
        expanded = f"{name}_expanded"
        return expanded if expanded in self.texts else name

    @property
    def digest(self) -> str:
        """SHA-256 over the names and texts that answers depend on."""
        return self.digest_of(self.texts.keys() - SCORING_PROMPTS)

    def digest_of(self, names: Iterable[str]) -> str:
        """SHA-256 over the names and texts of some prompts."""
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(f"{name}\0{self.texts[name]}\0".encode())
        return digest.hexdigest()


def _built_in(name: str, of: PromptSet) -> str | None:
    """The text; None where only another set has this prompt."""
    folder = PROMPTS[name]
    own = folder / of / f"{name}.md"
    file = own if own.is_file() else folder / f"{name}.md"
    return file.read_text("utf-8").strip() if file.is_file() else None


def _read(path: Path) -> str:
    if path.stem not in PROMPTS:
        near = nearest(path.stem, PROMPTS, most=2, cutoff=0.3) or sorted(PROMPTS)
        names = " or ".join(f"{name}.md" for name in near)
        raise InputError("no prompt has this name", where=str(path), remedy=f"rename it to {names}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"longer than {MAX_BYTES} bytes", where=str(path), remedy="shorten it")
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", where=str(path)) from None
    template, allowed = Template(text), variables_of(path.stem)
    given = ", ".join(f"${name}" for name in sorted(allowed)) or "none"
    remedy = f"this prompt's variables: {given}; write $$ for a dollar sign"
    if not template.is_valid():
        raise InputError("a $ that starts no variable", where=str(path), remedy=remedy)
    for name in template.get_identifiers():
        if name not in allowed:
            raise InputError(f"unknown variable ${name}", where=str(path), remedy=remedy)
    return text
