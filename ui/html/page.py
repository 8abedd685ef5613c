"""A study report as one HTML file."""

import hashlib
import importlib.resources
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from branchwise.corpora.atomic import write_named
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.ui.html.question_data import questions_json
from branchwise.ui.html.sections import sections
from branchwise.ui.html.text import short, shown

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLES = ("colours", "page", "tables", "figures", "questions", "print")
_SCRIPTS = ("theme", "elements", "answers", "filters", "browser")


def write_html(report: StudyReport, path: Path) -> None:
    """Write the report's page to a file, which is replaced as a whole or not at all.

    Raises InputError where it cannot be written.
    """
    write_named(path, render_html(report).encode())


def render_html(report: StudyReport) -> str:
    """The page: it asks for nothing outside itself, and its policy forbids it to.

    Text of the report is escaped by Jinja; control characters and direction overrides in it are
    made visible. Its size is linear in the answers.
    """
    style, script = _joined("styles", _STYLES, "css"), _joined("scripts", _SCRIPTS, "js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=short(report.title, 200),
            style=Markup(style),  # noqa: S704 (a file of this package)
            script=Markup(script),  # noqa: S704 (a file of this package)
            policy=_policy(style, script),
            data=Markup(questions_json(report)),  # noqa: S704 (escaped for a script element)
            **sections(report),
        )
    )


def _policy(style: str, script: str) -> str:
    """A content security policy under which the page's own style and script run, and no others."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {_digest(style)}",
            f"script-src {_digest(script)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _joined(folder: str, names: tuple[str, ...], ending: str) -> str:
    files = importlib.resources.files(f"branchwise.ui.html.{folder}")
    return "\n".join(
        (files / f"{name}.{ending}").read_text(encoding="utf-8").strip() for name in names
    )


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = importlib.resources.files("branchwise.ui.html.templates")
    return Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _visible(value: Any) -> Any:
    """What a template puts out: text from outside without what could steer the reader."""
    return shown(value) if type(value) is str else value
