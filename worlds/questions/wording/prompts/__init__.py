"""Prompts for the models that write and review questions, and how they are filled in."""

from importlib.resources import files
from string import Template


def fill(name: str, **values: str) -> str:
    """The prompt NAME.md with its `$variables` filled in, once: values are not read again."""
    text = (files(__package__) / f"{name}.md").read_text("utf-8").strip()
    return Template(text).substitute(values)
